"""Random schemas: tables whose columns meet in joins and whose values meet each other.

Every type has a handful of values, so that keys match, rows repeat and NULL is common.  A column's *kind* groups
the types that compare and combine with each other (all integers are ``int``).  Within one case a column name always
stands for the same kind, so that any two relations may be joined by USING or NATURAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]

NAN = float("nan")
"""One object: containers compare their items by identity first, so this NaN equals itself in rows."""

TYPES: dict[str, tuple[str, ...]] = {
    "int": ("bigint", "int", "smallint"),
    "dec": ("decimal(10,2)", "decimal(5,2)", "decimal(12,4)", "decimal(20,0)"),
    "dbl": ("double",),
    "str": ("string",),
    "bool": ("boolean",),
    "date": ("date",),
    "ts": ("timestamp",),
    "arr": ("array<int>",),
    "row": ("struct<a:int,b:string>",),
}
KINDS = tuple(TYPES)
NUMERIC = ("int", "dec", "dbl")

VALUES: dict[str, tuple[Any, ...]] = {
    "int": (1, 1, 1, 2, 2, 0, 3, -1),
    "dec": (Decimal("0"), Decimal("1"), Decimal("2"), Decimal("2"), Decimal("-3")),
    "dbl": (0.0, 1.0, 2.0, 1.5, -2.25, NAN, float("inf")),
    "str": ("a", "a", "a", "b", "b", "", "A", "it's", "a%", "é", ' "q" ', "\\n"),
    "bool": (True, False),
    "date": (date(2024, 1, 1), date(2024, 2, 29), date(1969, 12, 31)),
    "ts": (
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 2, 29, 12, 30, 0, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ),
    "arr": ([], [1], [1, 2], [None], [2, None]),
    "row": ({"a": 1, "b": "a"}, {"a": None, "b": "b"}, {"a": 2, "b": None}, {"a": None, "b": None}),
}
_CENTS = (Decimal("1.50"), Decimal("-1.25"))

NAMES: dict[str, tuple[str, ...]] = {
    "int": ("k", "n", "Amount", "order"),
    "dec": ("price", "Total Due"),
    "dbl": ("d", "ratio"),
    "str": ("s", "Name", "a.b", 'qu"ote', "ti`ck"),
    "bool": ("flag", "Ünï"),
    "date": ("day",),
    "ts": ("ts", "select"),
    "arr": ("xs",),
    "row": ("pair",),
}
"""Names per kind, most of them odd on purpose: quoted, mixed case, key words, marks inside."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as view texts see it: its name and kind."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with the exact types of its columns."""

    name: str
    columns: tuple[Column, ...]
    types: tuple[str, ...]

    @property
    def definition(self) -> str:
        columns = ", ".join(f"{quote(c.name)} {t}" for c, t in zip(self.columns, self.types, strict=True))
        return f"CREATE TABLE {quote(self.name)} ({columns})"


def quote(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def value(rng: Random, kind: str, type: str) -> Any:
    """A value of a type, often NULL."""
    if rng.random() < 0.15:
        return None
    if kind == "dec" and not type.endswith(",0)") and rng.random() < 0.4:
        return rng.choice(_CENTS)
    return rng.choice(VALUES[kind])


def row(rng: Random, table: Table) -> Row:
    """A row of a table; now and then one of NULLs only."""
    if rng.random() < 0.05:
        return (None,) * len(table.columns)
    return tuple(value(rng, c.kind, t) for c, t in zip(table.columns, table.types, strict=True))


def tables(rng: Random) -> tuple[Table, ...]:
    """Two to four tables of one to four columns; the first column is mostly a key others have too."""
    names = rng.sample(["t", "Orders", "r2", "line item", "x.y"], k=rng.randint(2, 4))
    return tuple(_table(rng, name) for name in names)


def _table(rng: Random, name: str) -> Table:
    columns = [Column("k", "int")] if rng.random() < 0.85 else []
    wanted = rng.randint(1, 4)
    while len(columns) < wanted:
        kind = rng.choice(KINDS)
        column = Column(rng.choice(NAMES[kind]), kind)
        if column not in columns:
            columns.append(column)
    rng.shuffle(columns)
    return Table(name, tuple(columns), tuple(rng.choice(TYPES[c.kind]) for c in columns))


_ARROW = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<int>": pa.list_(pa.int32()),
    "struct<a:int,b:string>": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(5,2)": pa.decimal128(5, 2),
    "decimal(12,4)": pa.decimal128(12, 4),
    "decimal(20,0)": pa.decimal128(20, 0),
}


def arrow(table: Table, rows: list[Row]) -> pa.Table:
    """Rows of a table as Arrow, built without Tidings."""
    schema = pa.schema([pa.field(c.name, _ARROW[t]) for c, t in zip(table.columns, table.types, strict=True)])
    arrays = [pa.array([r[n] for r in rows], schema.field(n).type) for n in range(len(table.columns))]
    return pa.Table.from_arrays(arrays, schema=schema)
