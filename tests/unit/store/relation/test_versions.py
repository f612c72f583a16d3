"""Versions of a table whose base lies inside a batch, before it or after it; and which of them are cached."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from tidings.ir.relation import Column, Version
from tidings.store.relation.table import Table
from tidings.store.relation.versions import CACHED, CHUNKS

STATES: dict[int, list[int]] = {0: [], 10: [1], 20: [2], 30: [2, 3]}


def new_table(base_time: int) -> Table:
    """Changes at 10 (+1), 20 (-1, +2) and 30 (+3)."""
    table = Table("t", (Column("x", "int"),))
    for time, rows, weights in ((10, [1], [1]), (20, [1, 2], [-1, 1]), (30, [3], [1])):
        append(table, time, rows, weights)
    table.set_base(f"t@{base_time}", len(STATES[base_time]), base_time)
    return table


def append(table: Table, time: int, rows: list[int], weights: list[int]) -> None:
    table.append(time, pa.table({"x": pa.array(rows, pa.int32())}), weights)


def changes(table: Table, version: Version, since: int, until: int) -> list[dict[str, Any]]:
    source = table.source(version, since, until).changes
    assert isinstance(source, pa.Table)
    return list(source.to_pylist())


def state(table: Table, version: Version, since: int, until: int) -> list[int]:
    """The base with the changes of a version."""
    counts = Counter(STATES[table.base_time])
    for change in changes(table, version, since, until):
        counts[change["x"]] += change["__w"]
    return sorted(counts.elements())


@pytest.mark.parametrize("base_time", [0, 10, 20, 30])
def test_states_are_the_same_wherever_the_base_is(base_time: int) -> None:
    table = new_table(base_time)
    for since in STATES:
        for until in (u for u in STATES if u >= since):
            assert state(table, Version.OLD, since, until) == STATES[since]
            assert state(table, Version.NEW, since, until) == STATES[until]
            assert state(table, Version.CURRENT, since, until) == STATES[until]


@pytest.mark.parametrize("base_time", [0, 20, 30])
def test_a_delta_has_no_base(base_time: int) -> None:
    table = new_table(base_time)
    assert table.source(Version.DELTA, 10, 30).base is None
    assert [(c["x"], c["__w"]) for c in changes(table, Version.DELTA, 10, 30)] == [(1, -1), (2, 1), (3, 1)]


def test_versions_are_cached_until_the_base_is_another() -> None:
    table = new_table(0)
    source = table.source(Version.NEW, 10, 30)
    assert table.source(Version.CURRENT, 0, 30) is source
    table.set_base("t@20", 1, 20)
    assert table.source(Version.CURRENT, 0, 30) is not source
    assert table.source(Version.CURRENT, 0, 30).base == "t@20"
    table.set_base("copy@20", 1, 20)
    assert table.source(Version.CURRENT, 0, 30).base == "copy@20"


def test_a_longer_history_is_built_on_a_shorter_one() -> None:
    table = new_table(0)
    assert state(table, Version.CURRENT, 0, 20) == [2]
    append(table, 40, [4], [1])
    assert state(table, Version.CURRENT, 0, 40) == [2, 3, 4]
    assert state(table, Version.CURRENT, 0, 10) == [1]


def test_very_many_entries_become_one_piece() -> None:
    table = new_table(0)
    for time in range(31, 31 + CHUNKS):
        append(table, time, [time], [1])
    source = table.source(Version.DELTA, 0, 1000).changes
    assert isinstance(source, pa.Table)
    assert (source.num_rows, source.column(0).num_chunks) == (CHUNKS + 4, 1)
    for since in range(2 * CACHED):
        assert len(changes(table, Version.DELTA, 30 + since, 1000)) == CHUNKS - since
