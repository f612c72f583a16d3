"""Decimals round half up by every way in, and are refused if they have too many digits before the point."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database
from tidings.errors import TidingsError


def by_sql(db: Database, value: str, _: Path) -> None:
    db.sql(f"INSERT INTO t VALUES (1, {value})")


def by_query(db: Database, value: str, _: Path) -> None:
    db.sql(f"INSERT INTO t SELECT 1, CAST('{value}' AS DECIMAL(20,8))")


def by_update(db: Database, value: str, _: Path) -> None:
    db.sql(f"INSERT INTO t VALUES (1, 0); UPDATE t SET d = {value} WHERE k = 1")


def by_merge(db: Database, value: str, _: Path) -> None:
    db.sql(f"MERGE INTO t USING (VALUES (1, {value})) AS s(k, d) ON t.k = s.k WHEN NOT MATCHED THEN INSERT *")


def inserted(make: Callable[[str, Path], Any]) -> Callable[[Database, str, Path], None]:
    def way(db: Database, value: str, folder: Path) -> None:
        with db.transaction() as tx:
            tx.insert("t", make(value, folder))

    return way


def loaded(make: Callable[[str, Path], Any]) -> Callable[[Database, str, Path], None]:
    def way(db: Database, value: str, folder: Path) -> None:
        db.load("t", make(value, folder))

    return way


def arrow(value: str, _: Path) -> pa.Table:
    return pa.table({"k": [1], "d": pa.array([Decimal(value)], pa.decimal128(20, 8))})


def csv(value: str, folder: Path) -> Path:
    (folder / "d.csv").write_text(f"k,d\n1,{value}\n", encoding="utf-8")
    return folder / "d.csv"


def json(value: str, folder: Path) -> Path:
    (folder / "d.jsonl").write_text(f'{{"k": 1, "d": {value}}}\n', encoding="utf-8")
    return folder / "d.jsonl"


WAYS: dict[str, Callable[[Database, str, Path], None]] = {
    "sql": by_sql,
    "query": by_query,
    "update": by_update,
    "merge": by_merge,
    "decimal": inserted(lambda value, _: [(1, Decimal(value))]),
    "float": inserted(lambda value, _: [(1, float(value))]),
    "iterator": inserted(lambda value, _: iter([(1, Decimal(value))])),
    "arrow": inserted(arrow),
    "pandas": inserted(lambda value, folder: arrow(value, folder).to_pandas()),
    "csv": inserted(csv),
    "json": inserted(json),
    "load": loaded(lambda value, _: [(1, Decimal(value))]),
    "load of arrow": loaded(arrow),
    "load of a file": loaded(csv),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.005", "1.01"),
        ("-1.005", "-1.01"),
        ("1.004", "1.00"),
        ("2", "2.00"),
        ("9999.994", "9999.99"),
        ("12345", None),
    ],
)
def test_alike_by_every_way(way: str, value: str, expected: str | None, tmp_path: Path) -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (k INT PRIMARY KEY, d DECIMAL(6,2))")
        if expected is None:
            with pytest.raises(TidingsError):
                WAYS[way](db, value, tmp_path)
        else:
            WAYS[way](db, value, tmp_path)
            assert db.query("SELECT d FROM t").rows() == [{"d": Decimal(expected)}]


@pytest.mark.parametrize("value", [Decimal("NaN"), float("inf"), Decimal("1e50"), "1.5x"])
def test_what_is_no_number(value: Any) -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (k INT, d DECIMAL(6,2))")
        with pytest.raises(TidingsError), db.transaction() as tx:
            tx.insert("t", [(1, value)])
