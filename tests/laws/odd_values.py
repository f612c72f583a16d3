"""Values that nobody expects: at the ends of their types and beyond, of other types, of none, and objects that lie."""

from __future__ import annotations

import array
import enum
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp",
    "timestamp_ntz", "decimal(5,2)", "decimal(38,0)", "decimal(38,38)", "array<int>", "array<string>",
    "map<string,int>", "struct<a:int,b:string>", "array<struct<a:double>>", "map<int,array<date>>", "array<timestamp>",
)  # fmt: skip


class Colour(enum.Enum):
    RED = 1


class Number(int):
    """An integer of another class."""


class Silent:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("nothing to show")


class Index:
    """An object that can stand for a number."""

    def __index__(self) -> int:
        return 7

    def __float__(self) -> float:
        return 0.5


@dataclass
class Record:
    a: int = 1


class Liar(list[Any]):
    """A list that says it is longer than it is."""

    def __len__(self) -> int:
        return 3


POWERS = (7, 8, 15, 16, 31, 32, 53, 63, 64, 127, 128, 200)
TEXTS = (
    "", "\0", "a\0b", "\ud800", "\U0010ffff", "é", "e\u0301", "'; DROP TABLE t; --", "\u202e", "NaN", "1", "true",
    " 1 ", "2026-01-01", "x" * 10_000, "\r\n", "\\", "`", '"', "%s", ":v", "?", "{x}", "null", "$1", "''", "1e400",
    "0x10",
)  # fmt: skip
NUMBERS = (
    float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1.7976931348623157e308, 3.4028235e38, 3.4028236e38, 0.1,
    1e16, 9007199254740993.0, -1.5, 2.5, 1e-50, 0.005, 1e22,
)  # fmt: skip
DECIMALS = (
    "NaN", "sNaN", "Infinity", "-Infinity", "1E+40", "1E-40", "0.005", "9" * 38, "9" * 39, "-0", "1E+999999", "999.995",
    "0.1", "1E-999999", "-1.50",
)  # fmt: skip
OTHERS: tuple[Callable[[], Any], ...] = (
    lambda: None, lambda: True, lambda: False, object, Silent, Index, Record, lambda: Record, lambda: len,
    lambda: Ellipsis, lambda: 1j, lambda: Fraction(1, 3), lambda: Colour.RED, uuid.uuid4, lambda: PurePosixPath("/a"),
    lambda: Number(5), lambda: range(3), lambda: iter([1]), lambda: {1, 2}, lambda: frozenset({1}), lambda: Liar([1]),
    lambda: array.array("i", [1]), lambda: memoryview(b"ab"), lambda: bytearray(b"ab"), lambda: b"", lambda: b"\0\xff",
    lambda: time(1), lambda: timedelta.max, lambda: timedelta.min, lambda: timedelta(0), lambda: slice(1),
    lambda: np.array([1, 2]), lambda: np.array(1), lambda: np.array([[1]]), lambda: np.array([None], object),
    lambda: np.float16("nan"), lambda: np.float32(0.1), lambda: np.int8(-128), lambda: np.uint64(2**64 - 1),
    lambda: np.bool_(True), lambda: np.str_("a"), lambda: np.bytes_(b"a"), lambda: np.datetime64("NaT"),
    lambda: np.datetime64(2**62, "us"), lambda: np.datetime64("2026-01-01"), lambda: np.datetime64(5, "ns"),
    lambda: np.timedelta64(1, "s"), lambda: np.complex64(1), lambda: np.void(b"a"), lambda: pd.NA, lambda: pd.NaT,
    lambda: pd.Timestamp("2026-01-01 00:00:00.000000001"), lambda: pd.Timestamp.max, lambda: pd.Timedelta(1),
    lambda: pd.Series([1]), lambda: pd.DataFrame({"a": [1]}), lambda: pd.Interval(0, 1), lambda: pa.scalar(1),
    lambda: pa.scalar(None), lambda: pa.scalar("a"), lambda: pa.array([1]), lambda: {}, lambda: {"a": 1},
    lambda: {None: 1}, lambda: {1: 2}, lambda: {"a": None, "b": "x"}, lambda: {"A": 1, "a": 2}, lambda: {"c": 1},
    lambda: [("a", 1)], lambda: [("a", 1), ("a", 2)], lambda: [(None, 1)], lambda: [("a",)], lambda: [["a", 1]],
    lambda: {1: [date(2026, 1, 1)]}, lambda: [{"a": 1.5}], lambda: [{"a": 1.5}, None, {}], lambda: [{"a": "x"}],
)  # fmt: skip


