"""A query that takes long lets other threads read and commit, and its answer is of the state it began with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest

import tidings
from tests.unit.eventually import eventually
from tidings.errors import StatementInterrupted, StatementTimeout, TidingsError

SLOW = "SELECT count(*) AS n FROM t a, t b, t c, t d WHERE a.x + b.x + c.x + d.x = -1"
"""Never finished."""
AWHILE = "SELECT count(*) AS n FROM t a, t b, t c WHERE a.x + b.x + c.x >= 0"
"""Finished after a while, of 200 rows."""


class Asking:
    """A thread that asks something, and what came of it."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self.answer: object = None
        self.error: TidingsError | None = None
        self._ask = ask
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.answer = self._ask()
        except TidingsError as error:
            self.error = error

    def join(self) -> None:
        self._thread.join(120)
        assert not self._thread.is_alive()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()


@pytest.fixture(params=["memory", "folder", "folded"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tidings.Database]:
    folder = None if request.param == "memory" else tmp_path / "d"
    with tidings.open(folder, engine="duckdb") as db:
        db.sql("CREATE TABLE t (x INT); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
        with db.transaction() as tx:
            tx.insert("t", [(x,) for x in range(200)])
        if request.param == "folded":
            db.fold()
        yield db


def is_outside(db: tidings.Database) -> bool:
    return db._mutex._outside > 0


@pytest.mark.parametrize("way", ["query", "sql"])
def test_others_read_and_commit_beside_a_slow_query(way: str, db: tidings.Database) -> None:
    slow = Asking(lambda: db.query(SLOW) if way == "query" else db.sql(SLOW))
    eventually(lambda: is_outside(db))
    begun = monotonic()
    assert db.query("v").rows() == [{"n": 200}]
    db.sql("INSERT INTO t VALUES (200)")
    assert db.query("SELECT n FROM v").rows() == [{"n": 201}]
    assert len(db.changes("t")) == 201
    assert monotonic() - begun < 60
    assert not slow.is_done
    assert db.interrupt() == 1
    slow.join()
    assert isinstance(slow.error, StatementInterrupted)
    assert db.query("v").rows() == [{"n": 201}]


def test_an_answer_is_of_the_state_it_began_with(db: tidings.Database) -> None:
    db.sql("CREATE TABLE one (x INT); INSERT INTO one VALUES (1)")
    text = f"SELECT (SELECT count(*) FROM one) AS one, ({AWHILE}) AS n"
    asking = Asking(lambda: db.query(text).rows())
    while not asking.is_done:
        if is_outside(db):
            db.sql("INSERT INTO one VALUES (2); INSERT INTO t VALUES (7); DELETE FROM t WHERE x = 3")
            db.fold()
            db.vacuum()
            break
    asking.join()
    assert asking.error is None
    assert asking.answer == [{"one": 1, "n": 200**3}]
    assert db.query(text).rows() != asking.answer
    assert db.check() == []


def test_what_cannot_be_computed_aside_is_asked_again(db: tidings.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    asides = db._parts.backend._connection._asides  # type: ignore[attr-defined]
    for connection in asides:
        connection.close()
    Asking(lambda: db.query("t")).join()  # now there is another thread
    assert db.query(AWHILE).rows() == [{"n": 200**3}]
    assert db.sql(AWHILE).rows() == [{"n": 200**3}]  # type: ignore[union-attr]


def test_its_errors_are_those_of_any_query(db: tidings.Database) -> None:
    Asking(lambda: db.query("t")).join()
    with pytest.raises(TidingsError) as aside:
        db.query("SELECT 1 % (x - x) AS y FROM t")
    assert aside.value.condition in ("EngineFailed", "SparkNeeded")
    with pytest.raises(StatementTimeout):
        db.query(SLOW, timeout=0.3)
    assert db.query("v").rows() == [{"n": 200}]


def test_more_threads_than_there_is_room_for_take_turns(db: tidings.Database) -> None:
    asking = [Asking(lambda: db.query(AWHILE).rows()) for _ in range(6)]
    for each in asking:
        each.join()
    assert [each.answer for each in asking] == [[{"n": 200**3}]] * 6
    assert db._mutex._outside == 0


def test_closing_waits_for_answers(tmp_path: Path) -> None:
    db = tidings.open(tmp_path / "d", engine="duckdb")
    db.sql("CREATE TABLE t (x INT)")
    with db.transaction() as tx:
        tx.insert("t", [(x,) for x in range(200)])
    asking = Asking(lambda: db.query(AWHILE).rows())
    eventually(lambda: is_outside(db) or asking.is_done)
    db.close()
    assert asking.is_done or db._mutex._outside == 0
    asking.join()
    assert asking.answer == [{"n": 200**3}]


def test_a_thread_alone_keeps_the_lock(tmp_path: Path) -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (x INT)")
        with db._mutex:
            assert db._mutex.stepping_out() is None
        Asking(lambda: db.query("t")).join()
        with db._mutex:
            assert db._mutex.stepping_out() is not None
            with db._mutex:
                assert db._mutex.stepping_out() is None  # what is inside of something else
