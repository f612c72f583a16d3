"""Columns of all types with awkward values in them, and expressions on which both engines must agree for each."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.ir.relation import Column

_MOST = "9" * 36 + ".99"
_SECOND = 10**6

VALUES: dict[str, tuple[str, list[Any]]] = {
    "t": ("tinyint", [0, 1, -1, 127, -128, None, 7]),
    "i": ("int", [0, 1, -1, 2147483647, -2147483648, None, 5, -7, 100, 12, 2]),
    "j": ("int", [2, 0, -1, 3, None, -2147483648, 7, 30]),
    "b": ("bigint", [0, 1, -1, (1 << 63) - 1, -(1 << 63), None, 10**12, 3, 1_700_000_000]),
    "d": ("decimal(10,2)", ["0.00", "1.50", "-2.25", "99999999.99", "-99999999.99", "0.01", "-0.01", None, "2.50"]),
    "e": ("decimal(5,3)", ["0.000", "1.005", "-1.005", "99.999", None, "0.001", "2.500", "-0.500"]),
    "w": ("decimal(38,2)", [_MOST, f"-{_MOST}", "0.00", None, "0.05", "123.45", "-7.00"]),
    "z": ("decimal(38,18)", ["0." + "0" * 17 + "1", "-1.5", "9" * 20 + "." + "9" * 18, None, "3.0", "0.0"]),
    "s": (
        "string",
        [
            *["", "a", "abc", " a b ", "Straße", "añb", "😀x", "e\u0301a", "long " * 1000, "%_", "7", " 42 ", "-1.5"],
            *["2024-02-29", "true", None, "line\nbreak", "\ttab\t", "日本語", "a,b,,c", '{"a": {"b": [1, "x"]}}'],
            *["2024-02-29 01:02:03.5", "NO", "1e3", "Hello wORLD", "\u00a0nbsp\u00a0", "0001-01-01", "abc\n", "a\\b"],
        ],
    ),
    "x": ("string", ["a", "", None, "b", "ñ", "😀", " ", "abc", "x" * 50]),
    "n": ("string", ["7", " 42 ", "-128", "2147483648", None, "-0", "007", "9" * 19]),
    "m": ("string", ["1.005", "-0.004999", "99999999.999", None, "12", "0.00", " 3.5 "]),
    "q": ("string", ["2024-02-29", "1582-10-10", None, "0001-01-01", "9999-12-31", " 1970-01-01 "]),
    "o": ("string", ["true", "F", " yes ", None, "0", "N", "1"]),
    "y": (
        "string",
        [
            *['{"a": {"b": [1, "x"]}}', '{"a": null}', None, '{"b": true}', '{"a": 1.50}', "[]", '{"a": "ñ\\n"}', "{"],
            *[
                '{"a": 1, "a": 2}',
                '{"a": "\\u00e9\\/"}',
                '{"a": 12345678901234567890}',
                '{"A": 1, "b": ""}',
                ' {"b":-0}',
            ],
        ],
    ),
    "f": ("double", [0.0, -0.0, 1.5, -2.5, nan, inf, -inf, 1e308, 5e-324, None, 0.1, 3.0, -0.4]),
    "g": ("double", [3.0, nan, -0.0, 2.5, None, 1e-300, -7.25]),
    "p": ("boolean", [True, False, None]),
    "r": ("boolean", [False, True, True, None]),
    "day": ("date", [19782, -1, -141427, -141428, -719162, 2932896, 10957, None, 19722, 2932897, -719163, 0, 11016]),
    "due": ("date", [0, 19782, None, 10987, -719162, 2932896]),
    "at": (
        "timestamp",
        [
            *[0, -1, 1_700_000_000_123_456, None, -12_219_292_800 * _SECOND, 253_402_300_799 * _SECOND + 999_999],
            *[-62_135_596_800 * _SECOND, 951_782_400 * _SECOND, 1_706_659_200 * _SECOND, 253_402_300_800 * _SECOND],
        ],
    ),
    "local": ("timestamp_ntz", [0, -1, 1_700_000_000_100_000, None, 253_402_300_799 * _SECOND]),
    "tags": ("array<int>", [[1], None, [], [3, None, -1, 3], [2147483647, 0]]),
    "words": ("array<string>", [["a", "", None], None, [], ["ñ", "a", "😀"]]),
    "floats": ("array<double>", [[nan, -0.0, 0.0, None, inf], None, [], [1.5]]),
    "deep": ("array<array<int>>", [[[1, None], []], None, [], [None, [2]], [[3], [-1, 0]]]),
    "entries": ("map<string,int>", [[("a", 1), ("b", None)], None, [], [("", -1)]]),
    "pair": ("struct<a:int,b:string>", [{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {"a": -1, "b": "ñ"}]),
    "pairs": ("array<struct<a:int,b:string>>", [[{"a": 1, "b": None}, {"a": None, "b": "x"}, None], None, []]),
    "bytes": ("binary", [b"", b"a", None, b"\xff\x00", "ñ".encode()]),
    "small": ("smallint", [0, 1, -1, 32767, -32768, None]),
    "single": ("float", [0.0, -0.0, 1.5, nan, inf, -inf, None, 0.10000000149011612, 3.0]),
}

EXPRESSIONS = [
    line
    for line in Path(__file__).with_name("expressions.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]

COLUMNS = tuple(Column(name, type) for name, (type, _) in VALUES.items())


def rows(size: int, seed: int = 1) -> pa.Table:
    """Rows that have every awkward value somewhere, beside random others."""
    rng = Random(seed)
    arrays = []
    for field, (_, values) in zip(arrow_schema(COLUMNS), VALUES.values(), strict=True):
        taken = [*values, *(rng.choice(values) for _ in range(size - len(values)))]
        rng.shuffle(taken)
        arrays.append(_array(taken, field.type))
    return pa.Table.from_arrays(arrays, schema=arrow_schema(COLUMNS))


def _array(values: list[Any], type: pa.DataType) -> pa.Array:
    """Values of a type; dates and instants are counted from the epoch, decimals are texts."""
    if pa.types.is_decimal(type):
        return pa.array(values, pa.string()).cast(type)
    if pa.types.is_date32(type):
        return pa.array(values, pa.int32()).cast(type)
    if pa.types.is_timestamp(type):
        return pa.array(values, pa.int64()).cast(type)
    return pa.array(values, type)
