"""Joins whose ON asks about both sides: pairs first, then the rows that are in none."""

from __future__ import annotations

import pytest

import tidings
from tests.unit.schema import bound
from tidings.errors import UnsupportedConstruct
from tidings.ir.relation import Relation, SemiJoin, Union
from tidings.ir.traverse import walk

_TEST = "EXISTS (SELECT 1 FROM t WHERE t.a = u.a + w.c)"


def unions(query: str) -> list[int]:
    return [len(n.inputs) for n in walk(bound(query)) if isinstance(n, Union)]


@pytest.mark.parametrize(("side", "branches"), [("LEFT", 2), ("RIGHT", 2), ("FULL", 3)])
def test_an_outer_join_is_its_pairs_and_the_rows_in_none(side: str, branches: int) -> None:
    assert unions(f"SELECT u.a, w.e FROM u {side} JOIN w ON u.c = w.c AND {_TEST}") == [branches]


@pytest.mark.parametrize("kind", ["SEMI", "ANTI"])
def test_semi_and_anti_joins_compare_whole_rows(kind: str) -> None:
    found: Relation = bound(f"SELECT u.a FROM u LEFT {kind} JOIN w ON u.c = w.c AND {_TEST}")
    top = next(n for n in walk(found) if isinstance(n, SemiJoin))
    assert (top.anti, len(top.conditions)) == (kind == "ANTI", 3)


def test_one_side_alone_needs_no_pairs() -> None:
    assert unions("SELECT u.a FROM u LEFT JOIN w ON u.c = w.c AND EXISTS (SELECT 1 FROM t WHERE t.a = w.c)") == []


def test_maps_are_refused_since_they_cannot_be_compared() -> None:
    v = "(SELECT map('a', c) AS m FROM w) AS v"
    with pytest.raises(UnsupportedConstruct):
        bound(f"SELECT 1 AS x FROM u LEFT JOIN {v} ON EXISTS (SELECT 1 FROM t WHERE u.a = v.m['a'] + t.a)")


def test_time_over_both_sides() -> None:
    clock = tidings.ManualClock(0)
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE a (k INT, since TIMESTAMP); CREATE TABLE b (k INT, wait INT)")
        db.sql("INSERT INTO a VALUES (1, TIMESTAMP '1970-01-01 00:00:10'); INSERT INTO b VALUES (1, 20)")
        query = "SELECT a.k, b.wait FROM a LEFT JOIN b ON a.k = b.k AND a.since + b.wait * INTERVAL 1 SECOND < now()"
        before = db.time
        clock.set(40_000_000)
        db.sql("INSERT INTO a VALUES (2, TIMESTAMP '1970-01-01 00:00:10')")
        told = [
            (c.row["k"], c.row["wait"], c.time, c.weight) for c in db.changes(query, before, per_commit=True).rows()
        ]
        assert (1, None, 30_000_001, -1) in told
        assert (1, 20, 30_000_001, 1) in told
        assert {(r["k"], r["wait"]) for r in db.query(query).rows()} == {(1, 20), (2, None)}
