"""A slice of a transaction has the net changes before it and in it."""

from __future__ import annotations

import pyarrow as pa

from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice, net
from tidings.store.relation.table import Table
from tidings.write.workspace import DoneChange

STOCK, LOG = Table("stock", (Column("n", "int"),)), Table("log", (Column("n", "int"),))


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int32())})


def plain(entries: NetEntries) -> dict[str, list[tuple[int, int, int]]]:
    return {name: sorted((r["n"], r[TIME], r[WEIGHT]) for r in entry.to_pylist()) for name, entry in entries.items()}


DONE: list[DoneChange] = [
    (STOCK, rows(1, 2), 1),
    (LOG, rows(9), 1),
    (STOCK, rows(1), -1),
    (STOCK, rows(3), 1),
    (LOG, rows(9), -1),
]


def test_before_and_in_it() -> None:
    tx_slice = TransactionSlice(DONE, 2, 5, at=7)
    assert plain(tx_slice.before) == {"stock": [(1, 0, 1), (2, 0, 1)], "log": [(9, 0, 1)]}
    assert plain(tx_slice.changes) == {"stock": [(1, 8, -1), (3, 8, 1)], "log": [(9, 8, -1)]}


def test_what_comes_and_goes_is_not_in_it() -> None:
    assert plain(net(DONE, 3)) == {"stock": [(2, 3, 1), (3, 3, 1)]}


def test_net_changes_that_are_known() -> None:
    entries = net(DONE, 8)
    tx_slice = TransactionSlice.of_entries(7, {}, entries, end=1)
    assert (tx_slice.at, tx_slice.end, tx_slice.before) == (7, 1, {})
    assert tx_slice.changes is entries
