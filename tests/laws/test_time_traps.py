"""The traps of conditions on time, one plain test each, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import tidings
from tidings import ManualClock
from tidings.clock import instant, micros
from tidings.errors import NonDeterministic

MARCH = datetime(2026, 3, 10, 8, tzinfo=UTC)
DAY, HOUR, TICK = timedelta(days=1), timedelta(hours=1), timedelta(microseconds=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(MARCH)


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])])
def db(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[tidings.Database]:
    """A table of moments, days and numbers, and another one to join."""
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    with tidings.open(engine=request.param, spark=session, execution="spark", clock=clock) as opened:
        opened.sql("CREATE TABLE t (k INT, at TIMESTAMP, d DATE, n INT); CREATE TABLE u (k INT, at TIMESTAMP)")
        yield opened


def insert(db: tidings.Database, table: str, *rows: tuple[Any, ...]) -> None:
    with db.transaction() as tx:
        tx.insert(table, [list(r) for r in rows])


def told(db: tidings.Database, condition: str) -> list[tuple[Any, ...]]:
    """When which keys come and go for a condition on ``t``, or for a query."""
    query = condition if condition.startswith("SELECT") else f"SELECT k FROM t WHERE {condition}"
    changes = db.changes(query, since=0, per_commit=True).rows()
    return [(instant(c.time), *c.row.values(), c.weight) for c in changes]


def over(db: tidings.Database, clock: ManualClock, *rows: tuple[Any, ...], days: int = 60) -> None:
    """The rows at the beginning, then nothing for a while."""
    insert(db, "t", *rows)
    clock.advance(days * DAY)


# when it begins, when it ends

NOON = MARCH.replace(hour=12)
COMPARED = {
    "at <= now()": [(NOON, 1, 1)],
    "at < now()": [(NOON + TICK, 1, 1)],
    "at > now()": [(MARCH, 1, 1), (NOON, 1, -1)],
    "at >= now()": [(MARCH, 1, 1), (NOON + TICK, 1, -1)],
    "at = now()": [(NOON, 1, 1), (NOON + TICK, 1, -1)],
    "at <=> now()": [(NOON, 1, 1), (NOON + TICK, 1, -1)],
    "at <> now()": [(MARCH, 1, 1), (NOON, 1, -1), (NOON + TICK, 1, 1)],
    "NOT at <= now()": [(MARCH, 1, 1), (NOON, 1, -1)],
    "at BETWEEN now() - INTERVAL 1 HOUR AND now()": [(NOON, 1, 1), (NOON + HOUR + TICK, 1, -1)],
    "now() BETWEEN at AND at + INTERVAL 1 HOUR": [(NOON, 1, 1), (NOON + HOUR + TICK, 1, -1)],
    "at IN (now() - INTERVAL 1 HOUR, now())": [
        (NOON, 1, 1),
        (NOON + TICK, 1, -1),
        (NOON + HOUR, 1, 1),
        (NOON + HOUR + TICK, 1, -1),
    ],
    "now() - at > INTERVAL 3 DAYS": [(NOON + 3 * DAY + TICK, 1, 1)],
    "at - now() < INTERVAL 2 HOURS": [(NOON - 2 * HOUR + TICK, 1, 1)],
    "at < current_timestamp": [(NOON + TICK, 1, 1)],
    "CAST(at AS DATE) < CAST(now() AS DATE)": [(NOON.replace(hour=0) + DAY, 1, 1)],
    "date_add(now(), -2) >= at": [(NOON.replace(hour=0) + 3 * DAY, 1, 1)],
    "now() > '2026-03-12'": [(datetime(2026, 3, 12, tzinfo=UTC) + TICK, 1, 1)],
    "CASE WHEN at <= now() THEN n = 1 ELSE n = 0 END": [(NOON, 1, 1)],
    "(at <= now()) IS NULL": [],
}


@pytest.mark.parametrize("condition", COMPARED)
def test_a_comparison_changes_at_its_instants(db: tidings.Database, clock: ManualClock, condition: str) -> None:
    over(db, clock, (1, NOON, NOON.date(), 1))
    assert told(db, condition) == COMPARED[condition]


def test_a_date_begins_and_ends_at_midnight(db: tidings.Database, clock: ManualClock) -> None:
    over(db, clock, (1, None, date(2026, 3, 12), None))
    begins = datetime(2026, 3, 12, tzinfo=UTC)
    assert told(db, "d = current_date()") == [(begins, 1, 1), (begins + DAY, 1, -1)]
    assert told(db, "d < current_date()") == [(begins + DAY, 1, 1)]
    assert told(db, "datediff(current_date(), d) >= 2") == [(begins + 2 * DAY, 1, 1)]


def test_days_of_daylight_saving_have_24_hours(db: tidings.Database, clock: ManualClock) -> None:
    """Sessions are in UTC: the nights in which clocks change in Europe and America are like any other."""
    clock.set(datetime(2026, 3, 28, 1, tzinfo=UTC))
    over(db, clock, (1, datetime(2026, 3, 28, 2, 30, tzinfo=UTC), date(2026, 3, 29), 1))
    assert told(db, "at + INTERVAL 1 DAY <= now()") == [(datetime(2026, 3, 29, 2, 30, tzinfo=UTC), 1, 1)]
    assert told(db, "at + INTERVAL 24 HOURS <= now()") == [(datetime(2026, 3, 29, 2, 30, tzinfo=UTC), 1, 1)]
    assert told(db, "d < current_date()") == [(datetime(2026, 3, 30, tzinfo=UTC), 1, 1)]


def test_null_is_never_due(db: tidings.Database, clock: ManualClock) -> None:
    over(db, clock, (1, None, None, None))
    for condition in (
        "at <= now()",
        "NOT at <= now()",
        "at = now()",
        "d < current_date()",
        "at + INTERVAL 1 DAY > now()",
    ):
        assert told(db, condition) == []
    assert told(db, "(at <= now()) IS NULL") == [(MARCH, 1, 1)]


def test_moments_far_away(db: tidings.Database, clock: ManualClock) -> None:
    late, early = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(1900, 1, 1, tzinfo=UTC)
    over(db, clock, (1, late, late.date(), 1), (2, early, early.date(), 1))
    assert told(db, "at <= now()") == [(MARCH, 2, 1)]
    assert told(db, "d + 7 > current_date()") == [(MARCH, 1, 1)]


# rows and their commits


def test_a_row_deleted_before_its_instant_never_appears(db: tidings.Database, clock: ManualClock) -> None:
    insert(db, "t", (1, MARCH + DAY, None, 1))
    clock.advance(DAY - TICK)
    with db.transaction() as tx:
        tx.delete("t", [[1, MARCH + DAY, None, 1]])
    clock.advance(5 * DAY)
    assert told(db, "at <= now()") == []


def test_a_row_inserted_after_its_instant_appears_at_its_commit(db: tidings.Database, clock: ManualClock) -> None:
    over(db, clock, (1, MARCH - DAY, None, 1))
    assert told(db, "at <= now()") == [(MARCH, 1, 1)]


def test_a_row_deleted_at_its_instant_never_appears(db: tidings.Database, clock: ManualClock) -> None:
    insert(db, "t", (1, MARCH + DAY, None, 1))
    clock.advance(DAY)
    with db.transaction() as tx:
        tx.delete("t", [[1, MARCH + DAY, None, 1]])
    assert told(db, "at <= now()") == []


def test_equal_rows_come_together(db: tidings.Database, clock: ManualClock) -> None:
    over(db, clock, (1, NOON, None, 1), (1, NOON, None, 1))
    assert told(db, "at <= now()") == [(NOON, 1, 2)]


def test_without_a_commit_time_alone_changes_the_answer(db: tidings.Database, clock: ManualClock) -> None:
    insert(db, "t", (1, NOON, None, 1))
    since = db.time
    clock.set(NOON - TICK)
    assert db.changes("SELECT k FROM t WHERE at <= now()", since=since).rows() == []
    since = clock.now()
    clock.set(NOON)
    (change,) = db.changes("SELECT k FROM t WHERE at <= now()", since=since).rows()
    assert (change.time, change.weight) == (micros(NOON), 1)


# months


def test_months_on_the_side_of_the_row_are_exact(db: tidings.Database, clock: ManualClock) -> None:
    """A month after the 31st is the last day of a shorter month, as it is for the 28th."""
    clock.set(datetime(2026, 2, 1, tzinfo=UTC))
    ends = [datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 1, 28, 12, tzinfo=UTC)]
    over(db, clock, (31, ends[0], None, 1), (28, ends[1], None, 1))
    due = datetime(2026, 2, 28, 12, tzinfo=UTC)
    assert sorted(told(db, "at + INTERVAL 1 MONTH <= now()")) == [(due, 28, 1), (due, 31, 1)]
    assert told(db, "SELECT k FROM t WHERE k = 31 AND add_months(CAST(at AS DATE), 1) <= current_date()") == [
        (datetime(2026, 2, 28, tzinfo=UTC), 31, 1)
    ]


@pytest.mark.parametrize(
    "condition",
    [
        "now() - INTERVAL 1 MONTH > at",
        "now() + INTERVAL 1 YEAR > at",
        "add_months(current_date(), 1) > d",
        "at < now() - n * INTERVAL 1 MONTH",
    ],
)
def test_months_on_the_side_of_the_clock_are_refused(db: tidings.Database, condition: str) -> None:
    with pytest.raises(NonDeterministic) as refused:
        told(db, condition)
    assert refused.value.hint


# where the clock may stand


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, now() AS seen FROM t",
        "SELECT at < now() AS late FROM t",
        "SELECT current_date() AS day, count(*) AS c FROM t GROUP BY current_date()",
        "SELECT count(*) AS c FROM t GROUP BY at < now()",
        "SELECT k FROM t ORDER BY now() LIMIT 1",
        "SELECT k FROM t ORDER BY at < now() LIMIT 1",
        "SELECT k, count_if(at < now()) AS late FROM t GROUP BY k",
        "SELECT k FROM t WHERE date_trunc('day', now()) > at",
        "SELECT k FROM t WHERE year(now()) = 2026",
        "SELECT k FROM t WHERE now() IS NOT NULL",
        "SELECT k FROM t WHERE now() > now() - INTERVAL 1 DAY",
        "SELECT k FROM t WHERE greatest(at, now()) = at",
        "SELECT k FROM t WHERE coalesce(at, now()) > at",
        "SELECT k FROM t WHERE unix_timestamp() > n",
        "SELECT k FROM t WHERE CAST(now() AS STRING) > 'x'",
    ],
)
def test_the_clock_elsewhere_is_refused_with_a_hint(db: tidings.Database, query: str) -> None:
    with pytest.raises(NonDeterministic) as refused:
        db.changes(query)
    assert refused.value.hint is not None
    assert "compare it with columns" in refused.value.hint


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM t GROUP BY k HAVING count_if(at < now()) > 0",
        "SELECT k FROM t QUALIFY max(if(at < now(), 1, 0)) OVER (PARTITION BY k) = 1",
    ],
)
def test_the_clock_inside_an_aggregate_is_refused(query: str) -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (k INT, at TIMESTAMP)")
        with pytest.raises(NonDeterministic):
            db.changes(query)


AFTER = NOON + DAY + TICK
BEGUN = [(NOON, None, -1), (NOON, 1, 1)]


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        ("t LEFT JOIN u ON t.k = u.k AND t.at <= now()", BEGUN),
        ("u RIGHT JOIN t ON t.k = u.k AND t.at <= now()", BEGUN),
        ("t LEFT JOIN u ON t.k = u.k AND now() BETWEEN t.at AND u.at", [*BEGUN, (AFTER, 1, -1), (AFTER, None, 1)]),
    ],
)
def test_both_sides_of_an_outer_join_may_wait(
    db: tidings.Database, clock: ManualClock, join: str, expected: list[tuple[Any, ...]]
) -> None:
    insert(db, "t", (1, NOON, None, 1))
    insert(db, "u", (1, NOON + DAY))
    clock.advance(3 * DAY)
    later = [change for change in told(db, f"SELECT u.k AS other FROM {join}") if change[0] >= NOON]
    assert sorted(later, key=repr) == sorted(expected, key=repr)


def test_the_optional_side_of_an_outer_join_may_wait(db: tidings.Database, clock: ManualClock) -> None:
    insert(db, "t", (1, None, None, 1))
    insert(db, "u", (1, NOON))
    clock.advance(DAY)
    query = "SELECT t.k, u.k AS other FROM t LEFT JOIN u ON t.k = u.k AND u.at <= now()"
    assert told(db, query) == [(MARCH, 1, None, 1), (NOON, 1, None, -1), (NOON, 1, 1, 1)]


def test_a_condition_over_both_sides_of_a_join(db: tidings.Database, clock: ManualClock) -> None:
    insert(db, "t", (1, NOON, None, 1))
    insert(db, "u", (1, NOON + HOUR))
    clock.advance(DAY)
    query = "SELECT t.k FROM t JOIN u ON t.k = u.k AND now() BETWEEN t.at AND u.at"
    assert told(db, query) == [(NOON, 1, 1), (NOON + HOUR + TICK, 1, -1)]


def test_a_view_over_a_view_that_reads_the_clock(db: tidings.Database, clock: ManualClock) -> None:
    db.sql("""
        CREATE VIEW due AS SELECT k, at FROM t WHERE at <= now();
        CREATE VIEW late AS SELECT k FROM due WHERE at + INTERVAL 1 HOUR <= now();
        CREATE VIEW counted AS SELECT count(*) AS n FROM due;
    """)
    over(db, clock, (1, NOON, None, 1))
    assert told(db, "SELECT k FROM late") == [(NOON + HOUR, 1, 1)]
    assert told(db, "SELECT n FROM counted") == [(NOON, 0, -1), (NOON, 1, 1)]


def test_a_query_without_tables(db: tidings.Database, clock: ManualClock) -> None:
    clock.advance(DAY)
    assert told(db, "SELECT 1 AS one WHERE now() > TIMESTAMP '2026-03-10 12:00:00'") == [(NOON + TICK, 1, 1)]


def test_a_cast_behind_a_guard_does_not_fail(db: tidings.Database, clock: ManualClock) -> None:
    db.sql("CREATE TABLE note (k INT, s STRING); INSERT INTO note VALUES (1, 'soon'), (2, '2026-03-10 12:00:00')")
    clock.advance(DAY)
    for guard in ("k = 2 AND CAST(s AS TIMESTAMP) <= now()", "CASE WHEN k = 2 THEN CAST(s AS TIMESTAMP) <= now() END"):
        assert told(db, f"SELECT k FROM note WHERE {guard}") == [(NOON, 2, 1)]
