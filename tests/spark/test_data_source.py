"""Spark reads tables, answers and changes of a database by ``format("tidings")``, at once and as a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidings
import tidings.spark
from tidings.store.relation import snapshot_writer

pytestmark = pytest.mark.spark


@pytest.fixture
def reading(spark: Any) -> Any:
    tidings.spark.register(spark)
    return spark.read.format("tidings")


def test_tables_answers_and_changes(spark: Any, reading: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_writer, "ROWS_PER_FILE", 300)
    monkeypatch.setattr("tidings.store.snapshots.SMALL_ROWS", -1)
    with tidings.open(tmp_path / "shop", spark=spark) as db:
        db.sql("CREATE TABLE stock (sku BIGINT PRIMARY KEY, qty INT, tags ARRAY<STRING>, at TIMESTAMP)")
        db.load("stock", [{"sku": n, "qty": n % 9, "tags": ["a"], "at": None} for n in range(1_000)])
        then = db.time
        db.sql("UPDATE stock SET qty = 100, at = TIMESTAMP '2024-02-29 12:00:00' WHERE sku < 3")
        stock = reading.option("path", tmp_path / "shop").option("table", "stock").load()
        assert stock.rdd.getNumPartitions() > 2
        assert stock.where("qty = 100 AND at > TIMESTAMP '2024-01-01 00:00:00'").count() == 3
        assert stock.count() == 1_000
        assert sorted(map(str, stock.drop("at").toArrow().to_pylist())) == sorted(
            map(str, db.query("SELECT sku, qty, tags FROM stock").rows())
        )
        counted = spark.read.format("tidings").option("path", tmp_path / "shop")
        total = counted.option("query", "SELECT qty, count(*) AS n FROM stock GROUP BY qty").load()
        assert total.where("qty = 100").collect()[0]["n"] == 3
        changed = spark.read.format("tidings").option("path", tmp_path / "shop").option("since", then)
        changes = changed.option("changes", "SELECT sku FROM stock WHERE qty > 50").load().toArrow().to_pylist()
        assert sorted((c["sku"], c["__t"], c["__w"]) for c in changes) == [(n, db.time, 1) for n in range(3)]


def test_a_stream_of_changes(spark: Any, reading: Any, tmp_path: Path) -> None:
    with tidings.open(tmp_path / "shop", spark=spark) as db:
        db.sql("CREATE TABLE stock (sku BIGINT PRIMARY KEY, qty INT); INSERT INTO stock VALUES (1, 1), (2, 2)")
        low, seen = "SELECT sku FROM stock WHERE qty < 2", []

        def take() -> None:
            """Take what there is, and end; the checkpoint says where to go on."""
            stream = spark.readStream.format("tidings").option("path", tmp_path / "shop")
            stream = stream.option("changes", low).option("since", "0").load()
            written = stream.writeStream.option("checkpointLocation", tmp_path / "checkpoint")
            batches = written.foreachBatch(lambda frame, _id: seen.extend(frame.toArrow().to_pylist()))
            batches.trigger(availableNow=True).start().awaitTermination()

        take()
        db.sql("UPDATE stock SET qty = 0 WHERE sku = 2")
        db.sql("DELETE FROM stock WHERE sku = 1")
        take()
        assert [(c["sku"], c["__w"]) for c in seen] == [(1, 1), (2, 1), (1, -1)]


def test_what_is_unclear_is_said(reading: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="needs the path of a database"):
        reading.option("table", "stock").load()
    with pytest.raises(Exception, match="no database"):
        reading.option("path", tmp_path / "none").option("table", "stock").load()
