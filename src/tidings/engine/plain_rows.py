"""Changes as plain rows: what came and what went, each row as often as its weight says."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.key_columns import LISTABLE
from tidings.engine.changes import added_up, repeated, rows_that_came, without_version
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Column


def plain_rows(changes: pa.Table, *, has_base: bool) -> tuple[pa.Table, pa.Table]:
    """The rows to add to a base and the rows to take from it; without a base no row may be left to take."""
    rows, weights = without_version(changes), changes.column(WEIGHT)
    if not pc.any(pc.less(weights, 0)).as_py():
        return rows_that_came(changes), rows.slice(0, 0)
    places, totals = added_up(rows, weights)
    net = rows.take(places)
    taken = repeated(net, pc.negate(totals))
    if taken.num_rows and not has_base:
        raise ValueError("a relation without a base has lost rows it never had")
    return repeated(net, totals), taken


def separating_column(went: pa.Table, columns: tuple[Column, ...]) -> Column | None:
    """A column by which few rows of a base can be told to be those that went; None if there is none.

    Taking some rows away from a bag compares all of its rows with each other, unless most of them are kept out of it:

        A - W  =  A where a is in no row of W  ⊎  (A where it is in one) - W
    """
    sure = [c for c in columns if c.type in LISTABLE and c.type != "boolean" and not went.column(c.name).null_count]
    return next(iter(sure), None)
