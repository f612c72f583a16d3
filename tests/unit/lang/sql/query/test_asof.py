"""ASOF joins: a window over both sides, one under the other."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names
from tidings.errors import UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Join, OuterJoin, Project, Relation, Union, Window
from tidings.ir.traverse import walk


def carried(query: str) -> str:
    window = next(n for n in walk(bound(query)) if isinstance(n, Window) and n.alias == "last")
    return show(window.items[0].expression).replace("`asof`", "asof")


@pytest.mark.parametrize(
    ("compared", "function", "order"),
    [
        ("u.a >= w.c", "MAX", "asof.__at ASC"),
        ("w.c < u.a", "MAX", "asof.__at ASC, asof.__side ASC"),
        ("u.a <= w.c", "MIN", "asof.__at DESC NULLS FIRST"),
    ],
)
def test_the_last_row_is_carried_along(compared: str, function: str, order: str) -> None:
    found = carried(f"SELECT u.a, w.e FROM u ASOF JOIN w ON u.c = w.c AND {compared}")
    assert (
        found
        == f"{function}(CASE WHEN asof.__side = 1 THEN asof.__at END) OVER (PARTITION BY asof.__k0 ORDER BY {order})"
    )


def test_both_sides_have_one_type_for_what_is_compared() -> None:
    (union,) = (n for n in walk(bound("SELECT u.a FROM u ASOF JOIN w ON u.a >= w.c")) if isinstance(n, Union))
    assert {c.name: c.type for c in union.columns}["__at"] == "bigint"


def test_using_compares_its_last_column() -> None:
    query = "SELECT * FROM u ASOF LEFT JOIN (SELECT a, c, 1 AS x FROM u) AS v USING (a, c)"
    assert names(bound(query)) == ["a", "c", "d", "x"]
    assert "PARTITION BY asof.__k0 ORDER BY asof.__at" in carried(query)


def test_a_row_without_a_match_is_gone_unless_it_is_a_left_join() -> None:
    def joined(kind: str) -> type[Relation]:
        found = bound(f"SELECT u.a FROM u ASOF {kind} JOIN w ON u.c >= w.c")
        assert isinstance(found, Project)
        return type(found.input)

    assert (joined(""), joined("LEFT")) == (Join, OuterJoin)


@pytest.mark.parametrize(
    "join",
    [
        "ASOF RIGHT JOIN w ON u.c >= w.c",
        "ASOF JOIN w ON u.c = w.c",
        "ASOF JOIN w ON u.c >= w.c AND u.a > w.c",
        "ASOF JOIN w ON u.c >= w.c AND w.c > 1",
        "ASOF JOIN w ON u.c >= w.c AND u.a + w.c = 2",
        "ASOF JOIN (SELECT map('a', c) AS m, c FROM w) AS w ON u.c >= w.c",
        "ASOF JOIN w",
    ],
)
def test_other_conditions_are_refused(join: str) -> None:
    with pytest.raises(UnsupportedConstruct):
        bound(f"SELECT u.a FROM u {join}")


def test_the_columns_are_those_of_both_sides() -> None:
    found = bound("SELECT u.*, w.e FROM u ASOF JOIN w ON u.c >= w.c")
    assert isinstance(found, Project)
    assert names(found) == ["a", "c", "d", "e"]
