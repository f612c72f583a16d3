"""Versions of a table by time: base plus log, filtered."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidings.ir.relation import Column, Version
from tidings.store.relation.table import Table

COLUMNS = (Column("x", "int"),)


@pytest.fixture
def table() -> Table:
    """Changes at 10 (+1), 20 (-1, +2) and 30 (+3)."""
    found = Table("t", COLUMNS)
    found.set_base("t", 0)
    for time, rows, weights in ((10, [1], [1]), (20, [1, 2], [-1, 1]), (30, [3], [1])):
        found.append(time, pa.table({"x": pa.array(rows, pa.int32())}), weights)
    return found


def entries(table: Table, version: Version, since: int, until: int) -> list[tuple[Any, ...]]:
    changes = table.source(version, since, until).changes
    assert isinstance(changes, pa.Table)
    return [tuple(r.values()) for r in changes.to_pylist()]


ALL = [(1, 10, 1), (1, 20, -1), (2, 20, 1), (3, 30, 1)]


@pytest.mark.parametrize(
    ("version", "since", "until", "expected"),
    [
        (Version.OLD, 20, 30, ALL[:3]),
        (Version.DELTA, 20, 30, ALL[3:]),
        (Version.NEW, 20, 30, ALL),
        (Version.OLD, 0, 30, []),
        (Version.DELTA, 0, 30, ALL),
        (Version.DELTA, 9, 10, ALL[:1]),
        (Version.DELTA, 10, 19, []),
        (Version.DELTA, 10, 20, ALL[1:3]),
        (Version.NEW, 0, 15, ALL[:1]),
        (Version.CURRENT, 0, 20, ALL[:3]),
        (Version.CURRENT, 0, 5, []),
    ],
)
def test_versions(table: Table, version: Version, since: int, until: int, expected: list[tuple[int, ...]]) -> None:
    assert entries(table, version, since, until) == expected


def test_only_states_have_the_base(table: Table) -> None:
    bases = {v: table.source(v, 10, 20).base for v in Version}
    assert bases == {Version.CURRENT: "t", Version.OLD: "t", Version.NEW: "t", Version.DELTA: None}


def test_the_interval_is_open_below_and_closed_above(table: Table) -> None:
    assert table.history.times(10, 20) == [20]
    assert table.history.times(9, 30) == [10, 20, 30]
    assert table.history.changed(19, 20)
    assert not table.history.changed(20, 29)


def test_net_counts_of_rows(table: Table) -> None:
    assert [table.net[(x,)] for x in (1, 2, 3, 4)] == [0, 1, 1, 0]


def test_the_same_source_is_the_same_object(table: Table) -> None:
    assert table.source(Version.NEW, 0, 30) is table.source(Version.NEW, 10, 35)


def test_many_intervals(table: Table) -> None:
    for time in range(31, 80):
        table.append(time, pa.table({"x": pa.array([time], pa.int32())}), [1])
    for since in range(10, 79):
        assert len(entries(table, Version.DELTA, since, 79)) + len(entries(table, Version.OLD, since, 79)) == 53
