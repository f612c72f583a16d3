"""Files of rows: Parquet, CSV with a header, and JSON with one object per line.

Texts in CSV and JSON are read as the types of the table's columns, so that ``2026-01-01`` is a date in a column of
dates.  Moments without a time zone are in UTC.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as jsonl
import pyarrow.parquet as pq

from tidings.engine.arrow import arrow_type
from tidings.errors import InvalidRow
from tidings.ir import types
from tidings.ir.relation import Column

_LINES = (".json", ".jsonl", ".ndjson")


def is_file_of_rows(path: Path) -> bool:
    """Whether a name is that of a file rows can be read from."""
    return path.suffix.lower() in (".parquet", ".csv", *_LINES)


def read_file(table: str, columns: tuple[Column, ...], path: Path) -> pa.Table:
    """The rows of a file, with the columns it has."""
    try:
        match path.suffix.lower():
            case ".parquet":
                return pq.read_table(path, partitioning=None)
            case ".csv":
                return _csv(columns, path)
            case suffix if suffix in _LINES:
                return _json(columns, path)
            case _:
                known = "Parquet (.parquet), CSV (.csv) and JSON lines (.jsonl)"
                raise InvalidRow(None, f"known files are {known}", row=1, table=table, reason=f"{path} is none")
    except (pa.ArrowInvalid, ValueError, OSError) as error:
        raise InvalidRow(row=1, table=table, reason=f"{path} cannot be read: {error}") from None


def _csv(columns: tuple[Column, ...], path: Path) -> pa.Table:
    with path.open(encoding="utf-8-sig") as lines:
        header = next(lines, "")
    written = {name.strip().strip('"').lower(): name.strip().strip('"') for name in header.split(",")}
    known = {written[c.name.lower()]: _text_type(c) for c in columns if c.name.lower() in written}
    column_types = {name: type for name, type in known.items() if type is not None}
    options = csv.ConvertOptions(column_types=column_types, strings_can_be_null=True, quoted_strings_can_be_null=False)
    return csv.read_csv(path, convert_options=options)


def _json(columns: tuple[Column, ...], path: Path) -> pa.Table:
    """JSON lines; a column that the first line does not have is in none of them."""
    with path.open(encoding="utf-8") as lines:
        first = json.loads(next(lines, "{}") or "{}")
    written = {str(name).lower(): str(name) for name in first}
    known = [(written.get(c.name.lower(), c.name), _text_type(c)) for c in columns]
    days = [name for name, type in known if type == pa.date32()]
    schema = pa.schema([(n, pa.string() if n in days else type) for n, type in known if type is not None])
    rows = jsonl.read_json(path, parse_options=jsonl.ParseOptions(explicit_schema=schema))
    absent = [n for n in rows.column_names if n not in first and rows.column(n).null_count == rows.num_rows]
    for name in set(days) - set(absent):
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, rows.column(place).cast(pa.date32()))
    return rows.drop_columns(absent)


def _text_type(column: Column) -> pa.DataType | None:
    """The type a text is read as; None where the file says it itself."""
    if types.is_nested(column.type) or column.type == "binary":
        return None
    return pa.timestamp("us") if column.type == "timestamp" else arrow_type(column.type)
