"""What happens in the demonstration: the rows it begins with, and the transactions that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pyarrow as pa

OPENING = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
PAUSE = timedelta(minutes=30)
"""The time between two transactions."""

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowUpdate:
    """A row of a table and what takes its place."""

    table: str
    old: Row
    new: Row


@dataclass(frozen=True, slots=True)
class Deed:
    """One transaction and what people would say of it."""

    said: str
    updates: tuple[RowUpdate, ...]


DAY = (
    Deed("item 1: 380 pieces leave, 120 stay", (RowUpdate("quantity", (1, 500), (1, 120)),)),
    Deed(
        "item 2: 700 pieces leave and come back",
        (RowUpdate("quantity", (2, 800), (2, 100)), RowUpdate("quantity", (2, 100), (2, 800))),
    ),
    Deed("item 2: 490 pieces leave, 310 stay", (RowUpdate("quantity", (2, 800), (2, 310)),)),
    Deed("item 2: minimum stock raised to 250", (RowUpdate("min_stock", (2, 200), (2, 250)),)),
    Deed("item 1: a delivery fills the store", (RowUpdate("quantity", (1, 120), (1, 5000)),)),
    Deed(
        "item 2: 10 leave, delivery now takes a day",
        (RowUpdate("quantity", (2, 310), (2, 300)), RowUpdate("delivery_time", (2, 2, 3), (2, 2, 1))),
    ),
    Deed("item 1: 4861 pieces leave, 139 stay", (RowUpdate("quantity", (1, 5000), (1, 139)),)),
    Deed("item 1: 39 more leave, 100 stay", (RowUpdate("quantity", (1, 139), (1, 100)),)),
)
"""Item 1 is low below 140 pieces.  Item 2 is low below 290, later below 340 and then below 280."""


def sql(name: str) -> str:
    """The text of one of the SQL files in this package."""
    return (files("tidings.demo") / name).read_text(encoding="utf-8")


def opening_rows(generic: int) -> Mapping[str, pa.Table]:
    """The rows of every table before the first transaction: items 1 and 2, and as many generic ones as asked for.

    Nothing is drawn at random, so that two runs are alike.  About one generic item in a hundred is low.

    >>> opening_rows(1)["quantity"].to_pylist()
    [{'item': 1, 'quantity': 500}, {'item': 2, 'quantity': 800}, {'item': 3, 'quantity': 603}]
    """
    numbers = range(3, 3 + generic)
    items = [1, 2, *numbers]
    quantities = [500, 800, *(100 if n % 100 == 0 else 600 + n % 400 for n in numbers)]
    minima = [100, 200, *(100 + n % 7 * 10 for n in numbers)]
    consumed = [20, 30, *(10 + n % 21 for n in numbers)]
    days = [2, 3, *(1 + n % 5 for n in numbers)]
    return {
        "quantity": _table(item=items, quantity=quantities),
        "max_stock": _table(item=items, max_stock=[5000, 7500, *(5000 for _ in numbers)]),
        "min_stock": _table(item=items, min_stock=minima),
        "consume_freq": _table(item=items, consume_freq=consumed),
        "supplies": _table(supplier=items, item=items),
        "delivery_time": _table(item=items, supplier=items, delivery_time=days),
    }


def _table(**columns: list[int]) -> pa.Table:
    keys = {"item", "supplier"}
    return pa.table({n: pa.array(v, pa.int64() if n in keys else pa.int32()) for n, v in columns.items()})
