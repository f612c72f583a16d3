"""Storing a view changes what it costs, never what it says.

A stored view is made somewhere in a history, or before it, and brought up to date at random times.  Its changes at
every instant after that, and its rows at the end, are the recompute's; so are those of a query over it.  The groupings
kept inside it are what they would be if made anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, case, instant
from tests.laws.grouped_views import grouped_case
from tests.laws.keyed_views import keyed_case
from tests.laws.replay import begin, commit
from tests.laws.schema import arrow, quote
from tests.laws.seeds import chunks
from tests.laws.timed_views import TABLES, expected, reported, timed_case
from tidings.errors import SparkNeeded
from tidings.ir.relation import Scan
from tidings.rewrite.pipeline import normalise
from tidings.waves.strategy import Strategy
from tidings.waves.wave import WaveRequest


def check(it: Case, answers: oracle.Answers, path: str | Path | None = None, **options: Any) -> bool:
    """Whether some wave was a merge."""
    options = {"engine": "duckdb", "strategy": "differential"} | options
    rng = Random(it.seed)
    made = rng.randint(0, max(0, len(it.history) - 1))
    clock = tidings.ManualClock()
    with tidings.open(path, clock=clock, **options) as db:
        begin(db, it, it.views[:-1])
        stored = it.views[-1].definition.replace("CREATE VIEW", "CREATE MATERIALIZED VIEW", 1)
        merged = False
        for number in range(len(it.history) + 1):
            if number:
                clock.set(instant(number))
                commit(db, it.history[number - 1])
            if number == made:
                db.sql(stored)
                begun = db.time
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
        (view,) = db._parts.relations.stored()
        assert view.since == begun, f"{it}\nhad to begin anew"
        for name, groups in view.groupings.items():
            plan = normalise(groups, db._parts.relations.definitions() | view.groupings)
            anew = db._parts.runner.query(plan, db._parts.scheduler.executor.sources(0, db.time), db.time)
            kept = db._parts.runner.query(_scan(db, name), db._parts.scheduler.executor.sources(0, db.time), db.time)
            assert oracle.bag(kept) == oracle.bag(anew), f"{it}\n{name}"
    return merged


def _merges(db: tidings.Database, name: str) -> bool:
    view = next(v for v in db._parts.relations.stored() if v.name == name)
    wave = db._parts.scheduler.plan(WaveRequest(view.name, view.over, view.until, db.time, groupings=view.groupings))
    return wave.choice.strategy is Strategy.MERGE


def _scan(db: tidings.Database, name: str) -> Scan:
    return Scan(name, "kept", db._parts.relations.rows(name).columns)


@pytest.mark.parametrize("seeds", chunks(60, quick=10, size=10))
def test_keyed_views_stored(seeds: range) -> None:
    refused = 0
    for seed in seeds:
        it = keyed_case(seed)
        try:
            check(it, oracle.recompute_on_duckdb(it)[it.view])
        except SparkNeeded:  # a value such as upper('é')
            refused += 1
    assert refused <= len(seeds) / 5


@pytest.mark.parametrize("seeds", chunks(150, quick=30, size=30))
def test_groupings_are_carried_on(seeds: range) -> None:
    merged = 0
    for seed in seeds:
        it = grouped_case(seed)
        merged += check(it, oracle.recompute_on_duckdb(it)[it.view])
    assert merged * 2 > len(seeds), f"only {merged} of {len(seeds)} were merged"


@pytest.mark.parametrize("seeds", chunks(30, quick=10, size=10))
def test_recomputed_views_stored(seeds: range) -> None:
    for seed in seeds:
        it = grouped_case(seed)
        check(it, oracle.recompute_on_duckdb(it)[it.view], strategy="recompute")


@pytest.mark.parametrize("seeds", chunks(12, quick=6, size=6))
def test_in_a_folder(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        it = grouped_case(seed) if seed % 2 else keyed_case(seed)
        check(it, oracle.recompute_on_duckdb(it)[it.view], tmp_path / str(seed))


@pytest.mark.parametrize("seeds", chunks(6, quick=0, size=6))
def test_on_an_object_store(seeds: range, object_store: Callable[[], dict[str, Any]]) -> None:
    for seed in seeds:
        it = grouped_case(seed) if seed % 2 else keyed_case(seed)
        check(it, oracle.recompute_on_duckdb(it)[it.view], **object_store())


@pytest.mark.parametrize("seeds", chunks(12, quick=0, size=6))
def test_with_a_catalog_in_postgresql(seeds: range, postgresql: Callable[[], str], tmp_path: Path) -> None:
    for seed in seeds:
        it = grouped_case(seed) if seed % 2 else keyed_case(seed)
        check(it, oracle.recompute_on_duckdb(it)[it.view], tmp_path / str(seed), catalog=postgresql())


@pytest.mark.parametrize("seeds", chunks(60, quick=10, size=10))
def test_stored_views_over_stored_views(seeds: range) -> None:
    """Some views of a network are stored, at some time; each of them says what its recompute says."""
    refused = 0
    for seed in seeds:
        try:
            over_stored(seed)
        except SparkNeeded:  # a value such as upper('é')
            refused += 1
    assert refused <= len(seeds) / 5


def over_stored(seed: int) -> None:
    it = keyed_case(seed) if seed % 2 else case(seed)
    answers, rng, clock = oracle.recompute_on_duckdb(it), Random(seed), tidings.ManualClock()
    with tidings.open(engine="duckdb", clock=clock) as db:
        for table in it.tables:
            db.sql(table.definition)
            if table.name in it.base:
                db.load(table.name, arrow(table, it.base[table.name]))
        made = rng.randint(0, len(it.history))
        for number in range(len(it.history) + 1):
            if number:
                clock.set(instant(number))
                commit(db, it.history[number - 1])
            if number == made:
                begun = db.time
                for view in it.views:
                    kind = rng.choice(("CREATE VIEW", "CREATE MATERIALIZED VIEW", "CREATE MATERIALIZED VIEW"))
                    db.sql(view.definition.replace("CREATE VIEW", kind, 1))
            elif number > made and rng.random() < 0.5:
                db.query(rng.choice(it.views).name)
        end = instant(len(it.history))
        for view in rng.sample(it.views, k=len(it.views)):
            since = instant(rng.randint(0, len(it.history)))
            got = oracle.changes(db.changes(view.name, since, end, per_commit=True).to_arrow())
            oracle.assert_same(it, f"{view.name}, made at {made}", got, answers[view.name].between(since, end))
            assert oracle.bag(db.query(view.name).to_arrow()) == answers[view.name].states[-1], it
        assert all(v.since == begun for v in db._parts.relations.stored()), f"{it}\none had to begin anew"


@pytest.mark.parametrize("seeds", chunks(60, quick=10, size=10))
def test_timed_views_stored(seeds: range) -> None:
    """Time passes while a stored view is brought up to date, and while it is not."""
    for seed in seeds:
        it, rng, clock = timed_case(seed), Random(seed), tidings.ManualClock(0)
        with tidings.open(engine="duckdb", clock=clock) as db:
            for table, columns in TABLES.items():
                db.sql(f"CREATE TABLE {table} ({columns})")
            made = rng.randrange(len(it.commits))
            for number, (at, changes) in enumerate(it.commits):
                clock.set(at - 1)
                if number == made:
                    db.sql(f"CREATE MATERIALIZED VIEW stored AS {it.query}")
                elif number > made and rng.random() < 0.5:
                    db.advance()
                clock.set(at)
                with db.transaction() as tx:
                    for table, row, sign in changes:
                        (tx.insert if sign > 0 else tx.delete)(table, [list(row)])
                assert tx.time == at
            clock.set(it.end)
            want = expected(it)
            got = reported(db, "stored", 0, None)
            assert got == want, f"{it}\nstored before {made} it says {got}\nexpected {want}"
            cut = rng.choice(it.commits)[0]
            parts = reported(db, "stored", 0, cut) | reported(db, "stored", cut, None)
            assert parts == want, f"{it}\nsplit at {cut} it says {parts}\nexpected {want}"
            assert db._parts.relations.stored()[0].since < it.commits[made][0], f"{it}\nit had to begin anew"


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(8, quick=2, size=2))
def test_on_spark(seeds: range, spark: Any) -> None:
    for seed in seeds:
        it = grouped_case(seed)
        check(it, oracle.recompute_on_spark(it, spark), engine="spark", spark=spark, execution="spark")
