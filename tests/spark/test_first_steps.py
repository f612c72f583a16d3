"""Small work asks nothing of Spark, and what this process writes in Spark's stead is what Spark would write."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidings
from tests.unit.inside import scheduler_of
from tidings.engine.analyses import Analyses
from tidings.engine.spark import Spark, engine
from tidings.engine.spark.lazy_session import LazySession
from tidings.store import fold_job, snapshots

pytestmark = pytest.mark.spark

SCHEMA = """
    CREATE TABLE item (sku BIGINT PRIMARY KEY, name STRING NOT NULL, price DECIMAL(10, 2) CHECK (price >= 0), cat INT);
    CREATE TABLE stock (sku BIGINT PRIMARY KEY, qty INT);
"""
ITEMS = [{"sku": n, "name": f"n{n}", "price": Decimal(n % 7), "cat": n % 14} for n in range(1_000)]
STOCK = [{"sku": n, "qty": n % 9} for n in range(1_000)]


@pytest.fixture
def no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every query on Spark fail the test."""

    def asked(_engine: Spark, text: str, *_arguments: Any, **_options: Any) -> Any:
        raise AssertionError(f"Spark was asked {text}")

    monkeypatch.setattr(Spark, "_fetch", asked)
    monkeypatch.setattr(Spark, "save", asked)


