"""A thread advances a database: after commits, when something is due, and whatever goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import pytest

import tidings
from tests.unit.eventually import LONG, eventually
from tidings import Database, DeliverySettings, ManualClock, RetryPolicy
from tidings.errors import DatabaseClosed, ReadOnly
from tidings.front.maintenance import Maintenance
from tidings.worker_thread import Backoff, WorkerStatus

SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    """Links that are up or down, and a place for what rules do; the clock is moved by hand."""
    settings = DeliverySettings(policy=RetryPolicy(jitter=0))
    with tidings.open(engine="duckdb", clock=clock, deliveries=settings) as database:
        database.sql("""
            CREATE TABLE link (name STRING PRIMARY KEY, up BOOLEAN);
            CREATE TABLE alarm (name STRING);
            INSERT INTO link VALUES ('a', true), ('b', true);
        """)
        database._parts.background._worker.backoff = Backoff(0.001, 0.001)
        yield database


def alarms(db: Database) -> list[str]:
    return sorted(row["name"] for row in db.query("alarm").rows())


def is_idle(db: Database) -> bool:
    """Whether the thread has done everything there is to do now."""
    runner = db._parts.background
    with runner.mutex:
        return not runner._is_pending and not runner.wakeup.is_set()


ALARM = "CREATE RULE down WHEN SELECT name FROM link WHERE NOT up DO INSERT INTO alarm SELECT name FROM condition"
DOWN = "UPDATE link SET up = false WHERE name = 'a'"


@pytest.mark.parametrize("options", ["", " WITH (condition = 'detached', action = 'immediate')"])
def test_a_detached_rule_fires_after_a_commit(db: Database, options: str) -> None:
    db.start()
    db.sql(ALARM + options)
    db.sql(DOWN)
    eventually(lambda: alarms(db) == ["a"])


def test_a_stored_view_follows_commits(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM link WHERE up")
    db.start()
    db.sql(DOWN)
    eventually(lambda: db.status().view("n").position == db.time)


def test_what_waited_before_the_start_is_done(db: Database) -> None:
    db.sql(ALARM)
    db.sql(DOWN)
    db.start()
    eventually(lambda: alarms(db) == ["a"])


def test_a_deadline_of_an_instance_is_met(db: Database, clock: ManualClock) -> None:
    db.sql(ALARM + " WITH (for = INTERVAL 5 MINUTES)")
    db.start()
    db.sql(DOWN)
    eventually(lambda: is_idle(db))
    assert db._parts.background._due == db.time + 300 * 1_000_000
    clock.advance(timedelta(minutes=4))
    eventually(lambda: is_idle(db))
    assert alarms(db) == []
    clock.advance(timedelta(minutes=2))
    eventually(lambda: alarms(db) == ["a"])


def test_a_tick_of_a_rule_is_met(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE RULE hourly ON EVERY INTERVAL 1 HOUR WHEN SELECT name FROM link DO INSERT INTO alarm"
           " SELECT name FROM condition")  # fmt: skip
    db.start()
    eventually(lambda: is_idle(db))
    clock.advance(timedelta(hours=1))
    eventually(lambda: alarms(db) == ["a", "b"])


def test_what_reads_the_clock_is_brought_up_to_date(db: Database, clock: ManualClock) -> None:
    db.sql("""
        CREATE TABLE job (name STRING, due TIMESTAMP);
        CREATE MATERIALIZED VIEW late AS SELECT name FROM job WHERE due < now();
        CREATE RULE lateness WHEN SELECT name FROM job WHERE due < now()
          DO INSERT INTO alarm SELECT name FROM condition;
        INSERT INTO job VALUES ('j', TIMESTAMP '2026-01-02 00:00:00')
    """)
    db.start()
    eventually(lambda: is_idle(db))
    position = clock.advance(timedelta(days=2))
    eventually(lambda: alarms(db) == ["j"])
    reached = db.status().view("late").position
    assert reached is not None
    assert reached >= position


def test_gathered_messages_are_sent(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE RULE down WHEN SELECT name FROM link WHERE NOT up DO NOTIFY 'x'"
           " WITH (group_by = (), group_wait = INTERVAL 1 MINUTE)")  # fmt: skip
    db.start()
    db.sql(DOWN)
    eventually(lambda: is_idle(db))
    assert db.deliveries.entries() == []
    clock.advance(timedelta(minutes=2))
    eventually(lambda: len(db.deliveries.entries()) == 1)


def test_actions_that_failed_are_tried_again(db: Database, clock: ManualClock) -> None:
    calls, fails = list[Any](), [True]

    @db.procedure("call")
    def call(rows: Any) -> None:
        calls.append(rows)
        if fails[0]:
            raise ConnectionError("no line")

    db.sql("CREATE RULE down WHEN SELECT name FROM link WHERE NOT up DO CALL call(name)")
    db.start()
    db.sql(DOWN)
    eventually(lambda: [(f.rule, f.error) for f in db.status().failing_rules] == [("down", "ConnectionError: no line")])
    fails[0] = False
    clock.advance(5 * SECOND)
    eventually(lambda: db.status().failing_rules == ())
    assert len(calls) == 2
    db.sql("UPDATE link SET up = false WHERE name = 'b'")
    eventually(lambda: len(calls) == 3)


def test_an_action_runs_once_its_procedure_is_there(db: Database) -> None:
    db.sql("CREATE RULE down WHEN SELECT name FROM link WHERE NOT up DO CALL call(name)")
    db.start()
    db.sql(DOWN)
    eventually(lambda: db.status().failing_rules)
    called = Event()
    db.procedure("call")(lambda rows: called.set())
    assert called.wait(LONG)


def test_dead_actions_are_tried_again_when_asked_for(clock: ManualClock) -> None:
    settings, calls = DeliverySettings(policy=RetryPolicy(attempts=1)), list[Any]()
    with tidings.open(engine="duckdb", clock=clock, deliveries=settings) as db:

        @db.procedure("call")
        def call(rows: Any) -> None:
            calls.append(rows)
            if len(calls) == 1:
                raise ConnectionError("no line")

        db.sql("CREATE TABLE t (a INT); CREATE RULE r WHEN SELECT a FROM t DO CALL call(a); INSERT INTO t VALUES (1)")
        db.start()
        eventually(lambda: db.deliveries.dead())
        db.deliveries.redeliver(db.deliveries.dead()[0].message.id)
        eventually(lambda: len(calls) == 2)


def test_what_is_independent_of_a_commit_runs_without_one(db: Database) -> None:
    db.sql(ALARM + " WITH (condition = 'immediate', action = 'detached independent')")
    db.start()
    eventually(lambda: is_idle(db))
    tx = db.transaction()
    tx.sql(DOWN)
    tx.rollback()
    eventually(lambda: alarms(db) == ["a"])


def test_a_condition_that_fails_is_shown_and_tried_again(db: Database, clock: ManualClock) -> None:
    db.sql("""
        CREATE TABLE number (name STRING PRIMARY KEY, text STRING);
        CREATE RULE big WHEN SELECT name FROM number WHERE CAST(text AS INT) > 5
          DO INSERT INTO alarm SELECT name FROM condition WITH (condition = 'detached');
    """)
    db.sql(ALARM)
    db.start()
    db.sql("INSERT INTO number VALUES ('n', 'six')")
    eventually(lambda: [f.rule for f in db.status().failing_rules] == ["big"])
    db.sql(DOWN)
    eventually(lambda: alarms(db) == ["a"])
    eventually(lambda: is_idle(db))
    assert db._parts.background._due is not None
    assert db.status().runner == WorkerStatus(running=True)


def test_an_error_is_shown_and_the_thread_goes_on(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    advance, failures = Maintenance.advance, [OSError("full"), OSError("full")]
    seen: list[WorkerStatus] = []

    def failing(self: Maintenance) -> int:
        if current_thread().name == "tidings-runner":
            seen.append(db.status().runner)
            if failures:
                raise failures.pop()
        return advance(self)

    monkeypatch.setattr(Maintenance, "advance", failing)
    db.sql(ALARM)
    db.sql(DOWN)
    db.start()
    eventually(lambda: alarms(db) == ["a"])
    assert [(s.error, s.failures) for s in seen[:3]] == [(None, 0), ("OSError: full", 1), ("OSError: full", 2)]
    eventually(lambda: db.status().runner == WorkerStatus(running=True))


def test_start_and_stop_may_be_repeated(db: Database) -> None:
    db.stop()
    db.start()
    db.start()
    assert db.status().runner.running
    db.stop()
    db.stop()
    assert not db.status().runner.running
    db.sql(ALARM)
    db.sql(DOWN)
    assert alarms(db) == []
    db.start()
    eventually(lambda: alarms(db) == ["a"])


def test_a_clock_is_not_listened_to_after_the_end(db: Database, clock: ManualClock) -> None:
    db.start()
    eventually(lambda: is_idle(db))
    db.stop()
    db._parts.background.wakeup.clear()
    clock.advance(SECOND)
    assert not db._parts.background.wakeup.is_set()


def test_the_end_is_clean_during_a_commit_storm(db: Database) -> None:
    db.sql("CREATE TABLE n (i INT PRIMARY KEY); CREATE MATERIALIZED VIEW total AS SELECT sum(i) AS s FROM n")
    db.sql("CREATE RULE each WHEN SELECT i FROM n DO INSERT INTO alarm SELECT CAST(i AS STRING) FROM condition")
    is_over, errors, committed = Event(), list[Exception](), [0, 0]

    def commit(which: int) -> None:
        try:
            while not is_over.is_set():
                with db.transaction() as tx:
                    tx.insert("n", [(2 * committed[which] + which,)])
                committed[which] += 1
        except Exception as error:
            errors.append(error)

    writers = [Thread(target=commit, args=(which,)) for which in (0, 1)]
    for writer in writers:
        writer.start()
    for expected in (5, 10, 15):
        db.start()
        eventually(partial(lambda n: len(alarms(db)) >= n, expected))
        db.stop()
        assert not db.status().runner.running
    is_over.set()
    for writer in writers:
        writer.join(LONG)
    assert errors == []
    db.advance()
    assert len(alarms(db)) == len(set(alarms(db))) == sum(committed)
    assert db.status().runner.error is None


def test_closing_ends_it(clock: ManualClock, tmp_path: Path) -> None:
    db = tidings.open(tmp_path, engine="duckdb", clock=clock)
    db.sql("CREATE TABLE t (a INT)")
    db.start()
    db.sql("INSERT INTO t VALUES (1)")
    db.close()
    assert not db._parts.background.status().running
    with pytest.raises(DatabaseClosed):
        db.start()
    with tidings.open(tmp_path, engine="duckdb", clock=clock) as again:
        again.start()
        assert again.query("t").rows() == [{"a": 1}]


def test_whoever_holds_the_lock_may_end_it(db: Database) -> None:
    @db.procedure("end")
    def end(rows: Any) -> None:
        db.stop()

    db.sql("CREATE RULE down WHEN SELECT name FROM link WHERE NOT up DO CALL end(name) WITH (action = 'deferred')")
    db.start()
    for _ in range(20):
        db.sql("UPDATE link SET up = true; UPDATE link SET up = false")
        assert not db.status().runner.running
        db.start()


def test_an_action_may_end_it(db: Database) -> None:
    @db.procedure("end")
    def end(rows: Any) -> None:
        db.stop()

    db.sql("CREATE RULE down WHEN SELECT name FROM link WHERE NOT up DO CALL end(name)")
    db.start()
    db.sql(DOWN)
    eventually(lambda: not db.status().runner.running)
    db.start()
    assert db.status().runner.running


def test_a_reader_follows_the_writer(tmp_path: Path) -> None:
    with tidings.open(tmp_path, engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT); CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t")
        with tidings.open(tmp_path, engine="duckdb", read_only=True) as reader:
            reader.start(poll=0.01)
            time = db.time
            with db.transaction() as tx:
                tx.insert("t", [(1,)])
            view = reader._parts.maintenance.views.stored
            eventually(lambda: view("n").until > time)
            with pytest.raises(ReadOnly):
                reader.sql("INSERT INTO t VALUES (2)")


def test_the_machines_clock(tmp_path: Path) -> None:
    with tidings.open(tmp_path, engine="duckdb") as db:
        db.start(poll=LONG)
        db.sql("""
            CREATE TABLE link (name STRING PRIMARY KEY, up BOOLEAN);
            CREATE TABLE alarm (name STRING);
            INSERT INTO link VALUES ('a', true);
        """)
        db.sql(ALARM + " WITH (for = INTERVAL 1 SECOND)")
        db.sql(DOWN)
        eventually(lambda: alarms(db) == ["a"])
