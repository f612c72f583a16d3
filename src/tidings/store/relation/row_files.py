"""Files of rows: Parquet, CSV with a header, and JSON with one object per line; one file, a pattern or a folder.

Texts in CSV and JSON are read as the types of the table's columns, so that ``2026-01-01`` is a date in a column of
dates.  Moments without a time zone are in UTC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from glob import glob
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as jsonl
import pyarrow.parquet as pq

from tidings.engine.arrow import arrow_type
from tidings.errors import InvalidRow
from tidings.ir import types
from tidings.ir.relation import Column
from tidings.store.relation.progress import Seen, nobody

_LINES = (".json", ".jsonl", ".ndjson")
_WIDE = pa.decimal256(76, 38)
"""Decimals with room for digits that are rounded away later."""
_PATTERN = re.compile(r"[*?\[]")


FORMATS = {"parquet": ".parquet", "csv": ".csv", "json": ".json"}
"""What the files of a format are called."""


def names_files(data: object) -> bool:
    """Whether something is the name of files that rows can be read from, and not the rows."""
    if not isinstance(data, str) or "\0" in data:
        return isinstance(data, Path)
    return is_file_of_rows(Path(data)) or bool(_PATTERN.search(data)) or Path(data).is_dir()


def is_file_of_rows(path: Path) -> bool:
    """Whether a name is that of a file rows can be read from."""
    return path.suffix.lower() in (".parquet", ".csv", *_LINES)


def read_files(
    table: str, columns: tuple[Column, ...], pattern: str | Path, format: str | None = None, seen: Seen = nobody
) -> Iterator[tuple[Path, pa.Table]]:
    """The rows of each file that a pattern such as ``sales/*.csv`` fits, or of those in a folder, in order of name."""
    paths = _files(table, pattern, format)
    for done, path in enumerate(paths, 1):
        yield path, read_file(table, columns, path, format)
        seen(done, len(paths))


def read_together(table: str, columns: tuple[Column, ...], pattern: str | Path) -> pa.Table:
    """The same in one table."""
    tables = [rows for _, rows in read_files(table, columns, pattern)]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = f"the files {pattern} have columns of different types: {str(error).splitlines()[0]}"
        raise InvalidRow(row=1, table=table, reason=reason) from None


def _files(table: str, pattern: str | Path, format: str | None) -> list[Path]:
    text = str(pattern)
    if Path(text).is_dir():
        inside = sorted(Path(text).iterdir())
        paths = [p for p in inside if p.is_file() and not p.name.startswith((".", "_"))]
        paths = [p for p in paths if format is not None or is_file_of_rows(p)]
    elif _PATTERN.search(text) and not Path(text).exists():
        paths = [Path(p) for p in sorted(glob(text, recursive=True)) if Path(p).is_file()]
    else:
        return [Path(text)]
    if not paths:
        hint = "a pattern has * for any part of a name, ** for any folders"
        raise InvalidRow(None, hint, row=1, table=table, reason=f"there is no file {text}")
    return paths


def read_file(table: str, columns: tuple[Column, ...], path: Path, format: str | None = None) -> pa.Table:
    """The rows of a file, with the columns it has."""
    suffix = path.suffix.lower() if format is None else FORMATS[format]
    try:
        match suffix:
            case ".parquet":
                return pq.read_table(path, partitioning=None)
            case ".csv":
                return _csv(columns, path)
            case _ if suffix in _LINES:
                return _json(columns, path)
            case _:
                known = "Parquet (.parquet), CSV (.csv) and JSON lines (.jsonl)"
                raise InvalidRow(None, f"known files are {known}", row=1, table=table, reason=f"{path} is none")
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError) as error:
        row, reason = 1, _WRONG.get(suffix, _WRONG_JSON)
        if suffix == ".csv":
            row, reason = _wrong_text(columns, path)
        raise InvalidRow(row=row, table=table, reason=f"{path} cannot be read: {reason}") from error
    except OSError as error:
        reason = f"there is no file {path}" if isinstance(error, FileNotFoundError) else _system(path, error)
        raise InvalidRow(row=1, table=table, reason=reason) from None


_WRONG = {".parquet": "it is no Parquet file"}
_WRONG_JSON = "it is no JSON with an object per line, each value of the type of its column"


def _system(path: Path, error: OSError) -> str:
    return f"{path} cannot be read: {error.strerror or 'the system refuses it'}"


def _wrong_text(columns: tuple[Column, ...], path: Path) -> tuple[int, str]:
    """What is wrong with a CSV file, and in which row: the first text that is no value of its column."""
    known = {c.name.lower(): c for c in columns}
    try:
        texts = csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=_all_texts(path)))
    except (pa.ArrowInvalid, ValueError):
        return 1, "it is no CSV in UTF-8 with a header and as many values in every line"
    for name in texts.column_names:
        column = known.get(name.lower())
        type = None if column is None else _text_type(column)
        if column is None or type is None or pa.types.is_decimal(type):
            continue
        for number, text in enumerate(texts.column(name).to_pylist(), 1):
            if text and not _is_one(text, type):
                return number, f"{text!r} is no value for {column.name}, which is {column.type}"
    return 1, "a text is no value of its column"


def _all_texts(path: Path) -> dict[str, pa.DataType]:
    with path.open(encoding="utf-8-sig") as lines:
        names = [name.strip().strip('"') for name in next(lines, "").split(",")]
    return dict.fromkeys(names, pa.string())


def _is_one(text: str, type: pa.DataType) -> bool:
    """Whether a text of a CSV file is a value of a type, as the reader of such files judges it."""
    options = csv.ConvertOptions(column_types={"v": type})
    try:
        csv.read_csv(pa.BufferReader(b'v\n"' + text.replace('"', '""').encode() + b'"\n'), convert_options=options)
    except pa.ArrowInvalid:
        return False
    return True


def _csv(columns: tuple[Column, ...], path: Path) -> pa.Table:
    with path.open(encoding="utf-8-sig") as lines:
        header = next(lines, "")
    written = {name.strip().strip('"').lower(): name.strip().strip('"') for name in header.split(",")}
    known = {written[c.name.lower()]: _text_type(c) for c in columns if c.name.lower() in written}
    column_types = {name: type for name, type in known.items() if type is not None}
    decimals = [name for name, type in column_types.items() if pa.types.is_decimal(type)]
    column_types |= dict.fromkeys(decimals, pa.string())
    options = csv.ConvertOptions(column_types=column_types, strings_can_be_null=True, quoted_strings_can_be_null=False)
    rows = csv.read_csv(path, convert_options=options)
    for name in set(decimals) & set(rows.column_names):
        rows = rows.set_column(rows.column_names.index(name), name, _decimals(name, rows.column(name)))
    return rows


def _decimals(name: str, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as decimals with all the digits they have: those that are too many are rounded away later."""
    try:
        return texts.cast(_WIDE)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        try:
            return pa.chunked_array([pa.array([None if t is None else Decimal(t) for t in texts.to_pylist()])])
        except ArithmeticError:
            raise ValueError(f"{name} has a text that is no number") from None


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
    if types.decimal(column.type) is not None:
        return _WIDE
    return pa.timestamp("us") if column.type == "timestamp" else arrow_type(column.type)
