"""Changes as plain rows: what came and what went, each row as often as its weight says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.key_columns import LISTABLE
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column


def expanded(changes: pa.Table, *, net: bool) -> tuple[pa.Table, pa.Table]:
    """Rows to add to a base and rows to take from it; with ``net`` there is no base and rows cancel here."""
    rows = changes.drop_columns([TIME, WEIGHT])
    weights = changes.column(WEIGHT)
    if not pc.any(pc.less(weights, 0)).as_py():
        return _repeated(rows, weights), rows.slice(0, 0)
    totals: Counter[Any] = Counter()
    where: dict[Any, int] = {}
    for position, (row, weight) in enumerate(zip(row_keys(rows), weights.to_pylist(), strict=True)):
        totals[row] += weight
        where.setdefault(row, position)
    came = [where[r] for r, n in totals.items() for _ in range(n)]
    went = [where[r] for r, n in totals.items() for _ in range(-n)]
    if net and went:
        raise ValueError("a relation without a base has lost rows it never had")
    return rows.take(pa.array(came, pa.int64())), rows.take(pa.array(went, pa.int64()))


def parting(went: pa.Table, columns: tuple[Column, ...]) -> Column | None:
    """A column by which few rows of a base can be told to be those that went; None if there is none.

    Taking some rows away from a bag compares all of its rows with each other, unless most of them are kept out of it:

        A - W  =  A where a is in no row of W  ⊎  (A where it is in one) - W
    """
    sure = [c for c in columns if c.type in LISTABLE and c.type != "boolean" and not went.column(c.name).null_count]
    return next(iter(sure), None)


def _repeated(rows: pa.Table, weights: pa.ChunkedArray) -> pa.Table:
    """Each row as often as its weight says."""
    if pc.all(pc.equal(weights, 1)).as_py():
        return rows
    return rows.take(pa.array([place for place, n in enumerate(weights.to_pylist()) for _ in range(n)], pa.int64()))


def row_keys(rows: pa.Table) -> list[Any]:
    """Each row as a value that can be compared and hashed."""
    if not rows.num_columns:
        return [()] * rows.num_rows
    return list(zip(*(map(hashable, c.to_pylist()) for c in rows.columns), strict=True))


def hashable(value: Any) -> Any:
    """A value that equals another exactly when the two are the same SQL value.

    >>> hashable([1, {"a": float("nan")}]) == hashable([1, {"a": float("nan")}])
    True
    """
    match value:
        case list() | tuple():
            return tuple(map(hashable, value))
        case dict():
            return tuple((k, hashable(v)) for k, v in value.items())
        case float() if value != value:
            return "NaN"
        case _:
            return value
