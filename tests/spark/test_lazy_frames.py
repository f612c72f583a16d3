"""Answers as DataFrames that nobody has fetched: of one instant, in the session of the user, from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database
from tidings.engine.spark import bases, engine

pytestmark = pytest.mark.spark

ROWS = 60_000


@pytest.fixture
def session(spark: Any) -> Any:
    return spark.newSession()


@pytest.fixture
def db(session: Any, tmp_path: Path) -> Iterator[Database]:
    with tidings.open(tmp_path / "shop.tidings", spark=session, clock=tidings.ManualClock("2026-01-01")) as db:
        db.sql(
            "CREATE TABLE stock (sku BIGINT PRIMARY KEY, qty INT);"
            "CREATE VIEW low AS SELECT sku FROM stock WHERE qty < 2;"
            "CREATE MATERIALIZED VIEW pieces AS SELECT qty % 2 AS odd, sum(qty) AS pieces FROM stock GROUP BY qty % 2"
        )
        db.load("stock", session.range(ROWS).selectExpr("id AS sku", "CAST(id % 100 AS INT) AS qty"))
        db.sql(
            "UPDATE stock SET qty = 0 WHERE sku = 7; DELETE FROM stock WHERE sku = 8; INSERT INTO stock VALUES (-1, 1)"
        )
        yield db


TEXTS = [
    "stock",
    "low",
    "pieces",
    "SELECT sku, qty FROM stock WHERE qty = 99 ORDER BY sku DESC LIMIT 20",
    "SELECT s.qty, count(*) AS n FROM stock s LEFT JOIN low l USING (sku) GROUP BY s.qty",
    "WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT x FROM n",
    "tidings.tables",
    "SELECT count(*) AS n FROM stock WHERE TIMESTAMP '2020-01-01 00:00:00' < now()",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_frame_has_the_rows_of_the_query(db: Database, session: Any, text: str) -> None:
    frame = db.to_spark(text)
    answer = db.query(text)
    assert frame.sparkSession is session
    assert frame.columns == answer.columns
    rows = [tuple(row) for row in frame.collect()]
    expected = [tuple(row.values()) for row in answer]
    assert rows == expected if "ORDER BY" in text else sorted(map(str, rows)) == sorted(map(str, expected))


def test_nothing_is_fetched(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(*_: Any, **__: Any) -> Any:
        raise AssertionError("rows came to this process")

    monkeypatch.setattr(engine.Spark, "fetch", fetched)
    monkeypatch.setattr(engine, "arrow_rows", fetched)
    assert db.to_spark("SELECT sku FROM stock WHERE qty = :qty", params={"qty": 5}).count() == ROWS // 100


def test_it_stays_at_its_instant(db: Database) -> None:
    loaded = db.time
    before, low = db.to_spark("stock"), db.to_spark("low")
    counted = before.count(), low.count()
    db.sql("DELETE FROM stock WHERE sku > 100")
    db.fold()
    assert db.to_spark("stock").count() == len(db.query("stock")) < counted[0]
    assert (before.count(), low.count()) == counted
    assert db.to_spark("stock", as_of=loaded).count() == counted[0]
    assert db.to_spark("low", as_of="2020-01-01").count() == 2 * ROWS // 100


def test_it_is_one_of_the_users_session(db: Database, session: Any) -> None:
    db.to_spark("low").createOrReplaceTempView("low_now")
    other = session.range(50).withColumnRenamed("id", "sku")
    assert other.join(db.to_spark("stock"), "sku").count() == 49
    assert db.query("SELECT count(*) AS n FROM low_now").rows()[0]["n"] == len(db.query("low"))


@pytest.mark.parametrize("few", [True, False])
def test_views_of_the_session(db: Database, session: Any, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not few:
        monkeypatch.setattr(engine, "FEW_ROWS", 0)
        monkeypatch.setattr(bases, "FEW_ROWS", 0)
    session.range(5).withColumnRenamed("id", "sku").createOrReplaceTempView("wanted")
    frame = db.to_spark("SELECT s.sku FROM stock s JOIN wanted w ON w.sku = s.sku")
    session.catalog.dropTempView("wanted")
    assert frame.count() == 5


def test_a_database_in_memory(session: Any) -> None:
    with tidings.open(spark=session) as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
        assert sorted(row["a"] for row in db.to_spark("t").collect()) == [1, 2]
        with pytest.raises(tidings.errors.UnknownRelation):
            db.to_spark("nosuch")


def test_what_is_wrong_with_a_row_is_said_by_spark_when_it_is_read(db: Database) -> None:
    frame = db.to_spark("SELECT 1 / qty AS x FROM stock")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        frame.collect()
    assert len(db.query("low")) > 0
