"""The sources of FROM."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names, types
from tidings.errors import InvalidExpression, TidingsError, UnknownRelation
from tidings.ir.relation import Scan, Unnest, Values
from tidings.ir.traverse import walk


def test_without_from_there_is_one_row() -> None:
    assert any(isinstance(n, Values) and len(n.rows) == 1 for n in walk(bound("SELECT 1 AS x")))


def test_an_alias_renames_columns() -> None:
    assert names(bound("SELECT * FROM u AS v (x, y, z)")) == ["x", "y", "z"]
    with pytest.raises(InvalidExpression):
        bound("SELECT * FROM u AS v (x, y)")


def test_sources_are_joined_in_order() -> None:
    scans = [n.relation for n in walk(bound("SELECT u.a FROM u, w, t")) if isinstance(n, Scan)]
    assert scans == ["u", "w", "t"]


def test_subqueries_and_values() -> None:
    assert names(bound("SELECT * FROM (SELECT a AS x FROM u) AS s")) == ["x"]
    assert types(bound("SELECT * FROM VALUES (1, 'a') AS v (n, s)")) == ["int", "string"]


def test_a_join_in_parentheses() -> None:
    assert names(bound("SELECT w.e FROM u JOIN (w JOIN t ON w.e = t.b) ON u.c = w.c")) == ["e"]


def test_functions_that_make_rows() -> None:
    plan = bound("SELECT e.col FROM u LATERAL VIEW explode(array(u.a, 2)) e")
    assert any(isinstance(n, Unnest) for n in walk(plan))


@pytest.mark.parametrize(
    ("query", "condition"),
    [("SELECT 1 AS x FROM nosuch", UnknownRelation), ("SELECT u.a FROM u, u", TidingsError)],
)
def test_refusals(query: str, condition: type[Exception]) -> None:
    with pytest.raises(condition):
        bound(query)
