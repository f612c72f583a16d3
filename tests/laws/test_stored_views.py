"""Storing a view changes what it costs, never what it says.

A stored view is made somewhere in a history, or before it, and brought up to date at random times.  Its changes at
every instant after that, and its rows at the end, are the recompute's; so are those of a query over it.  The groupings
kept inside it are what they would be if made anew.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, instant
from tests.laws.grouped_views import grouped_case
from tests.laws.keyed_views import keyed_case
from tests.laws.schema import arrow, quote
from tests.laws.seeds import chunks
from tidings.ir.relation import Scan
from tidings.network.strategy import Strategy
from tidings.rewrite.pipeline import normalise


def check(it: Case, answers: oracle.Answers, *, engine: str, spark: Any = None, strategy: str = "differential") -> bool:
    """Whether some wave was a merge."""
    rng = Random(it.seed)
    made = rng.randint(0, max(0, len(it.history) - 1))
    clock = tidings.ManualClock()
    with tidings.open(engine=engine, spark=spark, clock=clock, strategy=strategy) as db:
        for table in it.tables:
            db.sql(table.definition)
            if table.name in it.base:
                db.load(table.name, arrow(table, it.base[table.name]))
        for below in it.views[:-1]:
            db.sql(below.definition)
        stored = it.views[-1].definition.replace("CREATE VIEW", "CREATE MATERIALIZED VIEW", 1)
        merged = False
        for number in range(len(it.history) + 1):
            if number:
                clock.set(instant(number))
                with db.transaction() as tx:
                    for change in it.history[number - 1]:
                        if change.removed:
                            tx.delete(change.table, change.removed)
                        if change.added:
                            tx.insert(change.table, change.added)
            if number == made:
                db.sql(stored)
            elif number > made and rng.random() < 0.5:
                merged |= _merges(db, it.view)
                db.advance()
        merged |= _merges(db, it.view)
        end = instant(len(it.history))
        got = oracle.changes(db.changes(it.view, instant(made), end, per_commit=True).to_arrow())
        oracle.assert_same(it, f"{it.view}, stored at {made}", got, answers.between(instant(made), end))
        assert oracle.bag(db.query(it.view).to_arrow()) == answers.states[-1], it
        early = oracle.changes(db.changes(it.view, 0, end, per_commit=True).to_arrow())
        oracle.assert_same(it, f"{it.view} since before it was stored", early, answers.between(0, end))
        size = f"SELECT COUNT(*) AS n FROM {quote(it.view)}"
        assert db.query(size).rows() == [{"n": answers.states[-1].total()}], it
        (view,) = db._catalog.stored()
        assert view.since == instant(made), f"{it}\nhad to begin anew"
        for name, groups in view.groupings.items():
            plan = normalise(groups, db._catalog.definitions() | view.groupings)
            anew = db._runner.query(plan, db._waves.sources(0, db.time), db.time)
            kept = db._runner.query(_scan(db, name), db._waves.sources(0, db.time), db.time)
            assert oracle.bag(kept) == oracle.bag(anew), f"{it}\n{name}"
    return merged


def _merges(db: tidings.Database, name: str) -> bool:
    view = next(v for v in db._catalog.stored() if v.name == name)
    wave = db._waves.plan(view.name, view.over, view.until, db.time, net=False, groupings=view.groupings)
    return wave.choice.strategy is Strategy.MERGE


def _scan(db: tidings.Database, name: str) -> Scan:
    return Scan(name, "kept", db._catalog.rows(name).columns)


@pytest.mark.parametrize("seeds", chunks(150, quick=10, size=10))
def test_keyed_views_stored(seeds: range) -> None:
    for seed in seeds:
        it = keyed_case(seed)
        check(it, oracle.recompute_on_duckdb(it)[it.view], engine="duckdb")


@pytest.mark.parametrize("seeds", chunks(300, quick=30, size=30))
def test_groupings_are_carried_on(seeds: range) -> None:
    merged = 0
    for seed in seeds:
        it = grouped_case(seed)
        merged += check(it, oracle.recompute_on_duckdb(it)[it.view], engine="duckdb")
    assert merged * 2 > len(seeds), f"only {merged} of {len(seeds)} were merged"


@pytest.mark.parametrize("seeds", chunks(60, quick=10, size=20))
def test_recomputed_views_stored(seeds: range) -> None:
    for seed in seeds:
        it = grouped_case(seed)
        check(it, oracle.recompute_on_duckdb(it)[it.view], engine="duckdb", strategy="recompute")


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(20, quick=2, size=5))
def test_on_spark(seeds: range, spark: Any) -> None:
    for seed in seeds:
        it = grouped_case(seed)
        check(it, oracle.recompute_on_spark(it, spark), engine="spark", spark=spark)
