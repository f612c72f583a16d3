"""PIVOT and UNPIVOT are SELECTs."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names, types
from tidings.errors import UnknownColumn
from tidings.ir.expression import show
from tidings.ir.relation import Aggregate, Unnest
from tidings.ir.traverse import walk


def test_what_is_not_mentioned_is_grouped_by() -> None:
    (groups,) = (n for n in walk(bound("SELECT * FROM u PIVOT (sum(d) FOR a IN (1, 2))")) if isinstance(n, Aggregate))
    assert [show(k.expression) for k in groups.keys] == ["u.c"]
    assert "SUM(u.d) FILTER(WHERE u.a IS NOT DISTINCT FROM 1)" in [show(a.expression) for a in groups.aggregates]


@pytest.mark.parametrize(
    ("pivot", "expected"),
    [
        ("PIVOT (sum(d) FOR a IN (1, 2 AS two))", ["c", "1", "two"]),
        ("PIVOT (sum(d) AS s FOR a IN (1))", ["c", "1"]),
        ("PIVOT (sum(d) AS s, count(*) FOR a IN (1))", ["c", "1_s", "1_count(1)"]),
        ("PIVOT (sum(d) FOR (a, c) IN ((1, 2) AS x, (3, 4)))", ["x", "{3, 4}"]),
        ("PIVOT (sum(d) FOR a IN (1)) AS p (x, y)", ["x", "y"]),
        ("UNPIVOT (v FOR n IN (a, c AS sea))", ["d", "n", "v"]),
        ("UNPIVOT ((v, w) FOR n IN ((a, c) AS ac, (c, a)))", ["d", "n", "v", "w"]),
    ],
)
def test_names(pivot: str, expected: list[str]) -> None:
    assert names(bound(f"SELECT * FROM u {pivot}")) == expected


def test_unpivoted_columns_have_one_type() -> None:
    found = bound("SELECT * FROM u UNPIVOT (v FOR n IN (a, c))")
    assert types(found) == ["decimal(10,2)", "string", "bigint"]
    assert [n for n in walk(found) if isinstance(n, Unnest)]


def test_the_alias_names_the_result() -> None:
    assert names(bound("SELECT p.c FROM u PIVOT (sum(d) FOR a IN (1)) AS p")) == ["c"]


@pytest.mark.parametrize("pivot", ["PIVOT (sum(nosuch) FOR a IN (1))", "UNPIVOT (v FOR n IN (a, nosuch))"])
def test_unknown_columns(pivot: str) -> None:
    with pytest.raises(UnknownColumn):
        bound(f"SELECT * FROM u {pivot}")
