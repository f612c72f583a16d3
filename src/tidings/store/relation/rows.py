"""Rows as users give them, turned into Arrow of a table's types or refused with the row and column named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from reprlib import Repr
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_schema
from tidings.errors import InvalidRow, TidingsError, closest
from tidings.ir.relation import Column
from tidings.store.relation.progress import Seen, nobody
from tidings.store.relation.row_files import names_files, read_files, read_together
from tidings.store.relation.values import fitting

_SHOWN = Repr()
_SHOWN.maxstring = _SHOWN.maxother = _SHOWN.maxlong = 200
"""Shows values, also those that are long or fail when they are to be shown."""

BATCH = 50_000
"""So many records of an iterator are held as Python values at a time."""


def read_rows(
    table: str,
    columns: tuple[Column, ...],
    data: Any,
    defaults: Mapping[str, Any] | None = None,
    seen: Seen = nobody,
) -> pa.Table:
    """Arrow rows from whatever holds rows; a column that is absent has its default, else NULL."""
    if isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
        return _by_batches(table, columns, data, defaults or {}, seen)
    if names_files(data):
        return rows_of_files(table, columns, data, defaults or {}, None, seen)
    return _read(table, columns, as_records(table, columns, data), defaults or {})


def rows_of_files(
    table: str,
    columns: tuple[Column, ...],
    files: str | Path,
    defaults: Mapping[str, Any],
    format: str | None,
    seen: Seen,
) -> pa.Table:
    """Arrow rows from files that a name or a pattern stands for; one that is refused is named with its file."""
    tables = [arrow_schema(columns).empty_table()]
    for path, rows in read_files(table, columns, files, format, seen):
        try:
            tables.append(_read(table, columns, rows, defaults))
        except InvalidRow as refused:
            reason = f"{refused.parameters['reason']}, in {path}"
            raise InvalidRow(None, refused.hint, **{**refused.parameters, "reason": reason}) from None
    return pa.concat_tables(tables)


def _by_batches(
    table: str, columns: tuple[Column, ...], records: Iterator[Any], defaults: Mapping[str, Any], seen: Seen
) -> pa.Table:
    tables, count = [arrow_schema(columns).empty_table()], 0
    while batch := _next_records(table, records, count):
        tables.append(_read(table, columns, batch, defaults, count))
        count += len(batch)
        seen(count, None)
    return pa.concat_tables(tables)


def _next_records(table: str, records: Iterator[Any], before: int) -> list[Any]:
    """A batch of records; what gives them is the user's, and may raise what it likes."""
    batch: list[Any] = []
    try:
        batch.extend(islice(records, BATCH))
    except TidingsError:
        raise
    except Exception as error:
        reason = f"the iterator of the rows raised {type(error).__name__} ({error})"
        raise InvalidRow(row=before + len(batch) + 1, table=table, reason=reason) from error
    return batch


