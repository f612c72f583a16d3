"""Statements end when their time is over or another thread says so; nothing is half done, and the database goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from typing import Any

import pytest

import tidings
from tests.unit.eventually import eventually
from tidings.errors import InvalidTimeout, StatementInterrupted, StatementTimeout, TidingsError
from tidings.running_statements import Cancelled, Statements, checkpoint, exempt, stopped_by
from tidings.settlement import Settlement

ENDLESS = "SELECT count(*) AS n FROM t a, t b, t c, t d, t e WHERE a.x + b.x + c.x + d.x + e.x = -1"
KEEP = "INSERT INTO kept VALUES (1)"
NEVER = 0.05


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (x INT); CREATE TABLE kept (x BIGINT)")
        with db.transaction() as tx:
            tx.insert("t", [(x,) for x in range(3000)])
        yield db


def interrupted(db: tidings.Database, call: Callable[[], object]) -> TidingsError | None:
    """What a call in another thread ends with when it is interrupted."""
    errors: list[TidingsError] = []

    def run() -> None:
        try:
            call()
        except TidingsError as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    eventually(lambda: db.interrupt() or not thread.is_alive(), "the statement")
    thread.join()
    return errors[0] if errors else None


CALLS: dict[str, Callable[[tidings.Database, float | None], object]] = {
    "query": lambda db, limit: db.query(ENDLESS, timeout=limit),
    "sql": lambda db, limit: db.sql(
        f"INSERT INTO kept VALUES (1); {ENDLESS}; INSERT INTO kept VALUES (2)", timeout=limit
    ),
    "changes": lambda db, limit: db.changes(ENDLESS, timeout=limit),
    "dml": lambda db, limit: db.sql(
        f"BEGIN; INSERT INTO kept VALUES (1); INSERT INTO kept {ENDLESS}; COMMIT", timeout=limit
    ),
    "view": lambda db, limit: db.sql(f"CREATE MATERIALIZED VIEW v AS {ENDLESS}", timeout=limit),
    "recursion": lambda db, limit: db.query(
        "WITH RECURSIVE r AS (SELECT 1L AS i UNION ALL SELECT i + 1 FROM r WHERE i > 0) SELECT max(i) AS m FROM r",
        timeout=limit,
    ),
}


@pytest.mark.parametrize("how", CALLS)
def test_a_statement_ends_when_its_time_is_over(db: tidings.Database, how: str) -> None:
    with pytest.raises(StatementTimeout) as ended:
        CALLS[how](db, NEVER)
    assert ended.value.parameters == {"seconds": "0.05"}
    _goes_on(db, 1 if how == "sql" else 0)


@pytest.mark.parametrize("how", CALLS)
def test_a_statement_ends_when_another_thread_says_so(db: tidings.Database, how: str) -> None:
    assert isinstance(interrupted(db, lambda: CALLS[how](db, None)), StatementInterrupted)
    _goes_on(db, None if how == "sql" else 0)


def _goes_on(db: tidings.Database, kept: int | None) -> None:
    assert kept is None or len(db.query("kept")) == kept
    before = len(db.query("kept"))
    assert "v" not in [row["name"] for row in db.views().rows()]
    db.sql("INSERT INTO kept VALUES (7); CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM kept")
    assert db.query("n").rows() == [{"n": before + 1}]
    assert db.check() == []


def test_a_transaction_goes_on_after_a_query_was_ended(db: tidings.Database) -> None:
    with db.transaction() as tx:
        tx.sql("INSERT INTO kept VALUES (1)")
        with pytest.raises(StatementTimeout):
            tx.query(ENDLESS, timeout=NEVER)
        with pytest.raises(StatementTimeout):
            tx.sql(f"INSERT INTO kept {ENDLESS}", timeout=NEVER)
        tx.sql("INSERT INTO kept VALUES (2)")
    assert sorted(row["x"] for row in db.query("kept").rows()) == [1, 2]


def test_a_commit_that_is_ended_has_not_been(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("CREATE TABLE t (x INT); CREATE TABLE go (x INT)")
        db.load("t", [(x,) for x in range(3000)])
        db.sql(
            f"CREATE RULE slow ON INSERT INTO go WHEN SELECT new.x FROM CHANGES(go) WHERE new.x IN ({ENDLESS})"
            " DO RAISE 'never' WITH (condition = 'immediate')"
        )
        with pytest.raises(StatementTimeout):
            db.sql("INSERT INTO go VALUES (1)", timeout=0.5)
        assert len(db.query("go")) == 0
        db.sql("DROP RULE slow; INSERT INTO go VALUES (2)")
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        assert db.query("go").rows() == [{"x": 2}]
        assert db.check() == []


def test_a_stored_view_is_not_marked_as_failed_when_its_wave_is_ended(db: tidings.Database) -> None:
    db.sql("CREATE TABLE u (x INT)")
    db.sql(f"CREATE MATERIALIZED VIEW slow AS {ENDLESS.replace('t ', 'u ')}")
    with db.transaction() as tx:
        tx.insert("u", [(x,) for x in range(3000)])
    with pytest.raises(StatementTimeout):
        db.query("slow", timeout=0.2)
    assert all(view.error is None for view in db.status().views)


def test_the_time_limit_of_the_database_holds_where_none_is_said() -> None:
    with tidings.open(engine="duckdb", timeout=0.2) as db:
        db.sql("CREATE TABLE t (x INT)")
        db.load("t", [(x,) for x in range(3000)])
        with pytest.raises(StatementTimeout):
            db.query(ENDLESS)
        assert db.query("SELECT count(*) AS n FROM t").rows() == [{"n": 3000}]


def test_waiting_for_another_statement_counts(db: tidings.Database) -> None:
    begun = Event()

    def slow() -> None:
        with db._mutex:
            begun.set()
            done.wait(30)

    done = Event()
    thread = Thread(target=slow)
    thread.start()
    begun.wait(30)
    with pytest.raises(StatementTimeout):
        db.query("t", timeout=NEVER)
    done.set()
    thread.join()
    assert len(db.query("t")) == 3000


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "1", True])
def test_what_is_no_time_limit_is_refused(db: tidings.Database, timeout: Any) -> None:
    with pytest.raises(InvalidTimeout):
        db.query("t", timeout=timeout)
    with pytest.raises(InvalidTimeout):
        tidings.open(engine="duckdb", timeout=timeout)


def test_what_runs_in_the_background_goes_on(db: tidings.Database) -> None:
    ran = Event()

    @db.procedure("slow")
    def slow(rows: Any, tx: tidings.Transaction) -> None:
        if current_thread() is not main_thread():
            assert db.interrupt() == 0
            tx.query("SELECT count(*) AS n FROM t a, t b WHERE a.x + b.x = -1")
            ran.set()

    db.sql("CREATE RULE r ON INSERT INTO kept WHEN SELECT new.x FROM CHANGES(kept) DO CALL slow(x)")
    db.start()
    db.sql("INSERT INTO kept VALUES (1)")
    assert ran.wait(30)
    db.stop()
    assert db.status().runner.error is None


def test_nothing_is_cancelled_between_the_disk_and_memory() -> None:
    settlement = Settlement()
    statements, stopped = Statements(settlement), Event()
    with statements.run():
        settlement.begin()
        with stopped_by(stopped.set):
            assert statements.interrupt() == 1
            eventually(lambda: statements._running[0].reason)
            checkpoint()
            assert not stopped.is_set()
        settlement.end()
        with exempt():
            checkpoint()
        with pytest.raises(Cancelled):
            checkpoint()
    assert statements.interrupt() == 0


RECORDING = {
    "of the clock": "SELECT count(*) AS n FROM t a, t b, t c, t d WHERE a.x + b.x + c.x + d.x = -1 "
    "AND now() > TIMESTAMP '2000-01-01'",
    "of a view that is behind": "SELECT count(*) AS n FROM kinds, t b, t c, t d WHERE b.x + c.x + d.x = -1",
    "of what is to be folded": "SELECT count(*) AS n FROM t a, t b, t c, t d WHERE a.x + b.x + c.x + d.x = -1",
}
"""Queries before whose answer something is recorded: an instant, a wave, a fold."""


@pytest.mark.parametrize("text", RECORDING.values(), ids=RECORDING)
@pytest.mark.parametrize("call", ["query", "sql", "changes"])
def test_a_query_that_has_recorded_something_can_be_ended(tmp_path: Path, text: str, call: str) -> None:
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        db.sql("CREATE TABLE t (x INT); CREATE MATERIALIZED VIEW kinds AS SELECT x, count(*) AS n FROM t GROUP BY x")
        with db.transaction() as tx:
            tx.insert("t", [(x % 1000,) for x in range(25_000)])
        with pytest.raises(StatementTimeout):
            getattr(db, call)(text, timeout=NEVER if call == "changes" else 2.0)
        assert interrupted(db, lambda: getattr(db, call)(text)) is not None
        assert len(db.query("kinds")) == 1000
        assert db.check() == []
