"""Interrupts, forks and what is asked of a database that was closed."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tidings
from tidings import Database
from tidings.errors import DamagedFile, DatabaseClosed, DatabaseForked, DatabaseInDoubt, DatabaseMissing
from tidings.store.catalog import catalog_journal
from tidings.store.snapshots import FileSnapshots

SCHEMA = """
    CREATE TABLE t (k BIGINT PRIMARY KEY, x INT);
    CREATE MATERIALIZED VIEW v WITH (refresh = 'immediate') AS SELECT count(*) AS c, sum(x) AS s FROM t;
    CREATE RULE r WHEN SELECT k FROM t WHERE x > 5 DO NOTIFY 'c'
"""
RECOMPUTED = "SELECT count(*) AS c, sum(x) AS s FROM t"


def opened(path: Path) -> Database:
    return tidings.open(path, engine="duckdb")


def point() -> Callable[[str], None]:
    """What the journal calls at places worth dying at."""
    called: Callable[[str], None] = vars(catalog_journal)["point"]
    return called


def interrupted_at(name: str, real: Callable[[str], None]) -> Callable[[str], None]:
    def passing(passed: str) -> None:
        if passed == name:
            raise KeyboardInterrupt
        real(passed)

    return passing


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO t VALUES (2, 7)", "CREATE TABLE u (a INT)", "DROP VIEW v", "ALTER TABLE t ADD COLUMN y INT"],
)
def test_an_interrupt_after_the_point_of_no_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    db, real = opened(tmp_path), point()
    db.sql(SCHEMA)
    db.sql("INSERT INTO t VALUES (1, 10)")
    for name in ("commit.done", "define.done", "undefine.done", "redefine.done"):
        monkeypatch.setattr(catalog_journal, "point", interrupted_at(name, point()))
    with pytest.raises(KeyboardInterrupt):
        db.sql(statement)
    monkeypatch.setattr(catalog_journal, "point", real)
    for call in (lambda: db.sql("INSERT INTO t VALUES (2, 5)"), lambda: db.query("t"), lambda: db.transaction()):
        with pytest.raises(DatabaseInDoubt):
            call()
    db.close()
    with opened(tmp_path) as db:
        assert len(db.query("t")) == (2 if statement.startswith("INSERT") else 1)
        if not statement.startswith("DROP"):
            assert db.query("v").rows() == db.query(RECOMPUTED).rows()


@pytest.mark.parametrize("name", ["commit.files", "commit.logged", "commit.written"])
def test_an_interrupt_before_it_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with opened(tmp_path) as db:
        db.sql(SCHEMA)
        monkeypatch.setattr(catalog_journal, "point", interrupted_at(name, point()))
        with pytest.raises(KeyboardInterrupt):
            db.sql("INSERT INTO t VALUES (2, 7)")
        monkeypatch.undo()
        assert len(db.query("t")) == 0
        db.sql("INSERT INTO t VALUES (2, 7)")
        assert db.query("v").rows() == db.query(RECOMPUTED).rows()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_any_moment(tmp_path: Path) -> None:
    """Whatever is going on when one comes: no commit that was acknowledged is lost, and views equal their queries."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous, chance = signal.signal(signal.SIGALRM, interrupt), random.Random(4)
    acknowledged: set[int] = set()
    number = interrupts = 0
    try:
        db = opened(tmp_path)
        db.sql(SCHEMA)
        for _ in range(25):
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.001, 0.06))
                try:
                    for _ in range(20):  # one that comes while something is being freed is lost
                        number += 1
                        db.sql(f"INSERT INTO t VALUES ({number}, {number % 11})")
                        acknowledged.add(number)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except (KeyboardInterrupt, DatabaseInDoubt):
                interrupts += 1
            if chance.random() < 0.4 or db._mutex.refusal is not None:
                db.close()
                db = opened(tmp_path)
            present = {row["k"] for row in db.query("t").rows()}
            assert acknowledged <= present
            assert db.query("v").rows() == db.query(RECOMPUTED).rows()
        db.close()
        assert interrupts > 10
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


