"""The values of expressions by Spark, and by DuckDB in the words that are to say the same."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import pyarrow as pa

from tests.unit.engine.agreed.awkward import COLUMNS
from tidings.engine.agreed.row import ROWS, agreed
from tidings.engine.duckdb import DuckDB
from tidings.engine.sql.row_queries import values_query
from tidings.errors import EngineFailed
from tidings.ir.expression import show
from tidings.lang.sql.parse import parsed

RAISED = "an error"
SORTED = ("array_sort(", "sort_array(", "SORT_ARRAY(")
"""Calls of functions that sort; of two zeros, which are equal, either may come first."""
ZERO, NEGATIVE_ZERO = struct.pack(">d", 0.0), struct.pack(">d", -0.0)
_RELATION, _NUMBER = "awkward", "__n"


class Evaluated(NamedTuple):
    """An expression, the type it is believed to have, and its value in DuckDB for each row, or :data:`RAISED`."""

    text: str
    type: str
    values: list[Any]

    @property
    def share(self) -> float:
        """For which share of the rows there is a value."""
        return 1 - self.values.count(RAISED) / len(self.values)


def evaluated(text: str, rows: pa.Table, engine: DuckDB) -> Evaluated | None:
    """An expression in DuckDB; None if the engines may not agree on it."""
    found = agreed(parsed(text), COLUMNS)
    if found is None:
        return None
    query = values_query(_RELATION, ROWS, [(found.expression, "string" if found.type == "void" else found.type)])

    def values(some: pa.Table) -> list[Any]:
        """The values for some rows; where it fails, those of each half."""
        try:
            return comparable(engine.over(_RELATION, some, query).column(0))
        except EngineFailed:
            if some.num_rows == 1:
                return [RAISED]
        half = some.num_rows // 2
        return values(some.slice(0, half)) + values(some.slice(half))

    return Evaluated(text, found.type, values(rows))


def differences(spark: Any, ours: list[Evaluated], rows: pa.Table) -> list[str]:
    """Where Spark gives another type, or another value for a row for which DuckDB has one.

    For the rows on which DuckDB fails, Spark would be asked; they are left out.
    """
    numbered = rows.append_column(_NUMBER, pa.array(range(rows.num_rows), pa.int32()))
    frame = spark.createDataFrame(numbered)
    for column in COLUMNS:
        if column.type == "timestamp_ntz":  # which Spark takes for a moment, as it reads the rows
            frame = frame.withColumn(column.name, frame[column.name].cast(column.type))
    frame.createOrReplaceTempView(_RELATION)
    items = [f"CASE WHEN {_has_value(e)} THEN {show(parsed(e.text))} END AS c{n}" for n, e in enumerate(ours)]
    answer = spark.sql(f"SELECT {', '.join(items)} FROM {_RELATION} ORDER BY {_NUMBER}")
    types = [field.dataType.simpleString() for field in answer.schema.fields]
    columns = answer.toArrow().columns
    found = [f"{e.text} is {type}, not {e.type}" for e, type in zip(ours, types, strict=True) if e.type != type]
    for e, column in zip(ours, columns, strict=True):
        for n, (mine, theirs) in enumerate(zip(e.values, comparable(column), strict=True)):
            if e.text.startswith(SORTED):
                mine, theirs = with_one_zero(mine), with_one_zero(theirs)
            if mine not in (theirs, RAISED):
                found.append(f"{e.text}: DuckDB {mine!r}, Spark {theirs!r} for {_mentioned(e.text, rows, n)}")
    return found


def _has_value(e: Evaluated) -> str:
    raised = [str(n) for n, value in enumerate(e.values) if value == RAISED]
    return f"NOT {_NUMBER} IN ({', '.join(raised) or '-1'})"


def _mentioned(text: str, rows: pa.Table, n: int) -> str:
    names = {c.name for c in parsed(text).find_all(type(parsed("x")))}
    return ", ".join(f"{name} = {rows.column(name)[n]}" for name in sorted(names))


def comparable(column: pa.ChunkedArray) -> list[Any]:
    """Values that are equal if all their bits are; dates and instants counted from the epoch, as Python has few."""
    return [_bits(value) for value in column]


def with_one_zero(value: Any) -> Any:
    """A comparable value in which 0.0 and -0.0 are the same."""
    if isinstance(value, list):
        return [with_one_zero(part) for part in value]
    return ZERO if value == NEGATIVE_ZERO else value


def _bits(value: pa.Scalar) -> object:
    """A value with floats by their bits, also inside of others; there is one NaN."""
    if not value.is_valid:
        return None
    match value:
        case pa.Date32Scalar() | pa.TimestampScalar():
            return value.value
        case pa.FloatScalar() | pa.DoubleScalar():
            number = value.as_py()
            return "NaN" if number != number else struct.pack(">d", number)
        case pa.MapScalar():
            return [[_bits(entry["key"]), _bits(entry["value"])] for entry in value.values]
        case pa.ListScalar():
            return [_bits(element) for element in value.values]
        case pa.StructScalar():
            return [_bits(field) for field in value.values()]
        case _:
            return value.as_py()
