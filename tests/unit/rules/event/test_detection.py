"""Events that take several transactions, or time: when rules that wait for them fire, and for what."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tidings
from tests.unit.rules.test_agenda import rows
from tidings import Database, ManualClock
from tidings.errors import InvalidRule, TidingsError

SCHEMA = """
    CREATE EVENT a (k INT); CREATE EVENT b (k INT); CREATE EVENT c (k INT); CREATE EVENT plain;
    CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE log (what STRING);
    CREATE VIEW large AS SELECT id FROM t WHERE v > 10
"""
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 5, 0, 30, tzinfo=UTC))  # a Monday


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql(SCHEMA)
        yield db


def rule(db: Database, event: str, query: str = "SELECT 'x' AS what", options: str = "") -> None:
    action = "DO INSERT INTO log SELECT what FROM condition"
    db.sql(f"CREATE RULE r ON {event} WHEN {query} {action}" + (f" WITH ({options})" if options else ""))


def signals(db: Database, clock: ManualClock, text: str) -> None:
    """Signals one after the other, a minute apart: a letter and a number; a dot lets an hour pass."""
    for word in text.split():
        if word == ".":
            clock.advance(HOUR)
        else:
            db.sql(f"SIGNAL {word[0]} VALUES ({word[1:] or 0})")
        clock.advance(timedelta(minutes=1))
        db.advance()


PAIRS = "SELECT concat(x.k, y.k) AS what FROM x JOIN y"


@pytest.mark.parametrize("coupling", ["immediate", "deferred", "detached"])
@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("recent", ["23", "24", "56"]),
        ("chronicle", ["13", "24", "56"]),
        ("continuous", ["13", "23", "56"]),
        ("cumulative", ["13", "23", "56"]),
    ],
)
def test_contexts_choose_what_an_event_is_made_of(
    db: Database, clock: ManualClock, coupling: str, context: str, expected: list[str]
) -> None:
    options = f"context = '{context}', condition = '{coupling}'"
    rule(db, "SIGNAL a AS x THEN SIGNAL b AS y WITHIN INTERVAL 1 HOUR", PAIRS, options)
    signals(db, clock, "a1 a2 b3 b4 a5 b6 a7 . b8")
    assert sorted(what for (what,) in rows(db, "log")) == expected


@pytest.mark.parametrize(
    ("event", "done", "times"),
    [
        ("SIGNAL a THEN SIGNAL b WITHIN INTERVAL 1 HOUR", "b a b b", 1),
        ("SIGNAL a AND SIGNAL b WITHIN INTERVAL 1 HOUR", "b a b . a", 1),
        ("ANY 2 OF (SIGNAL a, SIGNAL b, SIGNAL c) WITHIN INTERVAL 1 HOUR", "a a c b", 2),
        ("3 OF SIGNAL a WITHIN INTERVAL 1 HOUR", "a a . a a a a", 1),
        ("NOT SIGNAL b BETWEEN SIGNAL a AND SIGNAL c", "a b c a c c", 1),
        ("EACH SIGNAL b BETWEEN SIGNAL a AND SIGNAL c", "b a b b c b", 2),
        ("ALL SIGNAL b BETWEEN SIGNAL a AND SIGNAL c", "b a b b c b c", 1),
        ("EVERY INTERVAL 10 MINUTES BETWEEN SIGNAL a AND SIGNAL c", "a . c .", 6),
        ("ALL EVERY INTERVAL 10 MINUTES BETWEEN SIGNAL a AND SIGNAL c", "a . c .", 1),
        ("SIGNAL a PLUS INTERVAL 30 MINUTES", "a . b", 1),
        ("SIGNAL a THEN EVERY INTERVAL 1 HOUR WITHIN INTERVAL 2 HOURS", "a . . .", 1),
        ("SIGNAL a AND AT TIMESTAMP '2026-01-05 01:00:00' WITHIN INTERVAL 1 HOUR", "a . .", 1),
        ("EVERY '0 9 * * 1'", "a " + ". " * 10, 1),
        ("EVERY '*/15 * * * *'", "a . b", 1),
        ("SIGNAL plain", "a b", 0),
    ],
)
def test_operators(db: Database, clock: ManualClock, event: str, done: str, times: int) -> None:
    rule(db, event)
    signals(db, clock, done)
    assert len(rows(db, "log")) == times


def test_the_rows_of_an_event_are_those_of_its_parts(db: Database, clock: ManualClock) -> None:
    query = """
        SELECT concat(i.id, '/', u.old_v, '>', u.v, '/', coalesce(d.id, 0)) AS what
        FROM i JOIN u ON u.id = i.id LEFT JOIN d ON d.id = i.id
    """
    event = "INSERT INTO t AS i THEN UPDATE OF t(v) AS u THEN DELETE FROM t AS d WITHIN INTERVAL 1 HOUR"
    rule(db, event, query)
    db.sql("INSERT INTO t VALUES (1, 1), (2, 2); UPDATE t SET v = 5 WHERE id = 1; INSERT INTO t VALUES (3, 3)")
    db.sql("DELETE FROM t WHERE id = 1")
    db.advance()
    assert rows(db, "log") == [("1/1>5/1",)]


def test_the_instants_of_ticks_can_be_read(db: Database, clock: ManualClock) -> None:
    event = "ALL EVERY INTERVAL 20 MINUTES AS t BETWEEN SIGNAL a AND SIGNAL c"
    rule(db, event, "SELECT CAST(count(DISTINCT instant) AS STRING) AS what FROM t")
    signals(db, clock, "a . c")
    assert rows(db, "log") == [("3",)]


@pytest.mark.parametrize("coupling", ["immediate", "deferred", "detached"])
def test_events_of_views(db: Database, coupling: str) -> None:
    rule(db, "INSERT INTO large AS l", "SELECT CAST(id AS STRING) AS what FROM l", f"condition = '{coupling}'")
    db.sql("INSERT INTO t VALUES (1, 1); UPDATE t SET v = 11; UPDATE t SET v = 12; UPDATE t SET v = 1")
    db.advance()
    assert rows(db, "log") == [("1",)]


def test_an_event_without_columns(db: Database) -> None:
    rule(db, "SIGNAL plain")
    db.sql("SIGNAL plain; SIGNAL plain")
    db.advance()
    assert rows(db, "log") == [("x",), ("x",)]
    with pytest.raises(TidingsError):
        db.sql("SIGNAL a")


@pytest.mark.parametrize("coupling", ["deferred", "detached"])
def test_what_was_remembered_survives(tmp_path: Path, clock: ManualClock, coupling: str) -> None:
    """The log is forgotten as far as it is not needed."""
    path = str(tmp_path / "db")
    for n, word in enumerate(("a1", "a2", "b3", "b4", "b5")):
        with tidings.open(path, engine="duckdb", clock=clock, retention=timedelta(hours=1)) as db:
            if not n:
                db.sql(SCHEMA)
                rule(db, "SIGNAL a AS x THEN SIGNAL b AS y WITHIN INTERVAL 3 DAYS", PAIRS, f"condition = '{coupling}'")
            signals(db, clock, f"{word} . . .")
            db.fold()
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        assert rows(db, "log") == [("13",), ("24",)]


def test_a_rule_that_is_enabled_again_remembers_nothing(db: Database, clock: ManualClock) -> None:
    rule(db, "SIGNAL a THEN SIGNAL b WITHIN INTERVAL 1 DAY")
    signals(db, clock, "a")
    db.sql("DISABLE RULE r; ENABLE RULE r")
    signals(db, clock, "b")
    assert rows(db, "log") == []


def test_a_rule_that_is_replaced_remembers_nothing_of_the_other(db: Database, clock: ManualClock) -> None:
    rule(db, "SIGNAL a THEN SIGNAL b WITHIN INTERVAL 1 DAY")
    signals(db, clock, "a")
    action = "DO INSERT INTO log VALUES ('y')"
    db.sql(f"CREATE OR REPLACE RULE r ON SIGNAL a THEN SIGNAL c WITHIN INTERVAL 1 DAY {action}")
    db.sql(f"CREATE OR REPLACE RULE r ON SIGNAL b THEN SIGNAL c WITHIN INTERVAL 1 DAY {action}")
    signals(db, clock, "c b c")
    assert rows(db, "log") == [("y",)]


@pytest.mark.parametrize(
    "event",
    ["SIGNAL a THEN (2 OF SIGNAL b WITHIN INTERVAL 1 DAY)", "SIGNAL a AS x OR SIGNAL b AS X"],
)
def test_what_is_refused(db: Database, event: str) -> None:
    with pytest.raises(InvalidRule):
        rule(db, event)