CALLS: dict[str, Callable[[Database], Any]] = {
    "sql": lambda db: db.sql("INSERT INTO t VALUES (3, 3)"),
    "amosql": lambda db: db.amosql("select 1;"),
    "datalog": lambda db: db.datalog("p(X) :- t(X, _)."),
    "query": lambda db: db.query("t"),
    "changes": lambda db: db.changes("t"),
    "subscribe": lambda db: db.subscribe("t"),
    "unsubscribe": lambda db: db.unsubscribe("s"),
    "transaction": lambda db: db.transaction(),
    "load": lambda db: db.load("t", None),
    "advance": lambda db: db.advance(),
    "refresh": lambda db: db.refresh("v"),
    "status": lambda db: db.status(),
    "reload": lambda db: db.reload(),
    "fold": lambda db: db.fold(),
    "vacuum": lambda db: db.vacuum(),
    "explain": lambda db: db.explain("v"),
    "explain_rule": lambda db: db.explain_rule("r"),
    "check": lambda db: db.check(),
    "expression": lambda db: db.expression("t"),
    "to_spark": lambda db: db.to_spark("t"),
    "waves": lambda db: db.waves(),
    "tables": lambda db: db.tables(),
    "views": lambda db: db.views(),
    "rules": lambda db: db.rules(),
    "schema": lambda db: db.schema("t"),
    "backtest": lambda db: db.backtest("r"),
    "signal": lambda db: db.signal("e", [(1,)]),
    "start": lambda db: db.start(),
    "time": lambda db: db.time,
    "deliveries": lambda db: db.deliveries,
    "metrics": lambda db: db.metrics(),
    "export_metrics": lambda db: db.export_metrics(),
    "backup": lambda db: db.backup("never made"),
}
NOT_CALLS = {"close", "stop", "interrupt", "procedure", "foreign", "function", "functions", "operator"}
"""What ends a database or its statements, and what adds functions to it."""


def refusal(call: Callable[[Database], Any], db: Database) -> type[Exception] | None:
    try:
        call(db)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_closed_database_refuses_everything(tmp_path: Path, in_memory: bool) -> None:
    db = tidings.open(None if in_memory else tmp_path, engine="duckdb")
    db.sql(SCHEMA)
    deliveries, subscription, transaction = db.deliveries, db.subscribe("t"), db.transaction()
    transaction.insert("t", [(1, 1)])
    db.close()
    calls = {**CALLS, "entries": lambda _: deliveries.entries(), "step": lambda _: deliveries.step()}
    calls |= {"next": lambda _: next(subscription), "commit": lambda _: transaction.commit()}
    calls |= {"insert": lambda _: transaction.insert("t", [(2, 2)])}
    assert {name: refusal(call, db) for name, call in calls.items()} == dict.fromkeys(calls, DatabaseClosed)
    db.close()
    if not in_memory:
        with opened(tmp_path) as db:
            assert db.query("t").rows() == []


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ADD COLUMN y INT",
        "CREATE MATERIALIZED VIEW w AS SELECT k FROM t",
        "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k FROM t",
    ],
)
def test_what_is_recorded_and_cannot_be_read_back_puts_the_database_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    db = opened(tmp_path)
    db.sql(SCHEMA)
    db.sql("INSERT INTO t VALUES (1, 10)")
    db.fold()
    monkeypatch.setattr(FileSnapshots, "attach", refuse)
    with pytest.raises(DatabaseInDoubt):
        db.sql(statement)
    with pytest.raises(DatabaseInDoubt):
        db.query("t")
    db.close()
    monkeypatch.undo()
    with opened(tmp_path) as db:
        assert db.query("SELECT k FROM t").rows() == [{"k": 1}]
        assert db.check() == []
        db.sql(statement.replace("ADD COLUMN y", "ADD COLUMN z").replace("VIEW w", "VIEW another"))


def test_a_folder_that_cannot_be_read_refuses_an_alteration_before_anything_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: object, *, recursive: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    with opened(tmp_path) as db:
        db.sql(SCHEMA)
        db.sql("INSERT INTO t VALUES (1, 10)")
        db.fold()
        with monkeypatch.context() as patch:
            patch.setattr("tidings.store.files.entries", refuse)
            with pytest.raises(DamagedFile):
                db.sql("ALTER TABLE t ADD COLUMN y INT")
        assert db.query("t").rows() == [{"k": 1, "x": 10}]
        db.sql("ALTER TABLE t ADD COLUMN y INT")


def test_every_method_of_a_database_is_among_them() -> None:
    public = {name for name in dir(Database) if not name.startswith("_")}
    assert public == {*CALLS, *NOT_CALLS, "why", "why_not"} & public
    assert set(CALLS) <= public


def test_a_forked_process_cannot_use_it_and_does_not_hold_its_lock(tmp_path: Path) -> None:
    db = opened(tmp_path)
    db.sql(SCHEMA)
    told, tell = os.pipe()
    ended, end = os.pipe()
    child = os.fork()
    if child == 0:
        refused = 0
        for call in CALLS.values():
            try:
                call(db)
            except DatabaseForked:
                refused += 1
        db.close()
        os.write(tell, bytes([refused]))
        os.close(end)
        os.read(ended, 1)
        os._exit(0)
    assert os.read(told, 1)[0] == len(CALLS)
    db.sql("INSERT INTO t VALUES (1, 1)")
    db.close()
    with opened(tmp_path) as db:
        assert db.query("v").rows() == db.query(RECOMPUTED).rows()
    os.close(end)
    os.waitpid(child, 0)
    for handle in (told, tell, ended):
        os.close(handle)


def test_a_reader_that_comes_while_the_database_is_made(tmp_path: Path) -> None:
    (tmp_path / "catalog.sqlite").touch()
    with pytest.raises(DatabaseMissing):
        tidings.open(tmp_path, engine="duckdb", read_only=True)
