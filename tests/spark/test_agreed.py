"""Expressions that are evaluated in this process say what Spark says."""

from __future__ import annotations

from typing import Any

import pytest

import tidings
from tests.spark.both_engines import differences, evaluated
from tests.unit.engine.agreed.awkward import EXPRESSIONS, rows
from tidings.engine.duckdb import DuckDB
from tidings.errors import CheckViolated, DuplicateKey

pytestmark = pytest.mark.spark

BATCH = 60
"""So many expressions are one query of Spark."""


def test_both_engines_agree(spark: Any) -> None:
    table, engine = rows(60), DuckDB()
    ours = [e for text in EXPRESSIONS if (e := evaluated(text, table, engine)) is not None]
    assert [e.text for e in ours] == EXPRESSIONS
    assert [e.text for e in ours if e.share < 0.2] == []
    for start in range(0, len(ours), BATCH):
        assert differences(spark, ours[start : start + BATCH], table) == []


def test_changes_on_spark(spark: Any, tmp_path: Any) -> None:
    """One database through its life: demands, changes by key and by query, ALTER TABLE, reopening."""
    with tidings.open(tmp_path / "shop", engine="spark", spark=spark) as db:
        db.sql("""
            CREATE TABLE stock (
                item BIGINT PRIMARY KEY, qty INT NOT NULL CHECK (qty % 100 <> 13), name STRING DEFAULT 'x'
            );
            INSERT INTO stock (item, qty) VALUES (1, 10), (2, 20), (3, 30);
        """)
        db.fold()
        with pytest.raises(CheckViolated):
            db.sql("UPDATE stock SET qty = 113 WHERE item = 1")
        with pytest.raises(DuplicateKey):
            db.sql("INSERT INTO stock (item, qty) VALUES (2, 20)")
        db.sql(
            "UPDATE stock SET qty = qty + 1 WHERE item = 1; UPDATE stock SET name = concat(name, qty) WHERE qty > 15"
        )
        db.sql(
            "MERGE INTO stock s USING (VALUES (3, 5), (4, 6)) AS v (k, q) ON s.item = v.k "
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (item, qty) VALUES (k, q)"
        )
        db.sql("ALTER TABLE stock ADD COLUMN price DECIMAL(6,2) DEFAULT 1.5; ALTER TABLE stock RENAME COLUMN qty TO q")
        with db.transaction() as tx:
            tx.insert("stock", spark.createDataFrame([(9, 90)], "item BIGINT, q INT"))
            tx.sql("DELETE FROM stock WHERE item = 4")
            assert len(tx.query("SELECT item FROM stock WHERE q > 15")) == 2
    with tidings.open(tmp_path / "shop", engine="spark", spark=spark) as db:
        found = sorted(tuple(r.values()) for r in db.query("stock").rows())
        assert [(i, q, n, float(p)) for i, q, n, p in found] == [
            (1, 11, "x", 1.5),
            (2, 20, "x20", 1.5),
            (9, 90, "x", 1.5),
        ]
        db.fold()
        assert sorted(tuple(r.values()) for r in db.query("stock").rows()) == found
