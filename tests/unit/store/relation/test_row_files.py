"""Rows from files, by tx.insert and its like."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidings import Database
from tidings.errors import InvalidRow

ROWS = [
    {"id": 1, "day": "2026-01-02", "at": "2026-01-02 03:04:05", "price": "1.50", "name": "007", "ok": True},
    {"id": 2, "day": None, "at": None, "price": None, "name": "", "ok": None},
]
TYPED = [
    (1, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), Decimal("1.50"), "007", True, 7),
    (2, None, None, None, "", None, 7),
]


@pytest.fixture
def files(db: Database) -> Database:
    db.sql("""CREATE TABLE f (id INT PRIMARY KEY, day DATE, at TIMESTAMP, price DECIMAL(6,2), name STRING, ok BOOLEAN,
              more INT DEFAULT 7)""")
    return db


def write(path: Path) -> Path:
    if path.suffix == ".csv":
        lines = ["ID,day,at,price,name,ok", '1,2026-01-02,2026-01-02 03:04:05,1.50,"007",true', '2,,,,"",']
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif path.suffix == ".parquet":
        instant = datetime(2026, 1, 2, 3, 4, 5)
        columns = {"id": [1, 2], "day": [date(2026, 1, 2), None], "at": pa.array([instant, None], pa.timestamp("us"))}
        prices = pa.array([Decimal("1.50"), None], pa.decimal128(6, 2))
        rows = pa.table({**columns, "price": prices, "name": ["007", ""], "ok": [True, None]})
        pq.write_table(rows, path)
    else:
        path.write_text("".join(json.dumps(r) + "\n" for r in ROWS), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.jsonl", "rows.json", "rows.ndjson"])
def test_rows_of_a_file(files: Database, tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    with files.transaction() as tx:
        tx.insert("f", path)
    assert sorted((tuple(r.values()) for r in files.query("f").rows()), key=repr) == TYPED
    with files.transaction() as tx:
        tx.delete("f", str(path))
    assert len(files.query("f")) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "id,day\nx,2026-01-01\n"),
        ("rows.jsonl", '{"id": "x"}\n'),
        ("rows.jsonl", "{"),
        ("rows.parquet", "no"),
        ("rows.txt", "id"),
        ("rows.csv", "id,nosuch\n1,2\n"),
    ],
)
def test_files_that_hold_no_rows(files: Database, tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRow), files.transaction() as tx:
        tx.insert("f", path)


def test_a_file_that_is_not_there(files: Database) -> None:
    with pytest.raises(InvalidRow), files.transaction() as tx:
        tx.insert("f", "nowhere.csv")
