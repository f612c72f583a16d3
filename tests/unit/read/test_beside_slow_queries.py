"""Calls of one database take turns; a reader of the same folder has turns of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

import tidings
from tests.unit.eventually import eventually
from tidings import Database
from tidings.errors import StatementInterrupted, TidingsError

ENDLESS = "SELECT count(*) AS n FROM t a, t b, t c, t d WHERE a.x + b.x + c.x + d.x = -1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "t.tidings"
    with tidings.open(folder, engine="duckdb") as db:
        db.sql("CREATE TABLE t (x INT); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
        with db.transaction() as tx:
            tx.insert("t", [(n,) for n in range(3_000)])
        db.fold()
    return folder


@contextmanager
def busy(db: Database) -> Iterator[list[TidingsError]]:
    """A thread has a query running that does not end by itself; it is interrupted, and what it got is in the list."""
    got: list[TidingsError] = []

    def ask() -> None:
        try:
            db.query(ENDLESS)
        except TidingsError as error:
            got.append(error)

    thread = Thread(target=ask)
    thread.start()
    try:
        eventually(lambda: db._mutex.statements._running)
        yield got
        assert thread.is_alive(), "the query was to take longer"
    finally:
        eventually(lambda: db.interrupt() or not thread.is_alive())
        thread.join()


def test_a_slow_query_of_a_reader_holds_up_nobody(path: Path) -> None:
    with (
        tidings.open(path, engine="duckdb") as db,
        tidings.open(path, engine="duckdb", read_only=True) as slow,
        tidings.open(path, engine="duckdb", read_only=True) as quick,
    ):
        with busy(slow) as got:
            db.sql("INSERT INTO t VALUES (1)")
            db.advance()
            assert db.query("v").rows() == [{"n": 3_001}]
            assert quick.query("SELECT count(*) AS n FROM t").rows() == [{"n": 3_001}]
            assert got == []
        assert [type(error) for error in got] == [StatementInterrupted]
        assert slow.query("v").rows() == [{"n": 3_001}]
