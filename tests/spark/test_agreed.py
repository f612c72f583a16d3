"""Expressions that are evaluated in this process say what Spark says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tidings
from tests.unit.analysis.test_agreed_expression import AGREED, COLUMNS
from tidings.analysis.agreed_expression import agreed
from tidings.constraints.evaluate import Evaluator
from tidings.engine.arrow import arrow_schema
from tidings.engine.duckdb import DuckDB
from tidings.engine.run import Runner
from tidings.errors import CheckViolated, DuplicateKey
from tidings.ir.relation import Column
from tidings.lang.sql.parse import parsed

pytestmark = pytest.mark.spark

ROWS = [
    (1, 1, 1, "1.50", "1.50", "a", "a", 0.5, True, "2026-01-01", "2026-01-01 00:00:00", "2026-01-01 00:00:00", [1]),
    (-5, 3, 4, "-2.25", "9.99", "aXb", " B ", None, False, "2026-01-02", "2026-01-02 03:04:05.678", None, None),
    (None, None, None, None, None, None, None, None, None, None, None, None, None),
    (0, 2, 1 << 40, "0.00", "1.00", "", "\tz ", -0.0, True, "1969-12-31", "1969-12-31 23:59:59", None, []),
    (7, -3, -1, "99999.99", "3.00", "añb", "Z%_", float("nan"), None, "2400-02-29", "2026-01-02 03:04:05", None, [2]),
]


def typed() -> pa.Table:
    schema = arrow_schema(COLUMNS)
    columns = []
    for n, field in enumerate(schema):
        texts = pa.types.is_temporal(field.type) or pa.types.is_decimal(field.type)
        naive = pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type
        values = [row[n] for row in ROWS]
        array = pa.array(values, pa.string()).cast(naive) if texts else pa.array(values, field.type)
        columns.append(array.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def test_both_engines_agree(spark: Any) -> None:
    rows = typed()
    numbered = rows.append_column("n", pa.array(range(rows.num_rows), pa.int32()))
    with tidings.open(engine="spark", spark=spark) as db:
        declared = ", ".join(f"`{c.name}` {c.type}" for c in (*COLUMNS, Column("n", "int")))
        db.sql(f"CREATE TABLE r ({declared})")
        db.load("r", numbered)
        items = ", ".join(f"CAST({text} AS {type}) AS c{n}" for n, (text, type) in enumerate(AGREED))
        theirs = sorted(db.query(f"SELECT n, {items} FROM r").rows(), key=lambda row: int(row["n"]))
    evaluator = Evaluator(Runner(DuckDB()))
    for n, (text, type) in enumerate(AGREED):
        found = agreed(parsed(text), COLUMNS)
        assert found is not None
        plain = [r for r in range(rows.num_rows) if not found.ascii or all(v is None or v.isascii() for v in texts(r))]
        ours = evaluator.values([(found, type)], rows.take(plain))
        assert ours is not None, text
        assert list(map(str, ours.column(0).to_pylist())) == [str(theirs[r][f"c{n}"]) for r in plain], text


def texts(row: int) -> list[str | None]:
    return [ROWS[row][5], ROWS[row][6]]


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
