"""Spark types, Arrow types and DuckDB types name the same values."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from tidings.engine.arrow import arrow_schema, arrow_type, conform, without_empty_chunks
from tidings.engine.duckdb import DuckDB
from tidings.errors import UnsupportedType
from tidings.ir.expression import typed_null
from tidings.ir.relation import Column
from tidings.lang.sql.parse import statements

TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(38,0)": pa.decimal128(38, 0),
    "array<int>": pa.list_(pa.int32()),
    "struct<a:int,b:array<string>>": pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]),
    "map<string,decimal(5,1)>": pa.map_(pa.string(), pa.decimal128(5, 1)),
    "array<struct<x:map<int,date>>>": pa.list_(pa.struct([("x", pa.map_(pa.int32(), pa.date32()))])),
}


@pytest.mark.parametrize("type", TYPES)
def test_spark_to_arrow(type: str) -> None:
    assert arrow_type(type) == TYPES[type]


@pytest.mark.parametrize("type", TYPES)
def test_duckdb_to_spark(type: str) -> None:
    """A column of the type keeps it on the way through the DuckDB analyzer."""
    (query,) = statements(f"SELECT {typed_null(type).sql('spark')} AS x")
    engine = DuckDB()
    assert engine.analyze(query) == (Column("x", type),)  # type: ignore[arg-type]
    engine.close()


@pytest.mark.parametrize("type", TYPES)
def test_arrow_to_duckdb_and_back(type: str) -> None:
    empty = pa.table({"x": pa.array([None], TYPES[type])})
    connection = duckdb.connect(":memory:")
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("rows", empty)
    found = connection.execute("SELECT x FROM rows").to_arrow_table()
    assert conform(found, arrow_schema([Column("x", type)])).schema.field("x").type == TYPES[type]
    connection.close()


@pytest.mark.parametrize("type", ["interval", "variant", "geometry"])
def test_types_without_arrow_form(type: str) -> None:
    with pytest.raises(UnsupportedType) as refused:
        arrow_type(type)
    assert refused.value.hint


def test_versioned_schema() -> None:
    assert arrow_schema([Column("x", "int")], versioned=True).names == ["x", "__t", "__w"]


def test_conform_renames_and_casts() -> None:
    schema = arrow_schema([Column("x", "bigint")])
    assert conform(pa.table({"y": pa.array([1], pa.int32())}), schema) == pa.table({"x": pa.array([1], pa.int64())})


def test_no_rows_are_one_chunk_for_spark() -> None:
    kinds = [pa.struct([("a", pa.int32())]), pa.timestamp("us", "UTC"), pa.list_(pa.date32())]
    nothing = pa.table({str(n): pa.chunked_array([], kind) for n, kind in enumerate(kinds)})
    rows = without_empty_chunks(nothing)
    assert rows.equals(nothing)
    assert [column.num_chunks for column in rows.columns] == [1, 1, 1]
