"""Queries that are asked once, and read changes over an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import Any

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import (
    InvalidExpression,
    InvalidInterval,
    InvalidRule,
    NonDeterministic,
    UnknownColumn,
    UnsupportedConstruct,
)

HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=clock) as database:
        yield filled(database, clock)


def filled(db: Database, clock: ManualClock) -> Database:
    """Employees whose salaries are raised: one after an hour, two after two hours."""
    db.sql("CREATE TABLE emp (name STRING PRIMARY KEY, salary INT); CREATE TABLE dept (name STRING, floor INT)")
    db.sql("CREATE VIEW rich AS SELECT name, salary FROM emp WHERE salary > 150")
    db.sql("INSERT INTO emp VALUES ('ann', 100), ('bob', 100); INSERT INTO dept VALUES ('ann', 3)")
    clock.advance(HOUR)
    db.sql("UPDATE emp SET salary = 200 WHERE name = 'ann'")
    clock.advance(HOUR)
    with db.transaction() as tx:
        tx.sql(
            "UPDATE emp SET salary = salary + 1; DELETE FROM emp WHERE name = 'bob'; INSERT INTO emp VALUES ('cid', 9)"
        )
    return db


def test_changes_of_a_table_over_an_interval(db: Database) -> None:
    query = "SELECT old.name AS was, old.salary, new.name, new.salary FROM CHANGES(emp, since => {})"
    assert {tuple(row.values()) for row in db.query(query.format(2)).rows()} == {
        (None, None, "cid", 9),
        ("ann", 100, "ann", 201),
        ("bob", 100, None, None),
    }
    late = query.format("TIMESTAMP '1970-01-01 01:00:00'")
    assert {row["was"]: row["old_salary"] for row in db.query(late).rows()} == {None: None, "ann": 200, "bob": 100}
    assert db.sql(late).rows() == db.query(late).rows()  # type: ignore[union-attr]


def test_an_interval_may_end_before_the_present(db: Database) -> None:
    query = "SELECT new.name, new.salary FROM CHANGES(emp, since => 2, until => '1970-01-01 01:30:00')"
    assert db.query(query).rows() == [{"name": "ann", "salary": 200}]
    assert db.query("SELECT new.* FROM CHANGES(emp, since => 2)", as_of=3_600_000_000).rows() == [
        {"name": "ann", "salary": 200}
    ]


def test_an_interval_may_be_counted_from_now(db: Database, clock: ManualClock) -> None:
    clock.advance(timedelta(minutes=30))
    recent = "SELECT old.salary FROM CHANGES(emp, since => now() - INTERVAL {}) WHERE old.name = 'ann'"
    assert db.query(recent.format("1 HOUR")).rows() == [{"old_salary": 200}]
    assert db.query(recent.format("100 MINUTES")).rows() == [{"old_salary": 100}]
    assert db.query("SELECT 1 AS one FROM CHANGES(emp, since => current_date())").rows() == [{"one": 1}] * 2


def test_changes_of_views_and_queries_join_with_tables_as_they_are(db: Database) -> None:
    query = """
        SELECT d.floor, r.new.salary FROM CHANGES(rich, name, since => 2) AS r JOIN dept d ON d.name = r.new.name
        WHERE EXISTS (SELECT 1 FROM CHANGES((SELECT count(*) AS n FROM emp), since => 2) AS c
                      WHERE c.new_n = 3 AND n = 1)"""
    assert db.query(query.replace("AND n = 1", "")).rows() == []
    db.sql("INSERT INTO emp VALUES ('dan', 1)")
    assert db.query(query.replace("n = 1", "c.old.n = 1")).rows() == []
    assert db.query(query.replace("AND n = 1", "")).rows() == [{"floor": 3, "salary": 201}]


def test_pairs_are_those_of_the_two_states(clock: ManualClock) -> None:
    random = Random(1)
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (k INT PRIMARY KEY, v INT); CREATE TABLE seen (x INT)")
        states: list[dict[int, Any]] = [{}]
        db.sql("INSERT INTO seen VALUES (0)")
        times = [db.time]
        for _ in range(15):
            with db.transaction() as tx:
                tx.sql(f"DELETE FROM t WHERE k = {random.randint(0, 3)}")
                value = random.choice(("NULL", "1", "2"))
                tx.sql(
                    f"MERGE INTO t USING (VALUES ({random.randint(0, 3)}, {value})) AS s(k, v) ON t.k = s.k "
                    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
                )
            times.append(db.time)
            states.append({row["k"]: row["v"] for row in db.query("t").rows()})
        for _ in range(30):
            a, b = sorted(random.sample(range(len(times)), 2))
            rows = db.query(f"SELECT * FROM CHANGES(t, since => {times[a]}, until => {times[b]})").rows()
            expected = Counter(
                (k if k in states[a] else None, states[a].get(k), k if k in states[b] else None, states[b].get(k))
                for k in states[a].keys() | states[b].keys()
                if (k in states[a], states[a].get(k)) != (k in states[b], states[b].get(k))
            )
            assert Counter(tuple(row.values()) for row in rows) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT * FROM CHANGES(emp)", InvalidExpression),
        ("SELECT * FROM CHANGES(emp, until => 3)", InvalidExpression),
        ("SELECT * FROM CHANGES(emp, since => 1, since => 2)", InvalidExpression),
        ("SELECT * FROM CHANGES(emp, since => 1, per => 2)", InvalidExpression),
        ("SELECT * FROM CHANGES(emp, since => true)", InvalidExpression),
        ("SELECT * FROM CHANGES(emp, since => 'yesterday')", InvalidExpression),
        ("SELECT * FROM CHANGES(emp, since => NULL)", InvalidExpression),
        ("SELECT * FROM CHANGES(emp, since => salary)", UnknownColumn),
        ("SELECT * FROM CHANGES(emp, since => 2, until => 1)", InvalidInterval),
        ("SELECT * FROM CHANGES(emp, since => 2, until => 99000000000)", InvalidInterval),
        ("SELECT nobody FROM CHANGES(emp, since => 2)", UnknownColumn),
    ],
)
def test_what_is_no_interval_is_refused(db: Database, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        db.query(text)


def test_views_and_rules_have_no_interval(db: Database) -> None:
    with pytest.raises(UnsupportedConstruct) as refused:
        db.sql("CREATE VIEW v AS SELECT new.name FROM CHANGES(emp, since => 1)")
    assert refused.value.parameters["construct"] == "CHANGES"
    with pytest.raises(InvalidRule):
        db.sql("CREATE RULE r WHEN SELECT new.name FROM CHANGES(emp, since => 1) DO NOTIFY 'x'")
    assert not db.query("SELECT name FROM tidings.rules").rows()


@pytest.mark.spark
def test_on_spark(spark: Any, clock: ManualClock) -> None:
    with tidings.open(spark=spark, clock=clock) as db:
        filled(db, clock)
        changes = "CHANGES(emp, since => TIMESTAMP '1970-01-01 00:30:00')"
        assert db.query(f"SELECT old.salary, new.salary FROM {changes} WHERE new.name = 'ann'").rows() == [
            {"old_salary": 100, "salary": 201}
        ]


@pytest.mark.parametrize("ask", ["query", "sql", "inside"])
def test_the_clock_says_the_instant_of_the_question(ask: str) -> None:
    clock = tidings.ManualClock("2026-01-02 12:00:00")
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE bill (id INT, due DATE); INSERT INTO bill VALUES (1, DATE '2026-01-01'), (2, NULL)")
        db.sql("CREATE VIEW late AS SELECT id FROM bill WHERE due < current_date()")

        def rows(text: str) -> list[dict[str, Any]]:
            if ask == "inside":
                with db.transaction() as tx:
                    assert tx.query(text).rows() == tx.sql(text).rows()  # type: ignore[union-attr]
                    return tx.query(text).rows()
            return (db.query(text) if ask == "query" else db.sql(text)).rows()  # type: ignore[union-attr]

        assert rows("SELECT id, datediff(current_date(), due) AS days FROM bill ORDER BY id") == [
            {"id": 1, "days": 1},
            {"id": 2, "days": None},
        ]
        (row,) = rows("SELECT now() AS now, date_trunc('month', now()) AS month, count(*) AS n FROM late")
        assert (row["now"].date(), row["month"].day, row["n"]) == (date(2026, 1, 2), 1, 1)
        clock.advance(timedelta(days=1))
        (row,) = rows("SELECT current_date, (SELECT max(hour(now())) FROM late) AS hour")
        assert list(row.values()) == [date(2026, 1, 3), 12]
        with pytest.raises(NonDeterministic, match="rand"):
            rows("SELECT now() AS now, rand() AS r")
        with pytest.raises(NonDeterministic, match="now"):
            db.changes("SELECT id, now() AS seen FROM bill")


def test_the_clock_of_an_earlier_instant() -> None:
    clock = tidings.ManualClock("2026-01-02")
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        loaded = db.time
        clock.advance(timedelta(days=1))
        db.sql("DELETE FROM t")
        assert db.query("SELECT a, day(now()) AS day FROM t", as_of=loaded).rows() == [{"a": 1, "day": 2}]
        with pytest.raises(InvalidInterval, match="future"):
            db.query("SELECT now() AS x", as_of="2027-01-01")
