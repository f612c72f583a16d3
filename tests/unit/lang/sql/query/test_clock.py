"""Conditions on time are solved for the clock: the instants at which they may change."""

from __future__ import annotations

import pytest

import tidings
from tidings.errors import NonDeterministic, TidingsError
from tidings.ir.expression import read, show
from tidings.ir.relation import During
from tidings.ir.traverse import walk
from tidings.lang.sql.query import clock


def timed(condition: str) -> During:
    """The one condition on time of a query over ``t (at, d, n, s)``."""
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (at TIMESTAMP, d DATE, n INT, s STRING)")
        plan = db._parts.plans.parse(f"SELECT n FROM t WHERE {condition}")
    (found,) = (n for n in walk(plan) if isinstance(n, During))
    return found


def instants(condition: str) -> list[str]:
    """As text, with a cast that may fail written like any other."""
    return [show(i).replace("TRY_CAST", "CAST") for i in timed(condition).instants]


AT = "UNIX_MICROS(CAST(t.at AS TIMESTAMP))"
SOLVED = {
    "at <= now()": [AT],
    "at > now()": [AT],
    "at < now()": [f"{AT} + 1"],
    "at >= now()": [f"{AT} + 1"],
    "now() >= at": [AT],
    "now() > at": [f"{AT} + 1"],
    "NOT at <= now()": [AT],
    "at = now()": [AT, f"{AT} + 1"],
    "at <> now()": [AT, f"{AT} + 1"],
    "at <=> now()": [AT, f"{AT} + 1"],
    "at <= current_timestamp": [AT],
    "at <= current_timestamp()": [AT],
    "at <= localtimestamp()": [AT],
    "at <= now() OR n > 1": [AT],
    "at <= now() OR at <= now() AND n > 1": [AT],
    "at BETWEEN now() AND now()": [f"{AT} + 1", AT],
    "at + INTERVAL '1' HOUR <= now()": ["UNIX_MICROS(CAST(t.at + INTERVAL '1' HOUR AS TIMESTAMP))"],
    "at <= now() - INTERVAL '1' HOUR": ["UNIX_MICROS(CAST(t.at + (INTERVAL '1' HOUR) AS TIMESTAMP))"],
    "at <= now() + INTERVAL '1' HOUR": ["UNIX_MICROS(CAST(t.at - (INTERVAL '1' HOUR) AS TIMESTAMP))"],
    "at - now() <= INTERVAL '1' HOUR": ["UNIX_MICROS(CAST(t.at - (INTERVAL '1' HOUR) AS TIMESTAMP))"],
    "at - now() < INTERVAL '1' HOUR": ["UNIX_MICROS(CAST(t.at - (INTERVAL '1' HOUR) AS TIMESTAMP)) + 1"],
    "now() > TIMESTAMP '2026-01-01'": ["UNIX_MICROS(CAST(CAST('2026-01-01' AS TIMESTAMP) AS TIMESTAMP)) + 1"],
}


@pytest.mark.parametrize("condition", SOLVED)
def test_solved_for_the_clock(condition: str) -> None:
    assert instants(condition) == SOLVED[condition]


@pytest.mark.parametrize(
    "condition",
    [
        "d = current_date()",
        "d <= curdate()",
        "to_date(now()) > d",
        "CAST(now() AS DATE) > d",
        "d - 3 < current_date()",
        "date_add(now(), 3) > at",
        "date_sub(current_date(), n) > d",
        "datediff(current_date(), d) > n",
        "at < current_date()",
    ],
)
def test_days_change_at_two_midnights(condition: str) -> None:
    first, second = instants(condition)
    assert "AS DATE)" in first
    assert second == first.replace("AS TIMESTAMP) AS TIMESTAMP)", "AS TIMESTAMP) + INTERVAL '1' DAY AS TIMESTAMP)")


def test_the_condition_reads_the_instant_it_is_judged_at() -> None:
    assert show(timed("at < now()").condition) == "t.at < TIMESTAMP_MICROS(__NOW())"
    assert show(timed("d = current_date()").condition) == "t.d = CAST(TIMESTAMP_MICROS(__NOW()) AS DATE)"
    assert show(timed("n > 1 OR at BETWEEN now() AND d").condition) == (
        "t.n > 1 OR (t.at >= TIMESTAMP_MICROS(__NOW()) AND t.at <= t.d)"
    )


