"""Changes as Arrow tables: versions, consolidation, pairing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidings.engine.changes import (
    added_up,
    as_changes,
    at_instant,
    came,
    consolidated,
    inverted,
    no_changes,
    paired,
    repeated,
    rows_that_came,
    rows_that_went,
    versioned,
    went,
    without_version,
)
from tidings.ir.relation import Column

COLUMNS = (Column("k", "int"), Column("v", "string"))


def rows(*values: tuple[int, str]) -> pa.Table:
    return pa.table(
        {"k": pa.array([k for k, _ in values], pa.int32()), "v": pa.array([v for _, v in values], pa.string())}
    )


def listed(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_versions_are_appended_last() -> None:
    changes = versioned(rows((1, "a"), (2, "b")), time=[5, 6], weights=-1)
    assert changes.column_names == ["k", "v", "__t", "__w"]
    assert listed(changes) == [(1, "a", 5, -1), (2, "b", 6, -1)]
    assert without_version(changes).equals(rows((1, "a"), (2, "b")))


def test_changes_have_the_types_of_the_relation() -> None:
    wide = pa.table({"k": pa.array([1], pa.int64()), "v": ["a"]})
    assert as_changes(COLUMNS, wide).schema.equals(no_changes(COLUMNS).schema)
    assert no_changes(COLUMNS).num_rows == 0


def test_undoing() -> None:
    changes = versioned(rows((1, "a"), (2, "b")), 3, [2, -1])
    assert listed(inverted(changes)) == [(1, "a", 0, -2), (2, "b", 0, 1)]
    assert at_instant(changes, 9).column("__t").to_pylist() == [9, 9]


def sums(table: pa.Table, weights: list[int]) -> tuple[list[int], list[int]]:
    places, totals = added_up(table, weights)
    return places.to_pylist(), totals.to_pylist()


def test_equal_rows_are_added_up() -> None:
    assert sums(rows((1, "a"), (2, "b"), (1, "a"), (2, "b")), [1, 1, 2, -1]) == ([0], [3])
    assert sums(pa.table({"x": [float("nan"), float("nan")]}), [1, 1]) == ([0], [2])
    assert listed(consolidated(COLUMNS, rows((1, "a"), (1, "a")), [1, 1], 4)) == [(1, "a", 4, 2)]


def test_rows_are_repeated() -> None:
    some = pa.chunked_array([pa.array([1, 0], pa.int64()), pa.array([3, -1], pa.int64())])
    assert repeated(pa.table({"x": [1, 2, 3, 4]}), some).column("x").to_pylist() == [1, 3, 3, 3]
    assert repeated(pa.table({"x": [1]}), pa.array([-1])).num_rows == 0
    assert repeated(pa.table({"x": []}), pa.array([], pa.int64())).num_rows == 0


def test_what_came_and_what_went() -> None:
    changes = versioned(rows((1, "a"), (2, "b"), (3, "c")), 0, [2, -2, 1])
    assert listed(came(changes)) == [(1, "a", 0, 2), (3, "c", 0, 1)]
    assert listed(went(changes)) == [(2, "b", 0, -2)]
    assert listed(rows_that_came(changes)) == [(1, "a"), (1, "a"), (3, "c")]
    assert listed(rows_that_went(changes)) == [(2, "b"), (2, "b")]
    assert rows_that_went(came(changes)).num_rows == 0


@pytest.mark.parametrize("weights", [[-1, 1], [-2, 2]])
def test_old_rows_are_paired_with_new_ones_by_key(weights: list[int]) -> None:
    changes = versioned(rows((1, "old"), (1, "new")), 0, weights)
    assert paired(changes, ["k"]) == [(0, 1)] * weights[1]
    assert paired(changes) == [(0, None)] * weights[1] + [(None, 1)] * weights[1]


def test_pairs_of_one_instant() -> None:
    changes = versioned(rows((1, "old"), (1, "new")), [1, 2], [-1, 1])
    assert paired(changes, ["k"]) == [(0, 1)]
    assert paired(changes, ["k"], per_instant=True) == [(0, None), (None, 1)]
