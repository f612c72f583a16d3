"""Values that a column can hold and give back: everything else is refused with its row and column, by every way in.

Python knows dates and instants of the years 1 to 9999, Arrow and the engines more; Arrow knows maps with a key twice,
the engines do not.  Such a value could be stored, and no row that has it could be shown, changed or removed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidings.errors import InvalidRow
from tidings.ir import types

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANTS = tuple(
    (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) for moment in (datetime.min, datetime.max)
)
_DAYS = tuple((day - _EPOCH.date()).days for day in (date.min, date.max))
_LARGEST_FLOAT = 3.4028235677973366e38
"""From here on a number is infinite in single precision."""
_LARGEST_DECIMAL = 400
"""A decimal of more digits fits no type, and takes Python minutes to compare with a whole number."""


def require_known_values(table: str, rows: pa.Table) -> None:
    """Refuse rows with dates or instants that Python does not know, and maps that have a key twice."""
    for field in rows.schema:
        if _is_looked_at(field.type):
            for chunk in rows.column(field.name).chunks:
                _check(table, field.name, chunk, rows.column(field.name))


def _is_looked_at(type: pa.DataType) -> bool:
    if pa.types.is_date(type) or pa.types.is_timestamp(type) or pa.types.is_map(type):
        return True
    return any(_is_looked_at(type.field(n).type) for n in range(type.num_fields))


def _check(table: str, column: str, values: pa.Array, whole: pa.ChunkedArray) -> None:
    """Refuse an array that has such a value, also inside of its lists, structs and maps."""
    if pa.types.is_date32(values.type) or pa.types.is_timestamp(values.type):
        low, high = _DAYS if pa.types.is_date32(values.type) else _INSTANTS
        numbers = values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
        extremes = pc.min_max(numbers)
        least, greatest = extremes["min"].as_py(), extremes["max"].as_py()
        if least is not None and (least < low or greatest > high):
            reason = f"a value of {column} is outside of the years 1 to 9999"
            raise InvalidRow(row=_row(numbers, low, high, whole), table=table, reason=reason)
    elif pa.types.is_struct(values.type):
        for part in values.flatten():
            _check(table, column, part, whole)
    elif pa.types.is_map(values.type):
        _check_keys(table, column, values, whole)
        for part in (values.keys, values.items):
            _check(table, column, part, whole)
    elif pa.types.is_list(values.type):
        _check(table, column, values.flatten(), whole)


def _check_keys(table: str, column: str, maps: pa.MapArray, whole: pa.ChunkedArray) -> None:
    """Refuse maps with a key twice."""
    entries = maps.cast(pa.list_(pa.struct([("key", maps.type.key_type), ("value", maps.type.item_type)])))
    keys = entries.flatten().flatten()[0]
    if pa.types.is_floating(keys.type):
        keys = pc.add(keys, 0.0)  # of two zeros there is one
    pairs = pa.table({"map": pc.list_parent_indices(entries), "key": keys})
    if pa.types.is_nested(keys.type):
        pairs = pairs.set_column(1, "key", pa.array(map(repr, keys.to_pylist()), pa.string()))
    twice = pairs.group_by(["map", "key"]).aggregate([([], "count_all")]).filter(pc.field("count_all") > 1)
    if twice.num_rows:
        row = pc.min(twice.column("map")).as_py() + 1 if len(maps) == len(whole) else 1
        raise InvalidRow(row=row, table=table, reason=f"a map in {column} has a key twice")


def _row(numbers: pa.Array, low: int, high: int, whole: pa.ChunkedArray) -> int:
    """The number of the first row with such a value, where a row has one value."""
    if len(numbers) != len(whole):
        return 1
    return next((n for n, v in enumerate(numbers.to_pylist(), 1) if v is not None and not low <= v <= high), 1)


def fitting(value: Any, type: str) -> Any:
    """A value that fits its type as it is, else a ValueError.

    No fraction is cut off, no number becomes infinite, every struct has exactly the fields of its type, a map is a map.

    >>> fitting({"b": 2.0}, "struct<a:int,b:int>"), fitting({"x": 1}, "map<string,int>")
    ({'a': None, 'b': 2.0}, [('x', 1)])
    """
    if isinstance(value, _numbers()):
        value = value.item()
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > _LARGEST_DECIMAL:
        raise ValueError("it is too large")
    if type in types.INTEGRAL and isinstance(value, float | Decimal) and not _is_whole(value):
        raise ValueError("a fraction would be lost")
    if type == "float" and isinstance(value, float | Decimal | int) and _overflows(value):
        raise ValueError("it is too large")
    if isinstance(value, float | Decimal) and types.decimal(type) is not None:
        return rounded(value, type)
    if value is None or not types.is_nested(type):
        return value
    return _nested(value, type)


def rounded(value: Decimal | float, type: str) -> Decimal:
    """A number as one of a decimal type, rounded half up, as an INSERT of SQL does; a float counts as it is written.

    >>> rounded(Decimal("1.005"), "decimal(6,2)"), rounded(-0.125, "decimal(6,2)")
    (Decimal('1.01'), Decimal('-0.13'))
    """
    number = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    _, scale = types.decimal(type) or (0, 0)
    if not number.is_finite() or number.adjusted() > 40:
        raise ValueError("it is no number of a decimal type")
    return number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=80))


def _nested(value: Any, type: str) -> Any:
    fields = types.fields(type)
    if fields and isinstance(value, Mapping):
        by_name = {str(k).lower(): v for k, v in value.items()}
        unknown = set(by_name) - {name.lower() for name, _ in fields}
        if unknown:
            raise ValueError(f"no field named {', '.join(sorted(unknown))}")
        return {name: fitting(by_name.get(name.lower()), kind) for name, kind in fields}
    inner = types.elements(type)
    if type.startswith("map<"):
        return _map(value, inner)
    if len(inner) == 1 and isinstance(value, list | tuple):
        return [fitting(v, inner[0]) for v in value]
    return value


def _map(value: Any, inner: tuple[str, ...] | list[str]) -> list[tuple[Any, Any]]:
    """The pairs of a map; Arrow ends the process on some that are none."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list | tuple) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        raise ValueError("it is no map")
    if any(key is None for key, _ in pairs):
        raise ValueError("a key of a map is not NULL")
    return [(fitting(key, inner[0]), fitting(item, inner[1])) for key, item in pairs]


def _is_whole(value: float | Decimal) -> bool:
    return math.isfinite(value) and value == int(value)


def _overflows(value: Any) -> bool:
    return (isinstance(value, int) or math.isfinite(value)) and bool(abs(value) >= _LARGEST_FLOAT)


def _numbers() -> tuple[type[Any], ...]:
    """The numbers of NumPy, if it is there."""
    numpy = sys.modules.get("numpy")
    return () if numpy is None else (numpy.number, numpy.bool_)
