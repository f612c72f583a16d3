"""Values that a column cannot hold are refused with their row and column, by every way in."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidings
from tidings import Database
from tidings.errors import InvalidRow, TidingsError
from tidings.store.relation.values import fitting, require_known_values


@pytest.fixture
def db() -> Database:
    database = tidings.open(engine="duckdb")
    database.sql("CREATE TABLE t (i INT, d DOUBLE, f FLOAT, m MAP<STRING, INT>, a ARRAY<INT>, n DATE)")
    return database


REFUSED: list[dict[str, Any]] = [
    {"i": Decimal("99.99")},
    {"i": 99.99},
    {"i": float("inf")},
    {"i": float("nan")},
    {"i": np.float32(0.9)},
    {"i": np.uint64(2**64 - 1)},
    {"i": 2**31},
    {"i": Decimal("1E+999999")},
    {"d": np.uint64(2**64 - 1)},
    {"f": 1e308},
    {"f": Decimal("1e39")},
    {"m": [None]},
    {"m": [1, 2]},
    {"m": "text"},
    {"m": 5},
    {"m": [("a", 1, 2)]},
    {"m": [(None, 1)]},
    {"m": {"a": 1.5}},
    {"a": [1.5]},
    {"n": 2**31 - 1},
]


@pytest.mark.parametrize("row", REFUSED, ids=str)
def test_what_does_not_fit_is_refused(db: Database, row: dict[str, Any]) -> None:
    with db.transaction() as tx, pytest.raises(TidingsError) as refused:
        tx.insert("t", [{"i": 1}, row])
    assert refused.value.condition == "InvalidRow"
    assert refused.value.parameters["row"] == 2
    assert db.query("t").rows() == []


@pytest.mark.parametrize(
    ("row", "name", "held"),
    [
        ({"i": 99.0}, "i", 99),
        ({"i": Decimal("7")}, "i", 7),
        ({"i": np.int64(3)}, "i", 3),
        ({"f": float("inf")}, "f", float("inf")),
        ({"f": 3.4028234663852886e38}, "f", 3.4028234663852886e38),
        ({"m": {"a": 1}}, "m", [("a", 1)]),
        ({"m": [("a", 1)]}, "m", [("a", 1)]),
        ({"n": date.max}, "n", date.max),
    ],
)
def test_what_fits_is_held(db: Database, row: dict[str, Any], name: str, held: object) -> None:
    with db.transaction() as tx:
        tx.insert("t", [row])
    (found,) = db.query("t").rows()
    assert (dict(found[name]) if name == "m" else found[name]) == (dict(held) if name == "m" else held)  # type: ignore[call-overload]


FAR = {
    "DATE": (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), "CAST('5881580-07-10' AS DATE)"),
    "TIMESTAMP": (
        pa.array([3 * 10**17], pa.int64()).cast(pa.timestamp("us", "UTC")),
        "make_timestamp(300000000000000000)",
    ),
    "TIMESTAMP_NTZ": (pa.array([2**63 - 1], pa.int64()).cast(pa.timestamp("us")), "CAST('infinity' AS TIMESTAMP_NTZ)"),
    "ARRAY<DATE>": (
        pa.ListArray.from_arrays([0, 1], pa.array([2**31 - 1], pa.int32()).cast(pa.date32())),
        "array(CAST('5881580-07-10' AS DATE))",
    ),
}


def put(db: Database, way: str, rows: pa.Table, text: str, file: Path) -> None:
    pq.write_table(rows, file)
    match way:
        case "load" | "further":
            db.load("t", rows)
        case "sql":
            db.sql(f"INSERT INTO t SELECT 1, {text}")
        case _:
            with db.transaction() as tx:
                tx.insert("t", rows if way == "insert" else file)


@pytest.mark.parametrize("way", ["load", "insert", "sql", "file", "further"])
@pytest.mark.parametrize("type", FAR)
def test_times_that_python_does_not_know(tmp_path: Path, type: str, way: str) -> None:
    values, text = FAR[type]
    rows = pa.table({"id": pa.array([1], pa.int32()), "d": values})
    with tidings.open(engine="duckdb") as db:
        db.sql(f"CREATE TABLE t (id INT, d {type}); CREATE MATERIALIZED VIEW v AS SELECT id FROM t")
        if way == "further":
            db.load("t", rows.slice(0, 0))
            db.sql("INSERT INTO t (id) VALUES (0)")
        with pytest.raises(TidingsError) as refused:
            put(db, way, rows, text, tmp_path / "rows.parquet")
        assert refused.value.condition != "InternalError"
        db.sql("INSERT INTO t (id) VALUES (2)")
        db.sql("DELETE FROM t WHERE id = 1")
        assert {row["id"] for row in db.query("t").rows()} == ({0, 2} if way == "further" else {2})


def test_a_number_that_a_frame_has_too_large(db: Database) -> None:
    nulls = {name: pa.nulls(1) for name in ("i", "d", "m", "a", "n")}
    rows = pa.table({**nulls, "f": pa.array([1e308])}).select(["i", "d", "f", "m", "a", "n"])
    with pytest.raises(TidingsError):
        db.load("t", rows)
    with db.transaction() as tx, pytest.raises(TidingsError):
        tx.insert("t", pa.table({"f": pa.array([1e308])}))


def test_fields_of_structs() -> None:
    assert fitting({"B": 2}, "struct<a:int,b:int>") == {"a": None, "b": 2}
    with pytest.raises(ValueError, match="no field named c"):
        fitting({"c": 1}, "struct<a:int>")


@pytest.mark.parametrize(
    ("kind", "values", "row"),
    [
        (pa.map_(pa.string(), pa.int32()), [[("a", 1), ("b", 2)], None, [("a", 1), ("a", 2)]], 3),
        (pa.map_(pa.float64(), pa.int32()), [[(0.0, 1), (-0.0, 2)]], 1),
        (pa.list_(pa.map_(pa.string(), pa.int32())), [[None, [("a", 1), ("a", 1)]]], 1),
        (pa.map_(pa.list_(pa.int32()), pa.int32()), [[([1], 1), ([1], 2)]], 1),
    ],
)
def test_a_map_has_a_key_once(kind: pa.DataType, values: list[Any], row: int) -> None:
    with pytest.raises(InvalidRow, match="a key twice") as refused:
        require_known_values("t", pa.table({"m": pa.array(values, kind)}))
    assert refused.value.parameters["row"] == row
    require_known_values("t", pa.table({"m": pa.array([*values[:-1], None, *values[:-1]], kind)}))
