"""A commit: what it calls, in which order, and what a failure leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from tidings import Database
from tidings.constraints.enforce import Enforcer
from tidings.errors import CheckViolated
from tidings.exclusive import Mutex
from tidings.store.fold import Folding
from tidings.store.storage import Storage
from tidings.waves.scheduler import Scheduler
from tidings.write.commit import Commits

STEPS = [
    (Enforcer, "check"),
    (Storage, "log"),
    (Scheduler, "advance_immediate"),
    (Folding, "step"),
]


@pytest.fixture
def called(db: Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of commits, as they are called."""
    steps: list[str] = []
    for owner, name in STEPS:
        original = getattr(owner, name)

        def noted(*args: Any, original: Any = original, name: str = name) -> Any:
            steps.append(name)
            return original(*args)

        monkeypatch.setattr(owner, name, noted)
    return steps


def commits_of(db: Database) -> Commits:
    return db._parts.loader.commits


def test_the_order_of_the_steps(db: Database, called: list[str]) -> None:
    with db.transaction() as tx:
        tx.insert("quantity", [(1, 2)])
        tx.insert("threshold", [(1, 5)])
        called.clear()
    assert called == ["check", "check", "log", "log", "advance_immediate", "step"]


def test_nothing_is_recorded_of_an_empty_transaction(db: Database, called: list[str]) -> None:
    assert commits_of(db).commit([]) == db.time == 1000
    assert called == []


def test_the_hook_is_part_of_the_commit(db: Database, called: list[str]) -> None:
    times: list[int] = []

    def hook(time: int) -> None:
        called.append("hook")
        times.append(time)

    time = commits_of(db).commit([], hook)
    assert times == [time] == [db.time]
    assert called == ["advance_immediate", "hook", "step"]


def test_a_hook_that_fails_undoes_everything(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW n WITH (refresh = 'immediate') AS SELECT count(*) AS n FROM quantity")
    with db.transaction() as tx:
        tx.insert("quantity", [(1, 2)])
    table, before = db._parts.relations.table("quantity"), db.time

    def hook(time: int) -> None:
        assert db._parts.timeline.time == time
        raise RuntimeError("boom")

    entry = table.entry(before + 1, db.query("quantity").to_arrow(), [1])
    with pytest.raises(RuntimeError, match="boom"):
        commits_of(db).record([(table, entry)], before + 1, lambda: hook(before + 1))
    assert db.time == before
    assert db.query("n").rows() == [{"n": 1}]
    assert len(db.query("quantity")) == 1


def test_checks_come_before_the_instant(db: Database) -> None:
    db.sql("CREATE TABLE t (a INT CHECK (a > 0))")
    with pytest.raises(CheckViolated):
        db.sql("INSERT INTO t VALUES (0)")
    assert db.time == 0


def test_signals_are_gone_at_the_next_instant(db: Database) -> None:
    db.sql("CREATE EVENT e (n INT)")
    time = db.signal("e", [(1,)])
    assert db.time == time + 1
    assert [(c.time, c.weight) for c in db.changes("e", per_commit=True)] == [(time, 1), (time + 1, -1)]


def test_those_who_wait_are_woken(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[int] = []
    news = db._parts.signals.news
    assert isinstance(db._parts.signals.mutex, Mutex)
    monkeypatch.setattr(news, "notify_all", lambda: woken.append(db.time))
    db.sql("INSERT INTO quantity VALUES (1, 1)")
    assert woken == [db.time]
