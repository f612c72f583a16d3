"""Changes as Arrow tables: the columns of a relation, then ``__t``, the instant, and ``__w``, the weight.

The one place where these two columns are appended, where equal rows are added up, and where old rows are paired with
new ones.  All functions return new tables; none keeps state.  Arrow's kernels do the work, so it costs what a pass over
the rows costs.  Two things turn rows into Python values: pairing, which is for the changes of a transaction or an
answer, and what Arrow cannot group, the values of nested columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_schema
from tidings.engine.row_values import groupable, row_keys
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column

Numbers: TypeAlias = int | Sequence[int] | pa.Array | pa.ChunkedArray
"""One number for all rows, or one for each."""

_FEW = 50
"""Up to this many rows are added up as Python values, which is faster."""

Pairing: TypeAlias = tuple[int | None, int | None]
"""The places of an old row and of the new one in its stead; None where there is none."""


def versioned(rows: pa.Table, time: Numbers = 0, weights: Numbers = 1) -> pa.Table:
    """Rows as changes: with an instant and a weight.

    >>> versioned(pa.table({"a": [1, 2]}), 7, [1, -1]).to_pylist()
    [{'a': 1, '__t': 7, '__w': 1}, {'a': 2, '__t': 7, '__w': -1}]
    """
    changes = rows.append_column(TIME, _numbers(time, rows.num_rows))
    return changes.append_column(WEIGHT, _numbers(weights, rows.num_rows))


def as_changes(columns: Sequence[Column], rows: pa.Table, weights: Numbers = 1, time: Numbers = 0) -> pa.Table:
    """Rows of a relation as changes in exactly the types of its columns, as they would stand in its log."""
    changes, schema = versioned(rows, time, weights), arrow_schema(columns, versioned=True)
    return changes if changes.schema.equals(schema) else changes.cast(schema)


def no_changes(columns: Sequence[Column]) -> pa.Table:
    """The changes of a relation that has none."""
    return _no_changes(tuple(columns))


@lru_cache(maxsize=4096)
def _no_changes(columns: tuple[Column, ...]) -> pa.Table:
    """The same, made once: most waves have none."""
    return arrow_schema(columns, versioned=True).empty_table()


def without_version(changes: pa.Table) -> pa.Table:
    """The rows of changes alone."""
    return changes.drop_columns([TIME, WEIGHT])


def at_instant(changes: pa.Table, time: int) -> pa.Table:
    """The same changes, all at one instant."""
    place = changes.schema.get_field_index(TIME)
    return changes.set_column(place, changes.schema.field(place), _numbers(time, changes.num_rows))


def inverted(changes: pa.Table, time: int = 0) -> pa.Table:
    """Changes that undo others, at one instant."""
    place = changes.schema.get_field_index(WEIGHT)
    undone = changes.set_column(place, changes.schema.field(place), pc.negate(changes.column(WEIGHT)))
    return at_instant(undone, time)


def added_up(rows: pa.Table, weights: Numbers) -> tuple[pa.Array, pa.Array]:
    """The places of rows whose weights do not cancel, each distinct row once, and what its weights add up to.

    >>> places, totals = added_up(pa.table({"a": [1, 2, 1, 3]}), [1, 1, 1, 0])
    >>> places.to_pylist(), totals.to_pylist()
    ([0, 1], [2, 1])
    """
    count = rows.num_rows
    if count <= _FEW:
        return _few_added_up(rows, _numbers(weights, count).to_pylist())
    keys = {str(n): groupable(column) for n, column in enumerate(rows.columns)}
    entries = pa.table(keys | {"place": pa.arange(0, count), "weight": _numbers(weights, count)})
    groups = entries.group_by(list(keys), use_threads=False).aggregate([("place", "min"), ("weight", "sum")])
    left = groups.filter(pc.not_equal(groups.column("weight_sum"), 0)).sort_by("place_min")
    return left.column("place_min").combine_chunks(), left.column("weight_sum").combine_chunks()


def _few_added_up(rows: pa.Table, weights: list[int]) -> tuple[pa.Array, pa.Array]:
    totals: dict[object, int] = {}
    first: dict[object, int] = {}
    for place, (row, weight) in enumerate(zip(row_keys(rows), weights, strict=True)):
        totals[row] = totals.get(row, 0) + weight
        first.setdefault(row, place)
    left = [row for row, total in totals.items() if total]
    return pa.array([first[row] for row in left], pa.int64()), pa.array([totals[row] for row in left], pa.int64())


def consolidated(columns: Sequence[Column], rows: pa.Table, weights: Numbers, time: int = 0) -> pa.Table:
    """Rows with weights as changes of one instant: each row once, none whose weights cancel."""
    places, totals = added_up(rows, weights)
    return as_changes(columns, rows.take(places), totals, time)


def summed(changes: pa.Table) -> pa.Table:
    """Changes with each row once per instant: weights added up, and what cancels gone.

    >>> twice = pa.table({"a": [1, 1, 2, 2], "__t": [7, 7, 7, 7], "__w": [1, 2, 1, -1]})
    >>> summed(twice).to_pylist()
    [{'a': 1, '__t': 7, '__w': 3}]
    """
    if not changes.num_rows:
        return changes
    rows = changes.drop_columns([WEIGHT])
    places, totals = added_up(_comparable(rows), changes.column(WEIGHT))
    if len(places) == changes.num_rows:
        return changes
    return rows.take(places).append_column(changes.schema.field(WEIGHT), totals)


def by_instant(delta: pa.Table) -> dict[int, pa.Table]:
    """Changes by their instants."""
    ordered = delta.take(pc.sort_indices(delta, [(TIME, "ascending")]))
    times = ordered.column(TIME).to_pylist()
    starts = [n for n, time in enumerate(times) if not n or times[n - 1] != time]
    ends = [*starts[1:], len(times)]
    return {times[start]: ordered.slice(start, end - start) for start, end in zip(starts, ends, strict=False)}


def _comparable(rows: pa.Table) -> pa.Table:
    """Rows with numbers for dates and timestamps, which Python does not have of all years."""
    numbers = {pa.types.is_date32: pa.int32(), pa.types.is_timestamp: pa.int64()}
    columns = []
    for column in rows.columns:
        number = next((type for is_type, type in numbers.items() if is_type(column.type)), None)
        columns.append(column if number is None else column.cast(number))
    return pa.Table.from_arrays(columns, names=rows.column_names)


def came(changes: pa.Table) -> pa.Table:
    """The changes in which rows came."""
    return changes.filter(pc.greater(changes.column(WEIGHT), 0))


def went(changes: pa.Table) -> pa.Table:
    """The changes in which rows went."""
    return changes.filter(pc.less(changes.column(WEIGHT), 0))


def rows_that_came(changes: pa.Table) -> pa.Table:
    """The rows that came, each as often as it did."""
    return repeated(without_version(changes), changes.column(WEIGHT))


def rows_that_went(changes: pa.Table) -> pa.Table:
    """The rows that went, each as often as it did."""
    return repeated(without_version(changes), pc.negate(changes.column(WEIGHT)))


def paired(changes: pa.Table, key: Sequence[str] = (), *, per_instant: bool = False) -> list[Pairing]:
    """What went beside what came in its stead, by key, as places in the changes; without a key, by the whole row.

    Where a key has several rows they are paired in the order of their values, whatever order they came in.  With
    ``per_instant`` only changes of one instant are paired.
    """
    rows = row_keys(without_version(changes))
    keys = row_keys(changes.select(list(key) or [n for n in changes.column_names if n not in (TIME, WEIGHT)]))
    if per_instant:
        keys = list(zip(changes.column(TIME).to_pylist(), keys, strict=True))
    old: dict[object, list[int]] = {}
    new: dict[object, list[int]] = {}
    for place, (value, weight) in enumerate(zip(keys, changes.column(WEIGHT).to_pylist(), strict=True)):
        (old if weight < 0 else new).setdefault(value, []).extend([place] * abs(weight))
    pairs: list[Pairing] = []
    for value in dict.fromkeys(keys):
        gone, fresh = (sorted(side.get(value, []), key=lambda place: repr(rows[place])) for side in (old, new))
        for n in range(max(len(gone), len(fresh))):
            pairs.append((gone[n] if n < len(gone) else None, fresh[n] if n < len(fresh) else None))
    return pairs


def repeated(rows: pa.Table, counts: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Rows, each as often as its count says; what counts less than once is left out.

    >>> repeated(pa.table({"a": [1, 2, 3]}), pa.array([2, 0, 1])).column("a").to_pylist()
    [1, 1, 3]
    """
    if not rows.num_rows or pc.min_max(counts).as_py() == {"min": 1, "max": 1}:
        return rows
    ends = pc.cumulative_sum(pc.max_element_wise(counts, 0).cast(pa.int64()))
    starts = pa.concat_arrays(
        [pa.array([0], pa.int64()), *(ends.chunks if isinstance(ends, pa.ChunkedArray) else [ends])]
    )
    runs = pa.LargeListArray.from_arrays(starts, pa.nulls(starts[-1].as_py()))
    return rows.take(pc.list_parent_indices(runs))


def _numbers(value: Numbers, count: int) -> pa.Array | pa.ChunkedArray:
    if isinstance(value, int):
        return pa.repeat(pa.scalar(value, pa.int64()), count)
    return value if isinstance(value, pa.Array | pa.ChunkedArray) else pa.array(value, pa.int64())
