"""Recompute and diff: one program over both states, and what it tells."""

from __future__ import annotations

import pytest

import tidings
from tests.unit.schema import bound, view_plans
from tidings.delta.plan import Program
from tidings.delta.recompute import recompute_program
from tidings.ir import text
from tidings.ir.relation import Consolidate, Scan, Version
from tidings.ir.traverse import walk


def program(query: str, *changed: str, **views: str) -> Program:
    plans = view_plans(**views)
    return recompute_program("result", bound(query, plans), frozenset(changed), plans)


def test_both_states_are_read_and_no_delta() -> None:
    (step,) = program("SELECT a, count(*) AS n FROM u GROUP BY a", "u").steps
    assert {n.version for n in walk(step.plan) if isinstance(n, Scan)} == {Version.OLD, Version.CURRENT}


def test_what_both_states_have_cancels() -> None:
    (step,) = program("SELECT a FROM u", "u").steps
    assert isinstance(step.plan, Consolidate)
    assert [f.name for f in step.plan.fields] == ["a", "__t", "__w"]


def test_views_are_read_through() -> None:
    found = program("SELECT a FROM v", "u", v="SELECT a FROM u WHERE c > 1")
    assert {n.relation for n in walk(found.steps[0].plan) if isinstance(n, Scan)} == {"u"}


def groupings_first(*changed: str) -> Program:
    """The recompute of a stored view over a grouping of u and one of w."""
    plans = view_plans(
        per_a="SELECT a, count(*) AS n FROM u GROUP BY a", per_e="SELECT e, count(*) AS n FROM w GROUP BY e"
    )
    over = bound("SELECT p.a FROM per_a p JOIN per_e q ON p.n = q.n", plans)
    return recompute_program("result", over, frozenset(changed), plans, plans)


def test_groupings_come_first_and_the_view_from_them() -> None:
    found = groupings_first("u", "w")
    reads = {s.name: {(n.relation, n.version) for n in walk(s.plan) if isinstance(n, Scan)} for s in found.steps}
    old, new = Version.OLD, Version.CURRENT
    assert reads == {
        "per_a": {("u", new), ("per_a", old)},
        "per_e": {("w", new), ("per_e", old)},
        "result": {("per_a", new), ("per_e", new), ("result", old)},
    }


def test_a_grouping_that_nothing_changed_is_read_as_it_is() -> None:
    assert [step.name for step in groupings_first("w").steps] == ["per_e", "result"]


def test_columns_and_influents_are_those_asked_for() -> None:
    found = program("SELECT a, d FROM u", "u")
    assert [c.name for c in found.columns] == ["a", "d"]
    assert found.changed == {"u"}


def test_its_plan_reads_back() -> None:
    (step,) = program("SELECT DISTINCT u.a FROM u LEFT JOIN w ON u.c = w.c", "u", "w").steps
    assert text.parse(text.show(step.plan)) == step.plan


QUERIES = [
    "SELECT k, x FROM t WHERE x > 1",
    "SELECT k, sum(x) AS s FROM t GROUP BY k",
    "SELECT count(*) AS n, max(x) AS m FROM t",
    "SELECT x FROM t ORDER BY x DESC LIMIT 2",
    "SELECT t.k, u.y FROM t LEFT JOIN u ON t.k = u.k",
    "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("per_commit", [False, True])
def test_it_tells_what_a_differential_tells(query: str, per_commit: bool) -> None:
    told = []
    for strategy in ("recompute", "differential"):
        with tidings.open(engine="duckdb", clock=tidings.ManualClock(0), strategy=strategy) as db:
            db.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE u (k INT, y INT)")
            db.sql("INSERT INTO t VALUES (1, 1), (1, 1), (2, 5), (NULL, NULL); INSERT INTO u VALUES (1, 1)")
            since = db.time
            with db.transaction() as tx:
                tx.delete("t", [(1, 1), (2, 5)])
                tx.insert("u", [(2, 2), (1, 7)])
            with db.transaction() as tx:
                tx.insert("t", [(2, 5), (3, 3)])
            delta = db.changes(query, since, per_commit=per_commit)
            told.append(sorted((str(c.row), c.time, c.weight) for c in delta.rows()))
    assert told[0] == told[1]


def test_an_empty_batch_is_not_run() -> None:
    with tidings.open(engine="duckdb", strategy="recompute") as db:
        db.sql("CREATE TABLE t (k INT)")
        assert db.changes("SELECT k FROM t").rows() == []