def odd(rng: Random, depth: int = 0) -> Any:
    """Any value at all."""
    match rng.choice(["int", "float", "decimal", "text", "date", "instant", "other", "other", "nested"]):
        case "int":
            return rng.choice([-1, 1]) * (2 ** rng.choice(POWERS) + rng.randint(-2, 1))
        case "float":
            return rng.choice([*NUMBERS, rng.uniform(-1000, 1000), rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300)])
        case "decimal":
            return Decimal(rng.choice([*DECIMALS, f"{rng.uniform(-1000, 1000):.5f}"]))
        case "text":
            return rng.choice(
                [*TEXTS, "".join(chr(rng.choice([rng.randrange(128), rng.randrange(0x110000)])) for _ in "ab")]
            )
        case "date":
            return rng.choice([date.min, date.max, date(1582, 10, 10), date(1970, 1, 1), date(1, 1, 2)])
        case "instant":
            return instant(rng)
        case "nested" if depth < 4:
            parts = [odd(rng, depth + 1) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
            return rng.choice([parts, tuple(parts), {"a": parts}, dict(zip("abc", parts, strict=False))])
        case _:
            return rng.choice(OTHERS)()


def instant(rng: Random) -> datetime:
    zone = rng.choice([None, UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12, seconds=-7)), None])
    moment = rng.choice(
        [datetime.min, datetime.max, datetime(1582, 10, 10), datetime(1970, 1, 1), datetime(2026, 3, 29, 2, 30, fold=1),
         datetime(2026, 1, 1, 0, 0, 0, 999999), datetime(1883, 11, 18, 12, 3, 58), datetime(9999, 12, 31, 23, 59, 59)]
    )  # fmt: skip
    return moment.replace(tzinfo=zone)


ARROW = (
    pa.int8(), pa.uint8(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(),
    pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
    pa.binary(2), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.duration("us"), pa.timestamp("s"),
    pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ms", "America/New_York"), pa.decimal128(10, 3),
    pa.decimal256(60, 5), pa.null(), pa.list_(pa.int64()), pa.large_list(pa.string()), pa.list_(pa.int32(), 2),
    pa.struct([("a", pa.int64()), ("b", pa.string())]), pa.struct([("c", pa.int64())]),
    pa.map_(pa.string(), pa.int64()),
    pa.dictionary(pa.int8(), pa.string()), pa.list_(pa.struct([("a", pa.float32())])), pa.month_day_nano_interval(),
)  # fmt: skip


_LISTS: tuple[Any, ...] = ([], [1], [1, None], [2**31, -(2**31)])
_FITTING: dict[str, tuple[Any, ...]] = {
    "bool": (True, False),
    "null": (),
    "fixed_size_binary[2]": (b"\0\xff",),
    "list<item: int64>": _LISTS,
    "fixed_size_list<item: int32>[2]": ([1, None],),
    "large_list<item: large_string>": (["a"], []),
    "large_list<item: string>": (["a", None], []),
    "struct<a: int64, b: string>": ({"a": 2**40, "b": "x"}, {"a": None}),
    "struct<c: int64>": ({"c": 1},),
    "map<string, int64>": ([], [("a", 1)], [("a", 1), ("a", None)]),
    "list<item: struct<a: float>>": ([{"a": 1.5}, None], []),
    "month_day_nano_interval": (),
}
"""Values of types that are no numbers; texts for others. Arrow ends the process on some values that do not fit."""


def _is_number(kind: pa.DataType) -> bool:
    """Whether any bits are a value of a type."""
    is_any_of = (pa.types.is_integer, pa.types.is_floating, pa.types.is_temporal, pa.types.is_decimal)
    return any(test(kind) for test in is_any_of) and kind.bit_width >= 8


def odd_array(rng: Random) -> pa.Array:
    """An Arrow array of one value, of any type: mostly one from Arrow's own, made of bits."""
    for _ in range(20):
        kind = rng.choice(ARROW)
        try:
            if _is_number(kind) and rng.random() < 0.6:
                size = kind.bit_width // 8
                bits = rng.choice([b"\xff" * size, b"\xff" * (size - 1) + b"\x7f", b"\0" * (size - 1) + b"\x80", None])
                buffers = [None, pa.py_buffer(rng.randbytes(size) if bits is None else bits)]
                return pa.Array.from_buffers(kind, 1, buffers)
            return pa.array([rng.choice([None, *_FITTING.get(str(kind), TEXTS)])], kind)
        except Exception:  # whatever Arrow does not take
            continue
    return pa.nulls(1)
