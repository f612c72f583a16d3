"""What a name may refer to."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names, types
from tidings.errors import AmbiguousColumn, UnknownColumn, UnknownField, UnknownRelation
from tidings.ir.expression import show
from tidings.ir.relation import Project


def items(query: str) -> list[str]:
    plan = bound(query)
    assert isinstance(plan, Project)
    return [show(i.expression) for i in plan.items]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT A, t.B FROM T", ["T.a", "T.b"]),
        ("SELECT `a` FROM t", ["t.a"]),
        ("SELECT x.a FROM t AS X", ["X.a"]),
        (
            "SELECT `we ird`, `d.e`, `q``z`, `select` FROM `odd table`",
            ["`odd table`.`we ird`", "`odd table`.`d.e`", "`odd table`.`q``z`", "`odd table`.`SELECT`"],
        ),
        ("SELECT s.x, s.y.z, s.y FROM t", ["t.s.x", "t.s.y.z", "t.s.y"]),
        ("SELECT t.s.x, t.s.y.z, t.s.y FROM t", ["t.s.x", "t.s.y.z", "t.s.y"]),
        ("SELECT S.X FROM t", ["t.s.x"]),
    ],
)
def test_names_resolve_without_regard_to_case(query: str, expected: list[str]) -> None:
    assert items(query) == expected


def test_a_source_comes_before_a_column_of_the_same_name() -> None:
    """``s.x``: the source ``s`` has a column ``x``, so the struct ``t.s`` is not looked at."""
    assert items("SELECT s.x FROM t, (SELECT 1 AS x) AS s") == ["s.x"]


def test_a_column_serves_where_the_source_has_no_such_column() -> None:
    """``s.x``: the source ``s`` has no column ``x``, but ``t.s`` has a field of that name."""
    assert items("SELECT s.x FROM t, (SELECT 1 AS q) AS s") == ["t.s.x"]


def test_types_of_nested_fields() -> None:
    assert types(bound("SELECT s, s.y, s.y.z FROM t")) == [
        "struct<x:int,y:struct<z:string>>",
        "struct<z:string>",
        "string",
    ]


@pytest.mark.parametrize(
    ("query", "name", "column"),
    [
        ("SELECT nosuch FROM t", "nosuch", 8),
        ("SELECT t.nosuch FROM t", "t.nosuch", 8),
        ("SELECT a FROM t WHERE nosuch = 1", "nosuch", 23),
        ("SELECT t.a FROM t JOIN u ON t.a = u.nosuch", "u.nosuch", 35),
        ("SELECT nosuch.a FROM t", "nosuch.a", 8),
        ("SELECT a", "a", 8),
        ("SELECT b FROM u", "b", 8),
    ],
)
def test_unknown_column(query: str, name: str, column: int) -> None:
    with pytest.raises(UnknownColumn) as refused:
        bound(query)
    assert refused.value.parameters == {"name": name}
    assert refused.value.place is not None
    assert refused.value.place.column == column
    assert refused.value.hint


def test_join_conditions_see_only_sources_up_to_them() -> None:
    with pytest.raises(UnknownColumn) as refused:
        bound("SELECT t.a FROM t JOIN u ON t.a = w.c JOIN w ON true")
    assert refused.value.parameters == {"name": "w.c"}


@pytest.mark.parametrize(
    ("query", "name", "candidates"),
    [
        ("SELECT a FROM t, u", "a", "t.a, u.a"),
        ("SELECT a FROM t JOIN u ON t.a = u.a", "a", "t.a, u.a"),
        ("SELECT 1 FROM t, u WHERE a = 1", "a", "t.a, u.a"),
        ("SELECT x FROM (SELECT 1 AS x, 2 AS X) AS q", "x", "q.x, q.x"),
    ],
)
def test_ambiguous_column(query: str, name: str, candidates: str) -> None:
    with pytest.raises(AmbiguousColumn) as refused:
        bound(query)
    assert refused.value.parameters == {"name": name, "candidates": candidates}
    assert refused.value.hint


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("SELECT s.q FROM t", {"value": "s", "type": "struct<x:int,y:struct<z:string>>", "name": "q"}),
        ("SELECT t.a.q FROM t", {"value": "a", "type": "int", "name": "q"}),
        ("SELECT s.y.q FROM t", {"value": "s", "type": "struct<x:int,y:struct<z:string>>", "name": "q"}),
    ],
)
def test_unknown_field(query: str, parameters: dict[str, str]) -> None:
    with pytest.raises(UnknownField) as refused:
        bound(query)
    assert refused.value.parameters == parameters


def test_star_of_an_unknown_source() -> None:
    with pytest.raises(UnknownRelation) as refused:
        bound("SELECT v.* FROM t")
    assert refused.value.parameters == {"name": "v"}
    assert refused.value.place is not None
    assert refused.value.place.column == 8


def test_using_shows_the_shared_columns_first_and_once() -> None:
    assert names(bound("SELECT * FROM w JOIN u USING (c)")) == ["c", "e", "a", "d"]
    assert names(bound("SELECT * FROM t JOIN u USING (A) JOIN w USING (c)")) == ["c", "a", "b", "s", "arr", "d", "e"]
    assert items("SELECT c, u.c AS right_c FROM w JOIN u USING (c)") == ["w.c", "u.c"]


def test_natural_join_shares_all_common_columns() -> None:
    assert names(bound("SELECT * FROM t NATURAL JOIN u")) == ["a", "b", "s", "arr", "c", "d"]


def test_using_a_column_one_side_lacks() -> None:
    with pytest.raises(UnknownColumn):
        bound("SELECT * FROM t JOIN w USING (a)")
    with pytest.raises(UnknownColumn):
        bound("SELECT * FROM t JOIN w USING (c)")