def _read(
    table: str,
    columns: tuple[Column, ...],
    records: pa.Table | list[Any],
    defaults: Mapping[str, Any],
    before: int = 0,
) -> pa.Table:
    """The same of records; ``before`` were read before them, for the numbers of rows that are refused."""
    if isinstance(records, pa.Table):
        as_it_is = _as_it_is(columns, records, defaults)
        if as_it_is is not None:
            return as_it_is
        records = _python_values(table, records)
    rows = [_record(table, columns, number, record, defaults) for number, record in enumerate(records, before + 1)]
    schema = arrow_schema(columns)
    arrays = [
        _array(table, column, schema.field(n).type, [row[n] for row in rows], before)
        for n, column in enumerate(columns)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def as_records(table: str, columns: tuple[Column, ...], data: Any) -> pa.Table | list[Any]:
    """Rows as an Arrow table or as a list of records: dictionaries and tuples, frames, files."""
    if names_files(data):
        return read_together(table, columns, data)
    if hasattr(data, "collect_schema"):  # a lazy frame of polars, which does not like to be asked for its columns
        data = data.collect() if hasattr(data, "collect") else data
    if hasattr(data, "to_arrow_table") or hasattr(data, "toArrow"):
        data = data.toArrow() if hasattr(data, "toArrow") else data.to_arrow_table()
    if not isinstance(data, pa.Table) and hasattr(data, "columns") and hasattr(data, "iloc"):
        data = _of_frame(data)
    if not isinstance(data, pa.Table) and hasattr(data, "__arrow_c_stream__"):
        data = pa.table(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table | Iterable):
        raise InvalidRow(row=1, table=table, reason=f"{_SHOWN.repr(data)} holds no rows")
    if isinstance(data, Mapping):
        return _of_columns(table, columns, data)
    if isinstance(data, str | bytes):
        hint = "give a list of rows; a name of files ends in .parquet, .csv or .jsonl, or is that of a folder"
        raise InvalidRow(None, hint, row=1, table=table, reason=f"{_SHOWN.repr(data)} holds no rows")
    return data if isinstance(data, pa.Table) else list(data)


def _of_columns(table: str, columns: tuple[Column, ...], data: Mapping[Any, Any]) -> list[Any]:
    """One row as a dictionary, or lists of values by column.

    Lists are columns unless the columns are of arrays.
    """
    types = {c.name.lower(): c.type for c in columns}
    lists = data and all(isinstance(v, list | tuple | pa.Array | pa.ChunkedArray) for v in data.values())
    if not lists or all(types.get(str(name).lower(), "").startswith("array") for name in data):
        return [data]
    lengths = {len(values) for values in data.values()}
    if len(lengths) > 1:
        raise InvalidRow(row=min(lengths) + 1, table=table, reason="the columns have different lengths")
    values = (v.to_pylist() if isinstance(v, pa.Array | pa.ChunkedArray) else v for v in data.values())
    return [dict(zip(data, row, strict=True)) for row in zip(*values, strict=True)]


def _of_frame(frame: Any) -> pa.Table | list[Any]:
    """The rows of a frame of pandas; as records, if a column has values of several types."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return list(frame.astype(object).where(frame.notna(), None).to_dict("records"))


def _python_values(table: str, rows: pa.Table) -> list[dict[str, Any]]:
    """The rows of an Arrow table as records; Arrow has values that Python has not."""
    try:
        return list(rows.to_pylist())
    except (pa.ArrowException, OverflowError, ValueError):
        for number in range(rows.num_rows):
            for name in rows.column_names:
                try:
                    rows.column(name)[number].as_py()
                except (pa.ArrowException, OverflowError, ValueError) as error:
                    reason = f"a value of {name} is none that Python knows: {error}"
                    raise InvalidRow(row=number + 1, table=table, reason=reason) from None
        raise


def _as_it_is(columns: tuple[Column, ...], rows: pa.Table, defaults: Mapping[str, Any]) -> pa.Table | None:
    """An Arrow table whose values need no look one by one, with a table's columns; None if they do."""
    by_name = {name.lower(): name for name in rows.column_names}
    if len(by_name) != rows.num_columns or set(by_name) - {c.name.lower() for c in columns}:
        return None
    schema = arrow_schema(columns)
    arrays = []
    for column, field in zip(columns, schema, strict=True):
        values = rows.column(by_name[column.name.lower()]) if column.name.lower() in by_name else None
        if values is None:
            values = pa.chunked_array([pa.repeat(pa.scalar(defaults.get(column.name), field.type), rows.num_rows)])
        if not values.type.equals(field.type):
            if not any(alike(values.type) and alike(field.type) for alike in _ALIKE):
                return None
            try:
                cast = values.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                return None
            if pa.types.is_float32(field.type) and _is_cut(values, cast):
                return None
            values = cast
        arrays.append(values)
    return pa.Table.from_arrays(arrays, schema=schema)


def _is_cut(values: pa.ChunkedArray, cast: pa.ChunkedArray) -> bool:
    """Whether a number became infinite."""
    return bool(pc.any(pc.and_(pc.is_inf(cast), pc.is_finite(values))).as_py())


_ALIKE = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    lambda type: pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type),
)
"""Types between which a value stays what it is, or the cast fails."""


def _record(
    table: str, columns: tuple[Column, ...], number: int, record: Any, defaults: Mapping[str, Any]
) -> list[Any]:
    """The values of one row in the order of the columns."""
    if isinstance(record, Mapping):
        by_name = {str(k).lower(): v for k, v in record.items()}
        known = {c.name.lower() for c in columns}
        for name in by_name:
            if name not in known:
                hint = closest(name, [c.name for c in columns])
                raise InvalidRow(None, hint, row=number, table=table, reason=f"there is no column named {name}")
        return [by_name[c.name.lower()] if c.name.lower() in by_name else defaults.get(c.name) for c in columns]
    if isinstance(record, Iterable) and not isinstance(record, str | bytes):
        values = list(record)
        if len(values) == len(columns):
            return values
        reason = f"it has {len(values)} values, the table {len(columns)} columns"
        raise InvalidRow(row=number, table=table, reason=reason)
    raise InvalidRow(row=number, table=table, reason=f"{_SHOWN.repr(record)} is not a row")


def _array(table: str, column: Column, type: pa.DataType, values: list[Any], before: int) -> pa.Array:
    try:
        return pa.array([fitting(v, column.type) for v in values], type)
    except Exception:  # a value may be of a class of the user's, and raise what it likes
        for number, value in enumerate(values, before + 1):
            try:
                pa.array([fitting(value, column.type)], type)
            except Exception:
                reason = f"{_SHOWN.repr(value)} is no value for {column.name}, which is {column.type}"
                raise InvalidRow(row=number, table=table, reason=reason) from None
        raise
