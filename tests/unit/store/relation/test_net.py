"""Signed counts of rows."""

from __future__ import annotations

import pyarrow as pa

from tidings.ir.relation import Column
from tidings.store.relation.net import Net, table_of, values

COLUMNS = (Column("k", "int"), Column("x", "double"))


def rows(*values: tuple[int, float | None]) -> pa.Table:
    return table_of(COLUMNS, values)


def test_what_cancels_is_gone() -> None:
    net = Net(COLUMNS, ("k",))
    (row, *_) = net.add(rows((1, 0.5), (2, 1.5)), [1, 2])
    assert net[row] == 1
    net.add(rows((1, 0.5)), [-1])
    assert net[row] == 0
    assert sorted(net.counts.values()) == [2]


def test_rows_are_found_by_key() -> None:
    net = Net(COLUMNS, ("k",))
    one, other, _ = net.add(rows((1, 0.5), (1, None), (2, 0.5)), [1, -1, 1])
    assert net.at((1,)) == {one: 1, other: -1}
    net.add(rows((1, 0.5), (1, None)), [-1, 1])
    assert net.at((1,)) == {}
    assert net.at((7,)) == {}


def test_values_are_those_that_were_given() -> None:
    net = Net(COLUMNS)
    zero, negative = net.add(rows((1, 0.0), (1, -0.0)), [1, 1])
    assert [str(net.values_of(row)[1]) for row in (zero,)] in (["0.0"], ["-0.0"])
    assert (zero == negative) == (net[zero] == 2)


def test_tables_and_tuples() -> None:
    listed = [(1, 0.5), (2, None)]
    assert values(rows(*listed)) == listed
    assert values(pa.table({}).select([])) == []
