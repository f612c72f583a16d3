"""The law of continuous queries: what is delivered is what the query would have answered at any instant.

    delivered  =  ⋃ { Q(s) : s ≤ now },  each row once, at the first s

whenever and however often the query runs: for random queries with aggregates, outer joins, set operations and windows
over tables with updates and deletes, and for conditions on time; in memory and in folders that are closed and opened
again.  The right-hand side is computed by brute force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.laws.generate import Case, case, instant
from tests.laws.oracle import recompute_on_duckdb
from tests.laws.replay import begin, commit
from tests.laws.scheduled import (
    SCHEDULES,
    SLOW_SCHEDULES,
    ScheduledDatabase,
    assert_delivered,
    delivered,
    first_matches,
    scheduled,
)
from tests.laws.schema import quote
from tests.laws.seeds import chunks
from tests.laws.timed_views import TABLES, TimedCase, expected, timed_case


def check(seed: int, path: Path | None, **kind: Any) -> int:
    """A case of tables with inserts, updates and deletes; how many rows were delivered."""
    tried, rng = case(seed, transactions=5), Random(seed)
    want = {view: answers.states for view, answers in recompute_on_duckdb(tried).items()}
    with scheduled(rng, path, **kind) as database:
        begin(database.db, tried, tried.views)
        times, queries = [0], _created(database, tried, before=True)
        for number, transaction in enumerate(tried.history, 1):
            database.clock.set(max(instant(number), database.clock.now()))
            time = commit(database.db, transaction)
            assert time is not None
            times.append(time)
            queries |= _created(database, tried, before=False) if number == 2 else {}
            if queries:
                database.disturb(sorted(queries))
        database.finish(sorted(queries))
        got = {query: delivered(database.db, query, by_name=True) for query in queries}
    for query, view in queries.items():
        states = dict(zip(times, want[view], strict=True))
        assert_delivered(f"{tried}\n{query} of {view}, committed at {times}", got[query], first_matches(states))
    return sum(map(len, got.values()))


def _created(database: ScheduledDatabase, tried: Case, *, before: bool) -> dict[str, str]:
    """Continuous queries over the views of a case, half of them before its history and half later, when some of it is
    past; the views by the names of the queries."""
    queries: dict[str, str] = {}
    for number, view in enumerate(tried.views):
        if (number + tried.seed) % 2 == before:
            query, schedule = f"q{number}", database.rng.choice(SCHEDULES)
            text = view.query if number == 0 else f"SELECT * FROM {quote(view.name)}"
            database.db.sql(f"CREATE CONTINUOUS QUERY {query} AS {text} {schedule}")
            queries[query] = view.name
    return queries


MORE_VIEWS = (
    "SELECT a.k FROM a GROUP BY a.k HAVING count(*) > 1",
    "SELECT a.k, count(*) AS c FROM a WHERE a.at < now() GROUP BY a.k HAVING count(*) >= 2",
    "SELECT a.n, a.k, a.at FROM a WHERE a.at <= now() ORDER BY a.n, a.k, a.at, a.d LIMIT 2",
    "SELECT a.k AS ak, b.k AS bk FROM a FULL JOIN (SELECT * FROM b WHERE b.at > now()) b ON a.k = b.k",
    "SELECT a.k FROM a WHERE a.at < now() EXCEPT SELECT b.k FROM b WHERE b.at < now()",
    "SELECT a.k, a.n FROM a WHERE a.at = now()",
    "SELECT a.k, a.n FROM a WHERE a.at + INTERVAL 1 DAY < now() AND a.at + INTERVAL 2 DAYS > now()",
)


def check_timed(seed: int, path: Path | None, **kind: Any) -> bool:
    """A case with conditions on time; whether a row matched that no transaction made match."""
    rng, tried = Random(seed), timed_case(seed)
    if seed % 3 == 0:
        tried = replace(tried, query=MORE_VIEWS[seed // 3 % len(MORE_VIEWS)])
    with scheduled(rng, path, **kind) as database:
        for table, columns in TABLES.items():
            database.db.sql(f"CREATE TABLE {table} ({columns})")
        names, commits = [f"q{n}" for n in range(2)], []
        installed_late = rng.randrange(len(tried.commits))
        for number, (at, changes) in enumerate(tried.commits):
            if number in (0, installed_late):
                query = names[0] if number == 0 else names[1]
                database.db.sql(f"CREATE CONTINUOUS QUERY {query} AS {tried.query} {rng.choice(SLOW_SCHEDULES)}")
            known = names[: 2 if 0 < installed_late <= number else 1]
            _pass_time(database, at, known)
            with database.db.transaction() as tx:
                for table, row, sign in changes:
                    (tx.insert if sign > 0 else tx.delete)(table, [list(row)])
            assert tx.time is not None
            commits.append((tx.time, changes))
            database.disturb(known)
        _pass_time(database, tried.end, known)
        database.finish(known)
        end = database.db._parts.timeline.settled()
        got = {query: delivered(database.db, query) for query in known}
    happened = replace(tried, commits=tuple(commits), end=end)
    want = _ever(happened)
    for query, matched in got.items():
        assert_delivered(f"{happened}\n{query}, installed at {installed_late}", matched, want)
    return bool({*want.values()} - {at for at, _ in commits})


def _pass_time(database: ScheduledDatabase, until: int, queries: list[str]) -> None:
    """Let the clock go on, with runs on the way."""
    now = database.clock.now()
    for _ in range(2):
        if now and now < until and database.rng.random() < 0.5:
            now = database.clock.set(database.rng.randint(now, until))
            database.disturb(queries)
    database.clock.set(max(until, database.clock.now()))


def _ever(happened: TimedCase) -> dict[tuple[Any, ...], int]:
    """The rows of the answers at all instants."""
    state: Counter[tuple[Any, ...]] = Counter()
    states = {}
    for at, change in sorted(expected(happened).items()):
        state.update(change)
        states[at] = Counter(state)
    return first_matches(states)


@pytest.mark.parametrize("seeds", chunks(100, quick=10, size=20))
def test_what_is_delivered_is_what_ever_matched(seeds: range, tmp_path: Path) -> None:
    rows = [check(seed, tmp_path / str(seed) if seed % 3 == 0 else None) for seed in seeds]
    assert sum(rows) > len(rows)


@pytest.mark.parametrize("seeds", chunks(100, quick=6, size=20))
def test_with_conditions_on_time(seeds: range, tmp_path: Path) -> None:
    by_time_alone = [check_timed(seed, tmp_path / str(seed) if seed % 4 == 0 else None) for seed in seeds]
    assert any(by_time_alone) or len(seeds) < 10


@pytest.mark.parametrize("seeds", chunks(12, quick=4, size=4))
def test_with_a_catalog_in_postgresql(seeds: range, tmp_path: Path, postgresql: Callable[[], str]) -> None:
    for seed in seeds:
        check(seed, tmp_path / f"{seed}", catalog=postgresql())
        check_timed(seed, tmp_path / f"{seed} timed", catalog=postgresql())


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(6, quick=2, size=2))
def test_on_spark(seeds: range, spark: Any, tmp_path: Path) -> None:
    for seed in seeds:
        check(seed, None, engine="spark", spark=spark)
        check_timed(seed, tmp_path / str(seed), engine="spark", spark=spark)