def test_conditions_without_the_clock_stay_filters() -> None:
    assert show(timed("n > 1 AND at < now() AND s = 'x'").condition) == "t.at < TIMESTAMP_MICROS(__NOW())"


def test_an_instant_does_not_fail_where_the_condition_is_not_reached() -> None:
    (instant,) = timed("CASE WHEN n = 1 THEN CAST(s AS TIMESTAMP) <= now() END").instants
    assert show(instant) == "UNIX_MICROS(TRY_CAST(TRY_CAST(t.s AS TIMESTAMP) AS TIMESTAMP))"
    assert "TRY_CAST" not in show(timed("CASE WHEN n = 1 THEN CAST(s AS TIMESTAMP) <= now() END").condition)


@pytest.mark.parametrize(
    "condition",
    [
        "now() - INTERVAL 1 MONTH > at",
        "now() - INTERVAL 1 QUARTER > at",
        "now() - INTERVAL '1 month' > at",
        "now() - CAST('1 month 3 days' AS INTERVAL) > at",
        "now() - n * INTERVAL 1 YEAR > at",
        "now() - CAST('1 month' AS INTERVAL) > at",
        "now() - make_interval(0, 1) > at",
        "now() - at > INTERVAL 1 MONTH",
        "at - now() < CAST('1 month 3 days' AS INTERVAL)",
        "add_months(now(), 1) > at",
        "months_between(now(), at) > 1",
        "timestampdiff(MONTH, at, now()) > 1",
        "datediff(MONTH, at, now()) > 1",
    ],
)
def test_months_are_not_moved(condition: str) -> None:
    with pytest.raises(NonDeterministic) as refused:
        timed(condition)
    assert refused.value.hint == clock.HINT


@pytest.mark.parametrize(
    "condition",
    [
        "at + INTERVAL 1 MONTH < now()",
        "at + n * INTERVAL 1 MONTH < now()",
        "add_months(d, 1) < current_date()",
        "at + CAST('1 month 3 days' AS INTERVAL) < now()",
        "now() - INTERVAL 1 DAY > at + INTERVAL 1 MONTH",
        "(at + INTERVAL 1 MONTH) - now() > INTERVAL 1 DAY",
        "now() - INTERVAL '3 days 2 hours' > at",
    ],
)
def test_months_of_the_row_are_fine(condition: str) -> None:
    assert len(timed(condition).instants) in (1, 2)


def test_an_interval_of_unknown_length_is_not_moved() -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (at TIMESTAMP)")
        rows = "(SELECT at, INTERVAL 1 MONTH AS lag FROM t) AS x"
        with pytest.raises(NonDeterministic):
            db.changes(f"SELECT at FROM {rows} WHERE now() - lag > at")
        assert db.query(f"SELECT at FROM {rows} WHERE at + lag < now()").rows() == []


@pytest.mark.parametrize(
    ("condition", "function"),
    [
        ("now() IS NULL", "now()"),
        ("now() > now()", "now()"),
        ("now() - at > now() - d", "now()"),
        ("now() * 2 > at", "now()"),
        ("date_trunc('DAY', now()) > at", "now()"),
        ("date_trunc('DAY', current_date()) > at", "current_date()"),
        ("hour(now()) = 3", "now()"),
        ("current_time() > at", "current_time()"),
        ("unix_timestamp(now()) > n", "now()"),
        ("coalesce(at, now()) > at", "now()"),
        ("if(n > 1, at, now()) < at", "now()"),
        ("exists(array(at), x -> x < now())", "now()"),
        ("now() IN (SELECT x.at FROM t x)", "now()"),
        ("date_add(d, datediff(now(), d)) > at", "now()"),
    ],
)
def test_refused_where_it_cannot_be_solved(condition: str, function: str) -> None:
    with pytest.raises(TidingsError) as refused:
        timed(condition)
    assert refused.value.condition == "NonDeterministic"
    assert refused.value.parameters == {"function": function}
    assert refused.value.hint == clock.HINT
    assert refused.value.place is not None


def test_reads_clock() -> None:
    assert clock.reads_clock(read("t.a < NOW() OR t.b"))
    assert not clock.reads_clock(read("t.a < t.now"))
