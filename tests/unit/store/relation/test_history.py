"""Rows that bring their instants: which are taken, which refused, and how the log holds them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.clock import instant
from tidings.errors import CheckViolated, DuplicateKey, InvalidRow, LateRow

NOW = 1_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


def define(db: Database, name: str, type: str = "timestamp") -> None:
    db.sql(f"CREATE TABLE {name} (x INT, ts {type}) WITH (append_only, time = ts)")


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    with tidings.open(tmp_path / "t.tidings", engine="duckdb", clock=clock) as database:
        define(database, "t")
        define(database, "u")
        yield database


def at(*times: int | None) -> list[dict[str, Any]]:
    return [{"x": n, "ts": None if t is None else instant(t)} for n, t in enumerate(times, 1)]


def told(db: Database, name: str = "t") -> list[tuple[int, int]]:
    return [(c.row["x"], c.time) for c in db.changes(name, per_commit=True).rows()]


def test_each_row_at_its_instant(db: Database) -> None:
    db.load("t", at(30, 10, 20, 10))
    assert told(db) == [(2, 10), (4, 10), (3, 20), (1, 30)]
    assert db.time == 30
    assert [len(db.query("t", as_of=n)) for n in (9, 10, 19, 20, 30)] == [0, 2, 2, 3, 4]


def test_one_entry_for_any_number_of_instants(db: Database) -> None:
    db.load("t", at(*range(1, 900)))
    (facts,) = db._parts.storage.journal.contents.log_facts(db._parts.relations.table("t").id)
    assert (facts.first, facts.last, facts.rows) == (1, 899, 899)


def test_more_history_follows(db: Database) -> None:
    db.load("t", at(10))
    db.load("t", at(20, 30))
    db.load("u", at(40))
    assert told(db) == [(1, 10), (1, 20), (2, 30)]
    with db.transaction() as tx:
        tx.insert("u", at(5))
    assert tx.time == NOW


def test_histories_that_overlap_are_loaded_together(db: Database) -> None:
    db.load({"t": at(10, 30), "u": at(20)})
    assert (told(db), told(db, "u"), db.time) == ([(1, 10), (2, 30)], [(1, 20)], 30)


def test_late_rows_are_refused(db: Database) -> None:
    db.load("t", at(10, 20))
    with pytest.raises(LateRow) as refused:
        db.load({"u": at(30), "t": at(30, 20, 5)})
    assert {k: refused.value.parameters[k] for k in ("row", "table")} == {"row": 2, "table": "t"}
    assert (told(db), told(db, "u")) == ([(1, 10), (2, 20)], [])


def test_late_rows_take_the_present_if_asked_to(db: Database) -> None:
    db.load("t", at(20))
    db.load("t", at(30, 10, 20), late="present")
    assert told(db) == [(1, 20), (1, 30), (2, NOW), (3, NOW)]
    with pytest.raises(InvalidRow):
        db.load("t", at(2_000), late="never")  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [at(10, NOW + 1), at(10, None)])
def test_rows_without_a_time_or_of_the_future(db: Database, rows: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidRow) as refused:
        db.load("t", rows)
    assert refused.value.parameters["row"] == 2
    assert told(db) == []


def test_what_was_told_stays_true(db: Database, clock: ManualClock) -> None:
    clock.set(50)
    assert db.query("SELECT x FROM t WHERE ts < now()").rows() == []
    clock.set(60)
    with pytest.raises(LateRow):
        db.load("t", at(50))
    db.load("t", at(51))


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("timestamp", datetime(1970, 1, 1, 0, 0, 0, 7, tzinfo=UTC)),
        ("timestamp_ntz", datetime(1970, 1, 1, 0, 0, 0, 7)),
        ("bigint", 7),
    ],
)
def test_types_of_times(db: Database, type: str, value: object) -> None:
    define(db, "v", type)
    db.load("v", [(1, value)])
    assert db.time == 7


def test_days_are_their_midnights(db: Database, clock: ManualClock) -> None:
    define(db, "v", "date")
    clock.set(datetime(2026, 1, 2, tzinfo=UTC))
    db.load("v", [(1, date(2026, 1, 1))])
    assert instant(db.time) == datetime(2026, 1, 1, tzinfo=UTC)


def test_tables_without_times_have_no_history(db: Database) -> None:
    db.sql("CREATE TABLE w (x INT)")
    with pytest.raises(InvalidRow):
        db.load({"w": [(1,)]})


def test_arrow_rows_by_name(db: Database) -> None:
    given = pa.table({"TS": pa.array([7, 5], pa.timestamp("us")), "X": pa.array([1, 2], pa.int64())})
    db.load("t", given)
    assert told(db) == [(2, 5), (1, 7)]
    db.load("t", given.slice(0, 0))
    assert db.time == 7
    with pytest.raises(InvalidRow) as refused:
        db.load("t", pa.table({"ts": pa.array([8], pa.timestamp("us")), "x": pa.array([2**40])}))
    assert refused.value.parameters["row"] == 1


def test_what_a_table_demands_counts(db: Database) -> None:
    db.sql("CREATE TABLE k (x INT PRIMARY KEY, ts TIMESTAMP, CHECK (x > 0)) WITH (append_only, time = ts)")
    db.load("k", at(10, 20))
    for rows in (at(40, 30), [{"x": 9, "ts": instant(50)}, {"x": -1, "ts": instant(40)}]):
        with pytest.raises((DuplicateKey, CheckViolated)) as refused:
            db.load("k", rows)
        assert refused.value.parameters["row"] in (1, 2)
    assert told(db, "k") == [(1, 10), (2, 20)]
    assert refused.value.parameters["row"] == 2


def test_stored_views_follow_each_instant(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t")
    db.load("t", at(10, 20, 20, 30))
    changes = [(c.row["n"], c.time, c.weight) for c in db.changes("n", per_commit=True).rows()]
    assert changes == [(0, 10, -1), (1, 10, 1), (1, 20, -1), (3, 20, 1), (3, 30, -1), (4, 30, 1)]


def test_the_same_row_twice_at_an_instant(db: Database) -> None:
    db.load("t", [{"x": 1, "ts": instant(5)}] * 2)
    assert [(c.time, c.weight) for c in db.changes("t", per_commit=True).rows()] == [(5, 2)]
