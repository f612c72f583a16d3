"""Subscriptions: a snapshot, then every change once; positions that are of no use are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import ChangeBatch, Database, ManualClock, errors

PER_K = "SELECT k, count(*) AS n FROM t GROUP BY k"
CAST = "SELECT CAST(s AS INT) AS n FROM texts"
SECOND = 1_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture(params=["memory", "folder"])
def db(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "db" if request.param == "folder" else None
    with tidings.open(path, engine="duckdb", clock=clock) as database:
        database.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE texts (s STRING)")
        yield database


def told(batch: ChangeBatch) -> tuple[int, bool, list[tuple[tuple[Any, ...], int]]]:
    changes = [(tuple(c.row.values()), c.weight) for c in batch.changes.rows()]
    return batch.time, batch.snapshot, sorted(changes, key=str)


def bag(batches: list[ChangeBatch]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        if batch.snapshot:
            found.clear()
        for change in batch.changes.rows():
            found[tuple(change.row.values())] += change.weight
    return Counter({row: n for row, n in found.items() if n})


def rows(db: Database, text: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(r.values()) for r in db.query(text).rows())


FORMS = {
    "table": ("", "t"),
    "view": (f"CREATE VIEW v AS {PER_K}", "v"),
    "stored": (f"CREATE MATERIALIZED VIEW v AS {PER_K}", "v"),
    "query": ("", PER_K),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_snapshot_and_then_every_change(db: Database, form: str) -> None:
    definition, text = FORMS[form]
    db.sql("INSERT INTO t VALUES (1, 1), (1, 2)")
    if definition:
        db.sql(definition)
    subscription = db.subscribe(text)
    first = list(subscription)
    assert [(b.time, b.snapshot) for b in first] == [(1, True)]
    assert list(subscription) == []
    db.sql("INSERT INTO t VALUES (2, 1)")
    db.sql("INSERT INTO texts VALUES ('x')")
    db.sql("DELETE FROM t WHERE x = 2")
    later = list(subscription)
    assert [(b.time, b.snapshot) for b in later] == [(2, False), (4, False)]
    assert bag(first + later) == rows(db, text)
    assert [told(b) for b in db.subscribe(text, since=first[0].time)] == [told(b) for b in later]
    assert [told(b) for b in db.subscribe(text, since=later[0].time)] == [told(later[1])]
    assert subscription.position == 4


def test_duplicates_in_a_snapshot(db: Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 1), (1, 1)")
    assert bag(list(db.subscribe("t"))) == {(1, 1): 2}


def test_several_subscribers(db: Database) -> None:
    early = db.subscribe("t")
    next(early)
    db.sql("INSERT INTO t VALUES (1, 1)")
    late = db.subscribe("t")
    assert [told(b) for b in late] == [(1, True, [((1, 1), 1)])]
    assert [told(b) for b in early] == [(1, False, [((1, 1), 1)])]


def test_time_passes(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE TABLE due (k INT, ts TIMESTAMP)")
    db.sql("CREATE MATERIALIZED VIEW overdue AS SELECT k FROM due WHERE ts <= now()")
    db.sql("INSERT INTO due VALUES (1, TIMESTAMP '1970-01-01 00:00:10'), (2, TIMESTAMP '1970-01-01 00:00:20')")
    subscription = db.subscribe("overdue")
    assert [told(b)[1:] for b in subscription] == [(True, [])]
    clock.set(15 * SECOND)
    assert [told(b) for b in subscription] == [(10 * SECOND, False, [((1,), 1)])]
    clock.set(30 * SECOND)
    assert [told(b) for b in subscription] == [(20 * SECOND, False, [((2,), 1)])]


def test_following_ends_after_a_while_without_news(db: Database) -> None:
    assert len(list(db.subscribe("t", follow=True, timeout=0.01))) == 1


def test_following_wakes_up_at_a_commit(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW v AS {PER_K}")
    got: list[ChangeBatch] = []

    def follow() -> None:
        for batch in db.subscribe("v", follow=True, timeout=30):
            got.append(batch)
            if batch.time == 5:
                return

    threads = [Thread(target=follow) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(5):
        db.sql(f"INSERT INTO t VALUES ({n}, 1)")
    for thread in threads:
        thread.join()
    assert got[-1].time == 5


def test_closing_ends_followers(clock: ManualClock) -> None:
    db = tidings.open(engine="duckdb", clock=clock)
    db.sql("CREATE TABLE t (k INT)")
    subscription = db.subscribe("t", follow=True)
    next(subscription)
    thread = Thread(target=list, args=(subscription,))
    thread.start()
    db.close()
    thread.join(30)
    assert not thread.is_alive()


# positions that are of no use


def refused(db: Database, text: str, since: int) -> None:
    with pytest.raises(errors.MustRefetch) as refusal:
        list(db.subscribe(text, since=since))
    assert refusal.value.parameters["since"] == since
    assert refusal.value.hint


def test_a_position_before_a_view_was_replaced(db: Database) -> None:
    db.sql("CREATE VIEW v AS SELECT k FROM t; CREATE MATERIALIZED VIEW w AS SELECT k FROM v WHERE k > 0")
    db.sql("INSERT INTO t VALUES (1, 2)")
    subscription = db.subscribe("v")
    list(subscription)
    db.sql("CREATE OR REPLACE VIEW v AS SELECT x AS k FROM t")
    for text in ("v", "w", "SELECT k FROM w"):
        refused(db, text, 1)
    with pytest.raises(errors.MustRefetch):
        list(subscription)
    (again,) = db.subscribe("w")
    assert bag([again]) == {(2,): 1}
    db.sql("INSERT INTO t VALUES (1, 3)")
    assert bag([again, *db.subscribe("w", since=again.time)]) == rows(db, "w") == {(2,): 1, (3,): 1}


def test_the_same_query_again_is_no_replacement(db: Database) -> None:
    db.sql("CREATE VIEW v AS SELECT k FROM t; INSERT INTO t VALUES (1, 2)")
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k FROM t; INSERT INTO t VALUES (2, 2)")
    assert [told(b) for b in db.subscribe("v", since=1)] == [(2, False, [((2,), 1)])]


def test_a_position_in_a_table_that_was_dropped(db: Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 1)")
    subscription = db.subscribe("t")
    (first,) = subscription
    db.sql("DROP TABLE t")
    with pytest.raises(errors.UnknownRelation):
        list(subscription)
    db.sql("CREATE TABLE t (k INT, x INT)")
    refused(db, "t", first.time)
    (again,) = db.subscribe("t")
    assert again.time > first.time
    assert list(db.subscribe("t", since=again.time)) == []


def test_a_position_before_a_load(db: Database) -> None:
    db.sql("INSERT INTO texts VALUES ('x')")
    (first,) = db.subscribe("t")
    db.load("t", pa.table({"k": pa.array([1], pa.int32()), "x": pa.array([1], pa.int32())}))
    refused(db, "t", first.time)


def test_a_position_before_a_column_was_added(db: Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 1)")
    (first,) = db.subscribe("t")
    db.sql("ALTER TABLE t ADD COLUMN z INT DEFAULT 7")
    refused(db, "t", first.time)
    (again,) = db.subscribe("t")
    assert bag([again]) == {(1, 1, 7): 1}


def test_a_position_from_the_future(db: Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 1)")
    refused(db, "t", 99)


def test_a_position_of_a_transaction_that_changed_nothing(db: Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 1)")
    with db.transaction() as tx:
        pass
    assert tx.time is not None
    assert list(db.subscribe("t", since=tx.time)) == []
    db.sql("INSERT INTO t VALUES (2, 1)")
    assert [b.time for b in db.subscribe("t", since=tx.time)] == [db.time]


@pytest.mark.parametrize("definition", [f"CREATE MATERIALIZED VIEW v AS {CAST}", f"CREATE VIEW v AS {CAST}"])
def test_a_view_that_had_no_answer_on_the_way(db: Database, definition: str) -> None:
    db.sql(definition)
    (start,) = db.subscribe("v")
    for text in ("1", "2", "x", "3"):
        db.sql(f"INSERT INTO texts VALUES ('{text}')")
    subscription = db.subscribe("v", since=start.time)
    got = [next(subscription), next(subscription)]
    assert [told(b) for b in got] == [(1, False, [((1,), 1)]), (2, False, [((2,), 1)])]
    with pytest.raises(errors.EngineFailed):
        next(subscription)
    db.sql("DELETE FROM texts WHERE s = 'x'")
    with pytest.raises(errors.MustRefetch):
        next(subscription)
    again = db.subscribe("v")
    first = list(again)
    assert bag(first) == {(1,): 1, (2,): 1, (3,): 1}
    db.sql("INSERT INTO texts VALUES ('4')")
    assert bag(first + list(again)) == rows(db, "v")


def test_a_position_older_than_what_is_retained(tmp_path: Path, clock: ManualClock) -> None:
    retention = timedelta(seconds=10)
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock, retention=retention) as db:
        db.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE u (k INT); CREATE VIEW v AS SELECT k FROM t")
        clock.set(SECOND)
        db.sql("INSERT INTO t VALUES (1, 1)")
        clock.set(2 * SECOND)
        db.sql("INSERT INTO t VALUES (2, 1)")
        clock.set(60 * SECOND)
        db.sql("INSERT INTO u VALUES (1)")
        db.fold()
        for text in ("t", "v", "SELECT x FROM t", PER_K):
            refused(db, text, SECOND)
        assert list(db.subscribe("v", since=2 * SECOND)) == []


# named subscriptions


def test_a_name_keeps_a_position(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "db"
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (k INT, x INT)")
        db.sql("INSERT INTO t VALUES (1, 1)")
        mailer = db.subscribe("t", name="mailer")
        assert next(mailer).snapshot
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        mailer = db.subscribe("t", name="mailer")
        assert next(mailer).snapshot, "the snapshot was not acknowledged"
        db.sql("INSERT INTO t VALUES (2, 1)")
        db.sql("INSERT INTO t VALUES (3, 1)")
        assert [b.time for b in (next(mailer), next(mailer))] == [2, 3]
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        (batch,) = db.subscribe("t", name="mailer")
        assert batch.time == 3
        assert list(db.subscribe("t", name="mailer")) == []
        db.sql("INSERT INTO t VALUES (4, 1)")
        next(db.subscribe("t", name="mailer")).ack()
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        assert list(db.subscribe("t", name="mailer")) == []
        with pytest.raises(errors.SubscriptionExists):
            db.subscribe("SELECT k FROM t", name="mailer")
        db.unsubscribe("mailer")
        assert next(db.subscribe("SELECT k FROM t", name="mailer")).snapshot


def test_a_quiet_subscription_moves_on_too(db: Database) -> None:
    list(db.subscribe("t", name="quiet"))
    db.sql("INSERT INTO texts VALUES ('x')")
    list(db.subscribe("t", name="quiet"))
    assert db._parts.storage.subscriptions()["quiet"].position == db.time


def test_a_name_may_be_put_elsewhere(db: Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 1)")
    list(db.subscribe("t", name="n"))
    assert [b.time for b in db.subscribe("t", 0, name="n")] == [1]
