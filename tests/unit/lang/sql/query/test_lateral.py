"""Subqueries in FROM that use more than their own sources."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names
from tidings.errors import UnknownColumn, UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Join, OuterJoin, Scan
from tidings.ir.traverse import walk


def scans(query: str) -> list[str]:
    return [n.relation for n in walk(bound(query)) if isinstance(n, Scan)]


def test_an_equality_serves_as_the_tie() -> None:
    query = "SELECT u.a, q.e FROM u, LATERAL (SELECT e FROM w WHERE w.c = u.c) AS q"
    assert scans(query) == ["u", "w"]
    (join,) = (n for n in walk(bound(query)) if isinstance(n, Join))
    assert [show(c) for c in join.conditions] == ["u.c IS NOT DISTINCT FROM q.__d0"]


def test_any_other_condition_needs_the_values_around() -> None:
    assert scans("SELECT u.a, q.e FROM u, LATERAL (SELECT e FROM w WHERE w.c > u.c) AS q") == ["u", "w", "u"]


def test_a_left_join_keeps_its_rows() -> None:
    query = "SELECT u.a, q.e FROM u LEFT JOIN LATERAL (SELECT e FROM w WHERE w.c = u.c) AS q ON q.e > 'a'"
    (join,) = (n for n in walk(bound(query)) if isinstance(n, OuterJoin))
    assert len(join.conditions) == 2


def test_a_total_has_a_row_for_every_value() -> None:
    query = "SELECT u.a, q.n FROM u, LATERAL (SELECT count(*) AS n FROM w WHERE w.c = u.c) AS q"
    assert [n for n in walk(bound(query)) if isinstance(n, OuterJoin)]


def test_a_subquery_in_the_from_of_a_subquery_sees_the_query_around() -> None:
    assert names(bound("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM (SELECT e FROM w WHERE w.c = u.c) AS q)")) == ["a"]
    with pytest.raises(UnknownColumn):
        bound("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w, (SELECT e FROM t WHERE w.c = t.a) AS q)")


def test_refused() -> None:
    for query in (
        "SELECT u.a FROM u WHERE EXISTS (SELECT 1 FROM w, LATERAL (SELECT w.e WHERE w.c = u.c) AS q)",
        "SELECT u.a FROM u FULL JOIN LATERAL (SELECT u.c) AS q ON TRUE",
    ):
        with pytest.raises(UnsupportedConstruct):
            bound(query)
