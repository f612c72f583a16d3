"""Rows as users give them, turned into Arrow of a table's types or refused with the row and column named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.errors import InvalidRow, closest
from tidings.ir import types
from tidings.ir.relation import Column


def read_rows(table: str, columns: tuple[Column, ...], data: Any) -> pa.Table:
    """Arrow rows from dictionaries, tuples, an Arrow table or a pandas frame."""
    if hasattr(data, "to_arrow_table") or hasattr(data, "toArrow"):
        data = data.toArrow() if hasattr(data, "toArrow") else data.to_arrow_table()
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table) and hasattr(data, "columns") and hasattr(data, "iloc"):
        data = pa.Table.from_pandas(data, preserve_index=False)
    if not isinstance(data, pa.Table | Iterable):
        raise InvalidRow(row=1, table=table, reason=f"{data!r} holds no rows")
    records = data.to_pylist() if isinstance(data, pa.Table) else list(data)
    rows = [_record(table, columns, number, record) for number, record in enumerate(records, 1)]
    schema = arrow_schema(columns)
    arrays = [_array(table, column, schema.field(n).type, [row[n] for row in rows]) for n, column in enumerate(columns)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _record(table: str, columns: tuple[Column, ...], number: int, record: Any) -> list[Any]:
    """The values of one row in the order of the columns; a column that is not given is NULL."""
    if isinstance(record, Mapping):
        by_name = {str(k).lower(): v for k, v in record.items()}
        known = {c.name.lower() for c in columns}
        for name in by_name:
            if name not in known:
                hint = closest(name, [c.name for c in columns])
                raise InvalidRow(None, hint, row=number, table=table, reason=f"there is no column named {name}")
        return [by_name.get(c.name.lower()) for c in columns]
    if isinstance(record, Iterable) and not isinstance(record, str | bytes):
        values = list(record)
        if len(values) == len(columns):
            return values
        reason = f"it has {len(values)} values, the table {len(columns)} columns"
        raise InvalidRow(row=number, table=table, reason=reason)
    raise InvalidRow(row=number, table=table, reason=f"{record!r} is not a row")


def _fitting(value: Any, type: str) -> Any:
    """A value that fits its type as it is: no fraction cut off, every struct with exactly the fields of its type."""
    if type in types.INTEGRAL and isinstance(value, float) and not value.is_integer():
        raise ValueError("a fraction would be lost")
    if value is None or not types.is_nested(type):
        return value
    fields = types.fields(type)
    if fields and isinstance(value, Mapping):
        given = {str(k).lower(): v for k, v in value.items()}
        unknown = set(given) - {name.lower() for name, _ in fields}
        if unknown:
            raise ValueError(f"no field named {', '.join(sorted(unknown))}")
        return {name: _fitting(given.get(name.lower()), kind) for name, kind in fields}
    inner = types.elements(type)
    if len(inner) == 1 and isinstance(value, list | tuple):
        return [_fitting(v, inner[0]) for v in value]
    return value


def _array(table: str, column: Column, type: pa.DataType, values: list[Any]) -> pa.Array:
    try:
        return pa.array([_fitting(v, column.type) for v in values], type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError):
        for number, value in enumerate(values, 1):
            try:
                pa.array([_fitting(value, column.type)], type)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError):
                reason = f"{value!r} is no value for {column.name}, which is {column.type}"
                raise InvalidRow(row=number, table=table, reason=reason) from None
        raise
