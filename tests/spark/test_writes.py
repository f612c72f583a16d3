"""What changes rows, on Spark: upserts, tables of queries, files, wider types, decimals, small loads and statements."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database
from tidings.errors import CheckViolated, TidingsError
from tidings.write.statement_context import StatementContext

pytestmark = pytest.mark.spark


@pytest.fixture(params=["auto", "spark"])
def db(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Iterator[Database]:
    with tidings.open(tmp_path / "shop", spark=spark, execution=request.param) as database:
        database.sql("CREATE TABLE t (id INT PRIMARY KEY, n INT, d DECIMAL(6,2), s VARCHAR(5) DEFAULT 'none')")
        database.load("t", [(1, 1, Decimal("1.005"), "a"), (2, 2, None, "b")])
        yield database


def rows(db: Database, query: str = "SELECT id, n FROM t") -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.query(query))


def test_a_history_of_writes(db: Database, tmp_path: Path) -> None:
    assert rows(db, "SELECT d FROM t WHERE id = 1") == [(Decimal("1.01"),)]
    db.sql("INSERT INTO t (id, n, d) VALUES (2, 20, 9), (3, 30, 2.345) ON CONFLICT DO NOTHING")
    assert rows(db) == [(1, 1), (2, 2), (3, 30)]
    assert rows(db, "SELECT d, s FROM t WHERE id = 3") == [(Decimal("2.35"), "none")]
    affected = db.sql("""INSERT INTO t (id, n) SELECT id, 5 FROM t WHERE id < 3
                         ON CONFLICT (id) DO UPDATE SET n = (SELECT max(u.n) FROM t AS u) + excluded.n""")
    assert affected is not None
    assert affected.rows() == [{"inserted": 0, "updated": 2, "deleted": 0}]
    assert rows(db) == [(1, 35), (2, 35), (3, 30)]
    with db.transaction() as tx:
        tx.upsert("t", [{"id": 3, "n": 3}, {"id": 4, "n": 4, "d": Decimal("0.125")}])
    assert rows(db, "SELECT n, d FROM t WHERE id = 4") == [(4, Decimal("0.13"))]
    with pytest.raises(CheckViolated):
        db.sql("UPDATE t SET s = 'far too long' WHERE id = 1")
    with pytest.raises(TidingsError):
        db.sql("INSERT INTO t (id, d) SELECT 9, 12345.0")
    db.sql("ALTER TABLE t ALTER COLUMN n TYPE BIGINT; UPDATE t SET n = n + 3000000000 WHERE n < 10")
    assert rows(db) == [(1, 35), (2, 35), (3, 3000000003), (4, 3000000004)]
    db.fold()
    db.sql("CREATE TABLE u AS SELECT id % 2 AS odd, sum(n) AS n FROM t GROUP BY id % 2")
    assert rows(db, "SELECT odd, n FROM u") == [(0, 3000000039), (1, 3000000038)]
    (tmp_path / "more.csv").write_text("n,id\n7,7\n", encoding="utf-8")
    db.sql(f"COPY t FROM '{tmp_path}/*.csv'; TRUNCATE TABLE u")
    assert (len(db.query("t")), len(db.query("u"))) == (5, 0)


def test_statements_about_small_tables_do_not_ask_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tidings.open(tmp_path / "shop", spark=spark) as db:
        db.sql("CREATE TABLE t (id INT, n INT)")
        db.load("t", [(n, n % 7) for n in range(1000)])

        def refused(*_: object) -> None:
            raise AssertionError("a query")

        monkeypatch.setattr(StatementContext, "answer", refused)
        affected = db.sql("UPDATE t SET n = n + 10 WHERE id < 500")
        assert affected is not None
        assert affected.rows()[0]["updated"] == 500
        db.sql("DELETE FROM t WHERE n BETWEEN 1 AND 3 OR id = 0")
        monkeypatch.undo()
        expected = [(n, n % 7 + (10 if n < 500 else 0)) for n in range(1, 1000)]
        assert rows(db) == [(i, n) for i, n in expected if not 1 <= n <= 3]


@pytest.mark.parametrize("folder", [False, True])
def test_a_small_frame_is_loaded_in_one_partition(spark: Any, tmp_path: Path, folder: bool) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "200")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    frame = session.range(1000).selectExpr("id % 7 AS V", "id").repartition(200)
    with tidings.open(tmp_path / "shop" if folder else None, spark=session) as db:
        db.sql("CREATE TABLE t (id BIGINT, v INT)")
        assert db.load("t", frame).inserted == 1000
        files = list(tmp_path.rglob("*.parquet"))
        assert len(files) == (1 if folder else 0)
        assert rows(db, "SELECT count(*) AS n, sum(v) AS v FROM t") == [(1000, sum(n % 7 for n in range(1000)))]
    assert session.conf.get("spark.sql.shuffle.partitions") == "200"
