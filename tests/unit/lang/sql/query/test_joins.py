"""Joins in FROM: which operator each is, and what the columns are called after it."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names, plan
from tidings.errors import AmbiguousColumn, UnknownColumn, UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Join, OuterJoin, Project, Relation, SemiJoin, Union
from tidings.ir.traverse import walk


def join_of(query: str) -> Relation:
    return next(n for n in walk(bound(query)) if isinstance(n, Join | OuterJoin | SemiJoin))


def items(query: str) -> list[str]:
    found = bound(query)
    assert isinstance(found, Project)
    return [show(i.expression) for i in found.items]


def test_left_join() -> None:
    assert bound("SELECT u.a, w.e FROM u LEFT JOIN w ON u.c = w.c AND u.a > 1") == plan("""
        project result [a int := u.a, e string := w.e]
          outer_join [u.c = w.c, u.a > 1]
            scan u u [a int, c bigint, d decimal(10,2)]
            scan w w [c bigint, e string]
        """)


def test_a_right_join_is_a_left_join_the_other_way() -> None:
    right = join_of("SELECT u.a, w.e FROM u RIGHT JOIN w ON u.c = w.c")
    assert right == join_of("SELECT u.a, w.e FROM w LEFT JOIN u ON u.c = w.c")


@pytest.mark.parametrize(
    ("kind", "anti"),
    [("LEFT SEMI", False), ("SEMI", False), ("LEFT ANTI", True), ("ANTI", True)],
)
def test_semi_and_anti_joins(kind: str, anti: bool) -> None:
    found = join_of(f"SELECT a FROM u {kind} JOIN w ON u.c = w.c")
    assert isinstance(found, SemiJoin)
    assert found.anti is anti


def test_the_right_side_of_a_semi_join_is_not_seen() -> None:
    assert names(bound("SELECT * FROM u LEFT SEMI JOIN w ON u.c = w.c")) == ["a", "c", "d"]
    with pytest.raises(UnknownColumn):
        bound("SELECT w.e FROM u LEFT ANTI JOIN w ON u.c = w.c")


def test_a_full_join_is_a_left_join_and_the_lonely_rows_of_the_right() -> None:
    found = bound("SELECT u.a, w.e FROM u FULL JOIN w ON u.c = w.c")
    assert isinstance(found, Project)
    assert isinstance(found.input, Union)
    matched, lonely = found.input.inputs
    assert isinstance(matched, Project)
    assert isinstance(matched.input, OuterJoin)
    assert isinstance(lonely, Project)
    assert isinstance(lonely.input, SemiJoin)
    assert lonely.input.anti
    assert [show(i.expression) for i in lonely.items[:3]] == [
        "CAST(NULL AS INT)",
        "CAST(NULL AS BIGINT)",
        "CAST(NULL AS DECIMAL(10, 2))",
    ]


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("LEFT", "u.c"), ("RIGHT", "w.c"), ("INNER", "u.c")],
)
def test_using_takes_the_side_that_is_always_there(kind: str, shared: str) -> None:
    query = f"SELECT c, u.c AS one, w.c AS other FROM u {kind} JOIN w USING (c)"
    assert items(query) == [shared, "u.c", "w.c"]


def test_using_in_a_full_join_takes_whichever_side_is_there() -> None:
    query = "SELECT c, u.c AS one, w.c AS other FROM u FULL JOIN w USING (c)"
    assert items(query) == ["full_4.`either.c`", "full_4.`u.c`", "full_4.`w.c`"]
    assert names(bound("SELECT * FROM u FULL JOIN w USING (c)")) == ["c", "a", "d", "e"]
    assert names(bound("SELECT * FROM u NATURAL FULL JOIN w")) == ["c", "a", "d", "e"]


def test_columns_after_a_full_join_keep_their_owners() -> None:
    query = "SELECT u.a, x.e, y.e AS other FROM u FULL JOIN w x ON u.c = x.c LEFT JOIN w y ON y.c = x.c"
    assert len(items(query)) == 3
    with pytest.raises(AmbiguousColumn):
        bound("SELECT c FROM u FULL JOIN w ON u.c = w.c")


def test_joins_associate_to_the_left() -> None:
    found = join_of("SELECT u.a FROM u LEFT JOIN w x ON u.c = x.c LEFT JOIN w y ON x.c = y.c")
    assert isinstance(found, OuterJoin)
    assert isinstance(found.left, OuterJoin)


@pytest.mark.parametrize(
    ("query", "construct"),
    [
        ("SELECT u.a FROM u ASOF JOIN w ON u.c = w.c", "ASOF JOIN without one comparison by >=, >, <= or <"),
        (
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u LEFT JOIN w ON u.c = w.c AND u.a = t.a)",
            "an outer, semi or anti join that uses the query around it",
        ),
        ("SELECT u.a FROM u RIGHT JOIN LATERAL (SELECT u.c) AS q ON TRUE", "LATERAL here"),
    ],
)
def test_refused(query: str, construct: str) -> None:
    with pytest.raises(UnsupportedConstruct) as refused:
        bound(query)
    assert refused.value.parameters == {"construct": construct}


def test_a_join_in_parentheses_keeps_its_sources() -> None:
    assert names(bound("SELECT t.a, w.e FROM w JOIN (t JOIN u ON t.a = u.a) ON w.c = u.c")) == ["a", "e"]


def test_a_join_in_parentheses_with_an_alias_is_one_source() -> None:
    assert names(bound("SELECT q.p FROM (u JOIN w USING (c)) AS q (p, x, y, z)")) == ["p"]
    with pytest.raises(UnknownColumn):
        bound("SELECT u.a FROM (u JOIN w USING (c)) AS q")
