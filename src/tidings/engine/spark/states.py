"""States of relations as frames: the rows of a base without those that went, and with those that came.

A state is read at about the cost of its base, which is gone through once:

- Where columns tell the rows of the base apart, as those of a primary key do, rows that went are found by these.
- Elsewhere they are found by the two columns in which they differ most.  That takes away other rows too, and equal ones
  of which only some went.  These *survivors* are found by a second query, once for a state, and are cached.
- Where no column can be joined by, all rows are counted.

Files and caches of a state are released with it.
"""

from __future__ import annotations

from contextlib import ExitStack

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidings.engine.plain_rows import plain_rows
from tidings.engine.source import Source
from tidings.engine.spark.bases import Bases
from tidings.engine.spark.session import quoted
from tidings.ir import types
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Column

_BROADCAST = 1_000_000
"""The keys of up to so many rows that went are sent to all tasks; with more, Spark chooses how to join them."""

_SEPARATING = 2
"""By so many columns rows that went are found where the relation has no key."""


def state(bases: Bases, source: Source, scratch: ExitStack) -> DataFrame:
    """The rows of a source as a plain bag; ``scratch`` releases what it is made of."""
    assert isinstance(source.changes, pa.Table)
    came, went = plain_rows(source.changes, has_base=source.base is not None)
    if source.base is None:
        return bases.local(came, scratch)
    frame = bases[source.base]
    if went.num_rows:
        frame = _without(bases, frame, source, went, scratch)
    return frame.unionAll(bases.local(came, scratch)) if came.num_rows else frame


def _without(bases: Bases, base: DataFrame, source: Source, went: pa.Table, scratch: ExitStack) -> DataFrame:
    """The rows of a base less some of them, which all are in it."""
    if source.key and not any("map<" in c.type for c in source.columns if c.name in source.key):
        return _joined(bases, base, went.select(source.key), "left_anti", scratch)
    names = _separating(source.columns, went)
    if not names:
        return _left_over(base, bases.local(went, scratch))
    keys = went.select(names).group_by(names).aggregate([])
    near = _joined(bases, base, keys, "left_semi", scratch)
    survivors = _left_over(near, bases.local(went, scratch)).cache()
    scratch.callback(survivors.unpersist)
    return _joined(bases, base, keys, "left_anti", scratch).unionAll(survivors)


def _separating(columns: tuple[Column, ...], went: pa.Table) -> list[str]:
    """The columns in which the rows that went differ most."""
    plain = [c.name for c in columns if not types.is_nested(c.type) and c.type not in ("boolean", "void")]
    values = {name: len(pc.unique(went.column(name))) for name in plain}
    return sorted(plain, key=lambda name: -values[name])[:_SEPARATING]


def _joined(bases: Bases, base: DataFrame, keys: pa.Table, how: str, scratch: ExitStack) -> DataFrame:
    """The rows of a base that have one of some keys, or none of them; NULL is a value like others."""
    names = {name: f"__key{n}" for n, name in enumerate(keys.column_names)}
    wanted = bases.local(keys.rename_columns(list(names.values())), scratch)

    def is_equal(name: str) -> SparkColumn:
        ours, other = F.col(quoted(name)), F.col(names[name])
        return ours.eqNullSafe(other) if keys.column(name).null_count else ours == other

    small = F.broadcast(wanted) if keys.num_rows <= _BROADCAST else wanted
    return base.join(small, [is_equal(name) for name in names], how)


def _left_over(rows: DataFrame, went: DataFrame) -> DataFrame:
    """A bag less another that is part of it, whatever types its columns have."""
    names = [quoted(name) for name in rows.columns]
    weighted = rows.select("*", F.lit(1).alias(WEIGHT)).unionAll(went.select("*", F.lit(-1).alias(WEIGHT)))
    counts = weighted.groupBy(*names).agg(F.sum(WEIGHT).cast("int").alias(WEIGHT)).filter(F.col(WEIGHT) > 0)
    return counts.select(*names, F.explode(F.sequence(F.lit(1), F.col(WEIGHT)))).select(*names)
