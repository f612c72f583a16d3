"""Waves over stored views: what they read, up to which instant, and what they tell of the past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.store.relation.view import StoredView

SECOND = 1_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=clock) as database:
        database.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE u (k INT, y INT); CREATE TABLE texts (s STRING)")
        yield database


def view(db: Database, name: str) -> StoredView:
    return next(v for v in db._parts.relations.stored() if v.name == name)


def rows(db: Database, text: str, as_of: int | None = None) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in db.query(text, as_of).rows()), key=str)


def told(db: Database, text: str, since: int = 0, until: int | None = None) -> list[tuple[str, int, int]]:
    delta = db.changes(text, since, until, per_commit=True)
    return sorted((str(tuple(c.row.values())), c.time, c.weight) for c in delta.rows())


PER_K = "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k"


def test_rows_of_before_are_there(db: Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 2), (1, 3)")
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}")
    assert rows(db, "per_k") == [(1, 2, 5)]


def test_reading_brings_up_to_date_what_is_read_and_no_more(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}; CREATE MATERIALIZED VIEW other AS SELECT y FROM u")
    db.sql("INSERT INTO t VALUES (1, 2); INSERT INTO u VALUES (1, 1)")
    assert rows(db, "SELECT n FROM per_k") == [(1,)]
    assert (view(db, "per_k").until, view(db, "other").until) == (db.time, 0)
    assert db.advance() == db.time
    assert view(db, "other").until == db.time


def test_stored_views_over_stored_views(db: Database) -> None:
    db.sql(f"""
        CREATE MATERIALIZED VIEW per_k AS {PER_K};
        CREATE VIEW large AS SELECT k, s FROM per_k WHERE s > 3;
        CREATE MATERIALIZED VIEW total AS SELECT count(*) AS groups, sum(s) AS s FROM large;
    """)
    db.sql("INSERT INTO t VALUES (1, 2), (2, 5)")
    first = db.time
    assert rows(db, "total") == [(1, 5)]
    assert view(db, "per_k").until == db.time
    db.sql("INSERT INTO t VALUES (1, 2)")
    db.advance()
    assert told(db, "total", first) == [("(1, 5)", 2, -1), ("(2, 9)", 2, 1)]


def test_a_wave_over_a_stored_view_reads_its_changes(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}")
    db.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(s) AS s FROM per_k; INSERT INTO t VALUES (1, 2)")
    assert "no-op" not in db.explain("total")
    assert "When per_k changes" in db.explain("total")


def test_changes_from_before_a_view_was_stored(db: Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 2)")
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}; INSERT INTO t VALUES (1, 3)")
    assert told(db, "per_k") == told(db, PER_K) != []
    assert rows(db, "per_k", as_of=0) == []
    assert rows(db, "per_k", as_of=1) == [(1, 1, 2)]


def test_an_instant_in_the_future_is_not_reached(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}; INSERT INTO t VALUES (1, 2)")
    assert rows(db, "per_k", as_of=10**9) == [(1, 1, 2)]
    assert told(db, "per_k", 0, 10**9) == told(db, PER_K)
    db.sql("INSERT INTO t VALUES (1, 2)")
    assert rows(db, "per_k") == [(1, 2, 4)]
    assert told(db, "per_k") == told(db, PER_K)


def test_two_levels_of_groups(db: Database) -> None:
    query = f"SELECT n, count(*) AS groups FROM ({PER_K}) AS g GROUP BY n"
    db.sql(f"CREATE MATERIALIZED VIEW by_size AS {query}")
    for values in ("(1, 1), (2, 1), (2, 1)", "(1, 1)", "(3, 3)"):
        db.sql(f"INSERT INTO t VALUES {values}")
    assert told(db, "by_size") == told(db, query)
    assert rows(db, "by_size") == [(1, 1), (2, 2)]


def test_time_passes_in_stored_views(clock: ManualClock, db: Database) -> None:
    db.sql("""
        CREATE TABLE due (k INT, ts TIMESTAMP);
        CREATE MATERIALIZED VIEW overdue AS SELECT k, count(*) AS n FROM due WHERE ts <= now() GROUP BY k;
        CREATE MATERIALIZED VIEW late AS SELECT sum(n) AS n FROM overdue;
        INSERT INTO due VALUES (1, TIMESTAMP '1970-01-01 00:00:10'), (1, TIMESTAMP '1970-01-01 00:00:20');
    """)
    assert (rows(db, "overdue"), rows(db, "late")) == ([], [(None,)])
    clock.set(15 * SECOND)
    assert db.advance() == 15 * SECOND
    assert rows(db, "late") == [(1,)]
    clock.set(30 * SECOND)
    assert (rows(db, "overdue"), rows(db, "late")) == ([(1, 2)], [(2,)])
    assert [(t, w) for _, t, w in told(db, "overdue")] == [(10 * SECOND, 1), (20 * SECOND, -1), (20 * SECOND, 1)]
    db.sql("INSERT INTO due VALUES (1, TIMESTAMP '1970-01-01 00:00:05')")
    assert rows(db, "late") == [(3,)]


def test_a_strict_view_goes_on_where_it_need_not_recompute(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k WITH (refresh = 'incremental strict') AS {PER_K}")
    assert view(db, "per_k").strict
    db.sql("INSERT INTO t VALUES (1, 2)")
    assert rows(db, "per_k") == [(1, 1, 2)]


def test_rows_loaded_below_a_stored_view(db: Database) -> None:
    db.sql(
        f"CREATE MATERIALIZED VIEW per_k AS {PER_K}; CREATE MATERIALIZED VIEW total AS SELECT sum(s) AS s FROM per_k"
    )
    db.sql("INSERT INTO u VALUES (1, 1)")
    assert rows(db, "total") == [(None,)]
    db.load("t", pa.table({"k": pa.array([1, 2], pa.int32()), "x": pa.array([3, 4], pa.int32())}))
    assert rows(db, "total") == [(7,)]
    db.sql("INSERT INTO t VALUES (1, 1)")
    assert (rows(db, "per_k"), rows(db, "total")) == ([(1, 2, 4), (2, 1, 4)], [(8,)])
    assert told(db, "total") == told(db, f"SELECT sum(s) AS s FROM ({PER_K}) AS g")


def test_many_instants_since_a_table_was_made_are_no_reason_to_recompute(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}")
    for n in range(20):
        db.sql(f"INSERT INTO t VALUES ({n}, 1), (0, 1)")
    assert "stored-aggregate merge" in db.explain("per_k", 0)
    assert told(db, "per_k") == told(db, PER_K)
