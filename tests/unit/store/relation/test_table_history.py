"""When a table changed and by how much, before its base and after it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidings.errors import HistoryGone
from tidings.ir.relation import Column
from tidings.store.relation.schema_evolution import WrittenRows
from tidings.store.relation.table import Table


@pytest.fixture
def table() -> Table:
    """Changes at 10 (+1), 20 (-1, +2) and 30 (+3); the base holds what was there at 20."""
    table = Table("t", (Column("x", "int"),))
    for time, rows, weights in ((10, [1], [1]), (20, [1, 2], [-1, 1]), (30, [3], [1])):
        table.append(time, pa.table({"x": pa.array(rows, pa.int32())}), weights)
    table.set_base("t@20", 1, 20)
    return table


def test_sizes_on_both_sides_of_the_base(table: Table) -> None:
    assert [table.history.size(at) for at in (0, 10, 20, 29, 30)] == [0, 1, 1, 1, 2]


def test_changes_between_instants(table: Table) -> None:
    history = table.history
    assert [history.change_count(*ends) for ends in ((0, 30), (10, 20), (20, 29))] == [4, 2, 0]
    assert [history.only_grows(*ends) for ends in ((0, 30), (10, 20), (20, 30))] == [False, False, True]
    assert (history.times(10, 30), history.changed(30, 40)) == ([20, 30], False)


def test_what_the_base_does_not_hold(table: Table) -> None:
    assert (table.history.since_base(), table.history.entries()) == (1, 1)
    assert [t.column("x").to_pylist() for t in table.history.unfolded()()] == [[3]]


def test_forgotten_history_is_refused(table: Table) -> None:
    assert table.history.horizon(100) == 20
    assert table.forget(100)
    assert table.history.horizon(100) is None
    with pytest.raises(HistoryGone):
        table.history.size(19)
    assert table.history.times(20, 30) == [30]
    assert table.history.size(20) == 1


def test_unfolded_entries_that_are_not_in_memory_are_loaded(table: Table) -> None:
    entries = list(table.entry_log.rows)
    asked: list[tuple[int, int]] = []

    def load(first: int, last: int) -> list[WrittenRows]:
        asked.append((first, last))
        return [WrittenRows(entry) for entry in entries if entry is not None][2:]

    table.load_entries_by(load)
    table.entry_log.rows[2] = None
    unfolded = table.history.unfolded()
    assert asked == []
    assert [t.column("x").to_pylist() for t in unfolded()] == [[3]]
    assert asked == [(21, 30)]
