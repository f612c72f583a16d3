"""A session given by the user stays as it was; what the engine cached is released."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import tidings
from tidings import Database, ManualClock
from tidings.front.choices import Engine

pytestmark = pytest.mark.spark

SCHEMA = """
    CREATE TABLE quantity (item BIGINT, qty INT);
    CREATE TABLE threshold (item BIGINT, lim INT);
    CREATE VIEW low AS SELECT q.item, q.qty FROM quantity q JOIN threshold t ON q.item = t.item WHERE q.qty < t.lim;
"""


def settings(session: Any) -> dict[str, str]:
    return {r.key: r.value for r in session.sql("SET").collect()}


def temporary_views(session: Any) -> set[str]:
    return {r.viewName for r in session.sql("SHOW VIEWS").collect() if r.isTemporary}


def base(rows: int) -> pa.Table:
    return pa.table({"item": pa.array(range(rows), pa.int64()), "lim": pa.array([5] * rows, pa.int32())})


def opened(spark: Any, engine: Engine = "spark") -> Database:
    session = spark if engine == "spark" else None
    db = tidings.open(engine=engine, spark=session, execution="spark", clock=ManualClock(1000))
    db.sql(SCHEMA)
    db.load("threshold", base(1000))
    return db


def put(db: Database, keys: int) -> list[tuple[Any, ...]]:
    """The view's delta after so many rows came, and after every third of them went again."""
    since = db.time
    with db.transaction() as tx:
        tx.insert("quantity", [(n, n % 10) for n in range(keys)])
    with db.transaction() as tx:
        tx.delete("quantity", [(n, n % 10) for n in range(0, keys, 3)])
    changes = db.changes("low", since=since, per_commit=True).rows()
    return [(*c.row.values(), c.time, c.weight) for c in changes]


def test_a_given_session_is_not_changed(spark: Any) -> None:
    given = spark.newSession()
    given.conf.set("spark.sql.session.timeZone", "Europe/Stockholm")
    given.conf.set("spark.sql.shuffle.partitions", "3")
    given.sql("SELECT 1 AS mine").createOrReplaceTempView("quantity")
    before = settings(given), temporary_views(given)
    with opened(given) as db:
        assert put(db, 3)
        assert (settings(given), temporary_views(given)) == before
        assert given.table("quantity").columns == ["mine"]
    assert (settings(given), temporary_views(given)) == before


def test_the_active_session_stays_the_users(spark: Any) -> None:
    given = spark.newSession()
    given.createDataFrame([(1,)], "x INT")
    with opened(given) as db:
        put(db, 3)
        active: Any = SparkSession.getActiveSession()
        assert active is given
    assert given.catalog.listTables() == []


def test_two_databases_in_one_session(spark: Any) -> None:
    with opened(spark) as one, opened(spark) as other:
        put(one, 2)
        assert len(one.query("quantity")) == 1
        assert len(other.query("quantity")) == 0
        put(other, 20)
        assert len(one.query("quantity")) == 1


def test_close_leaves_nothing_cached(spark: Any) -> None:
    persistent = spark.sparkContext._jsc.getPersistentRDDs
    before = persistent().size()
    db = opened(spark)
    put(db, 3)
    db.close()
    assert persistent().size() == before


def test_drop_leaves_nothing_cached(spark: Any) -> None:
    persistent = spark.sparkContext._jsc.getPersistentRDDs
    with opened(spark) as db:
        put(db, 3)
        loaded = persistent().size()
        db.sql("DROP VIEW low; DROP TABLE threshold")
        assert persistent().size() == loaded - 1


@pytest.mark.parametrize("keys", [7, 250])
def test_lists_of_keys_and_semi_joins_give_the_same(spark: Any, keys: int) -> None:
    """Up to a hundred changed rows become a list of keys, more a semi-join: the delta is DuckDB's either way."""
    with opened(spark) as on_spark, opened(spark, "duckdb") as on_duckdb:
        assert put(on_spark, keys) == put(on_duckdb, keys)


def test_a_large_delta_is_the_sum_of_small_ones(spark: Any) -> None:
    with opened(spark) as db:
        instants = [db.time]
        for first in range(0, 150, 50):
            with db.transaction() as tx:
                tx.insert("quantity", [(n, n % 10) for n in range(first, first + 50)])
            instants.append(db.time)
        whole = db.changes("low").rows()
        parts = [c for since, until in pairwise(instants) for c in db.changes("low", since, until).rows()]
        assert len(whole) == 75
        assert sorted(str(c.row) for c in whole) == sorted(str(c.row) for c in parts)


def test_a_spark_frame_as_base_and_as_rows(spark: Any) -> None:
    before = temporary_views(spark)
    with tidings.open(spark=spark) as db:
        db.sql(SCHEMA)
        db.load("threshold", spark.range(5).selectExpr("id AS item", "CAST(3 AS INT) AS lim"))
        with db.transaction() as tx:
            tx.insert("quantity", spark.range(2).selectExpr("id AS item", "CAST(id AS INT) AS qty"))
        assert sorted(r["item"] for r in db.query("low").rows()) == [0, 1]
        assert sorted(r["item"] for r in db.changes("low").additions()) == [0, 1]
    assert temporary_views(spark) == before


def test_large_bases_are_read_from_files(spark: Any) -> None:
    with tidings.open(spark=spark) as db:
        db.sql(SCHEMA)
        db.load("threshold", base(20_000))
        with db.transaction() as tx:
            tx.insert("quantity", [(19_999, 1), (20_000, 1)])
        assert db.changes("low").additions() == [{"item": 19_999, "qty": 1}]