@pytest.fixture
def wide(spark: Any) -> Any:
    """A session as users have them, with 200 shuffle partitions."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "200")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    return session


def files(folder: Path) -> dict[str, int]:
    """How many files each snapshot has."""
    counts: dict[str, int] = {}
    for file in folder.glob("base/*/*/*.parquet"):
        counts[file.parent.name] = counts.get(file.parent.name, 0) + 1
    return counts


@pytest.mark.parametrize("execution", ["auto", "spark"])
def test_small_snapshots_are_one_file(wide: Any, tmp_path: Path, execution: Any) -> None:
    with tidings.open(tmp_path / "shop", spark=wide, execution=execution) as db:
        db.sql(SCHEMA)
        db.load("item", ITEMS)
        db.load("stock", wide.createDataFrame(STOCK).selectExpr("sku", "CAST(qty AS INT) AS qty").repartition(20))
        db.sql("CREATE MATERIALIZED VIEW per_cat AS SELECT cat, count(*) AS n, sum(price) AS p FROM item GROUP BY cat")
        db.sql("CREATE TABLE cheap AS SELECT * FROM item WHERE price < 3")
        db.sql("UPDATE stock SET qty = 0 WHERE qty = 1")
        db.advance()
        assert db.fold() == 2
        assert len(db.query("SELECT * FROM per_cat")) == 14
        assert db.query("SELECT count(*) AS n FROM stock WHERE qty = 0").rows() == [{"n": 223}]
        counts = files(tmp_path / "shop")
    assert len(counts) >= 5
    assert set(counts.values()) == {1}


def test_small_reads_ask_nothing_of_spark(spark: Any, tmp_path: Path, no_jobs: None) -> None:
    with tidings.open(tmp_path / "shop", spark=spark) as db:
        db.sql(SCHEMA)
        db.load("item", ITEMS)
        db.load("stock", STOCK)
        before = db.time
        assert len(db.query("SELECT * FROM item WHERE cat = 3 ORDER BY sku LIMIT 5")) == 5
        joined = "SELECT i.cat, count(*) AS n, sum(s.qty) AS q FROM item i JOIN stock s ON s.sku = i.sku GROUP BY i.cat"
        db.sql(f"CREATE MATERIALIZED VIEW per_cat AS {joined}")
        first = sorted(map(str, db.query("per_cat").rows()))
        db.sql("UPDATE stock SET qty = qty + 1 WHERE sku < 500; DELETE FROM item WHERE price = 6")
        db.sql("INSERT INTO stock SELECT sku + 5000, qty FROM stock WHERE qty > 8")
        db.sql("MERGE INTO stock AS s USING item AS i ON s.sku = i.sku WHEN MATCHED AND i.cat = 1 THEN DELETE")
        assert sorted(map(str, db.query(joined).rows())) == sorted(map(str, db.query("per_cat").rows()))
        assert sorted(map(str, db.query(joined, as_of=before).rows())) == first
        assert len(db.changes(joined, since=before)) > 0
        with db.transaction() as tx:
            tx.sql("DELETE FROM stock WHERE sku > 100")
            assert tx.query("SELECT count(*) AS n FROM stock WHERE sku > 100").rows() == [{"n": 0}]
        db.advance()
        assert db.fold() > 0
        assert len(db.query("per_cat")) == len(db.query(joined))


def test_an_existing_folder_is_opened_without_a_session(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT cat, count(*) AS n FROM item GROUP BY cat"
    with tidings.open(tmp_path / "shop", spark=spark) as db:
        db.sql(SCHEMA)
        db.load("item", ITEMS)
        db.sql(f"CREATE VIEW per_cat AS {query}")
        analyses = db._parts.backend.analyses
        assert analyses is not None
        known = analyses.note()

    def asked(_session: LazySession) -> Any:
        raise AssertionError("Spark was asked for")

    class Knowing(Analyses):
        def __init__(self, _fingerprint: str | None = None) -> None:
            super().__init__()
            self.recall(known)

    monkeypatch.setattr(engine, "Analyses", Knowing)
    monkeypatch.setattr(LazySession, "__call__", asked)
    with tidings.open(tmp_path / "shop", spark=spark) as db:
        assert len(db.query("per_cat")) == 14
        db.sql("INSERT INTO item VALUES (5000, 'x', 1.5, NULL); UPDATE item SET cat = 1 WHERE sku = 5000")
        assert db.fold() == 1
        assert len(db.query("item")) == 1_001


COLUMNS = (
    "k STRING, b BOOLEAN, i INT, s SMALLINT, t TINYINT, l BIGINT, f FLOAT, d DOUBLE, p DECIMAL(12, 3),"
    " w DECIMAL(38, 10), day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, bin BINARY, a ARRAY<INT>,"
    " m MAP<STRING, DECIMAL(5, 2)>, st STRUCT<x: INT, y: ARRAY<STRING>>"
)
NESTED = {"a": [1, None], "m": [("q", Decimal("1.50"))], "st": {"x": 1, "y": ["z"]}}
VALUES: list[dict[str, Any]] = [
    {"k": "é", "b": True, "i": 1, "s": -2, "t": 3, "l": 2**60, "f": 1.5, "d": -0.0, "p": Decimal("1.001")},
    {"k": "a", "w": Decimal("12345678901234567890.0000000001"), "day": date(1582, 10, 4), "bin": b"\0\xff", **NESTED},
    {"k": None, "at": datetime(1900, 1, 1, tzinfo=UTC), "local": datetime(2024, 2, 29, 1, 2, 3, 4), "a": []},
    {"k": "", "d": float("nan"), "f": float("inf"), "day": date(9999, 12, 31), "m": []},
]


def test_spark_reads_what_is_written_here(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of all types, loaded and folded: from files of this process and from files of Spark they are the same."""
    answers, orders = [], []
    for limit in (1_000, -1):
        monkeypatch.setattr(snapshots, "SMALL_ROWS", limit)
        monkeypatch.setattr(fold_job, "SMALL_ROWS", limit)
        folder = tmp_path / str(limit)
        with tidings.open(folder, spark=spark, execution="spark") as db:
            db.sql(f"CREATE TABLE v ({COLUMNS})")
            db.load("v", VALUES, sorted_by="k")
            with db.transaction() as tx:
                tx.delete("v", [VALUES[0]])
                tx.insert("v", [VALUES[0], VALUES[1]])
            assert db.fold() == 1
            answers.append(sorted(map(repr, db.query("SELECT * FROM v").rows())))
            table = scheduler_of(db).relations.rows("v")
            (file,) = [folder / f.path for f in scheduler_of(db).storage.snapshots.files[table.id].record.files]
            orders.append([v.as_py() for v in pq.read_table(file, columns=["k"]).column("k")])
    assert answers[0] == answers[1]
    assert len(answers[0]) == 5
    assert orders[0] == orders[1] == [None, "", "a", "a", "é"]


def test_what_a_load_may_not_have_is_refused_alike(spark: Any, tmp_path: Path) -> None:
    bad: dict[str, dict[str, Any]] = {"null": {"name": None}, "check": {"price": Decimal(-1)}, "key": {"sku": 7}}
    for how, values in bad.items():
        said = []
        for options in ({"engine": "spark", "spark": spark}, {"engine": "duckdb"}):
            with tidings.open(tmp_path / f"{how} {len(options)}", **options) as db:
                db.sql(SCHEMA)
                with pytest.raises(tidings.errors.TidingsError) as refused:
                    db.load("item", [*ITEMS, {"sku": 9_999, "name": "x", "price": Decimal(1), "cat": 1, **values}])
                said.append((type(refused.value), str(refused.value)))
                assert len(db.query("item")) == 0
                assert isinstance(db.query("item").to_arrow(), pa.Table)
        assert said[0] == said[1]
