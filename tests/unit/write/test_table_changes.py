"""The changes of one table in one transaction, netted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidings.errors import UnknownTransactionState
from tidings.ir.column import Column
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.table import Table
from tidings.write.table_changes import TableChanges


def rows(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int64())})


def test_what_cancels_is_no_change() -> None:
    changes = TableChanges(Table("t", (Column("a", "bigint"),)))
    changes.add(rows(1, 2, 2), 1)
    changes.add(rows(1, 3), -1)
    net = changes.net_change()
    assert dict(zip(net.rows.column("a").to_pylist(), net.weights, strict=True)) == {2: 2, 3: -1}


def test_rows_keep_the_number_they_were_given_under() -> None:
    changes = TableChanges(Table("t", (Column("a", "bigint"),)))
    changes.add(rows(7, 8), 1)
    changes.add(rows(9), 1)
    net = changes.net_change()
    numbers = {net.rows.column("a")[n].as_py(): net.number(n) for n in range(3)}
    assert numbers == {7: 1, 8: 2, 9: 1}


def test_many_rows_are_netted_like_few() -> None:
    changes = TableChanges(Table("t", (Column("a", "bigint"),)))
    changes.add(rows(*range(1000), 7), 1)
    changes.add(rows(*range(10, 1000)), -1)
    net = changes.net_change()
    assert dict(zip(net.rows.column("a").to_pylist(), net.weights, strict=True)) == {n: 1 + (n == 7) for n in range(10)}
    assert [net.number(n) for n in range(10)] == list(range(1, 11))
    assert changes.net.counts == {(n,): 1 + (n == 7) for n in range(10)}


def test_what_comes_after_somebody_asked_counts_too() -> None:
    changes = TableChanges(Table("t", (Column("a", "bigint"),)))
    changes.add(rows(1), 1)
    assert (changes.net[(1,)], changes.net_change().weights) == (1, [1])
    changes.add(rows(1), 1)
    assert (changes.net[(1,)], changes.net_change().weights) == (2, [2])


def test_a_column_that_was_dropped_and_added_again_meanwhile() -> None:
    table = Table("t", (Column("a", "bigint"),))
    changes = TableChanges(table)
    changes.add(rows(1), 1)
    table.constraints = Constraints(dropped=(0,))
    with pytest.raises(UnknownTransactionState):
        changes.net_change()


def test_a_table_that_was_altered_meanwhile() -> None:
    table = Table("t", (Column("a", "bigint"),))
    changes = TableChanges(table)
    changes.add(rows(1), 1)
    table.columns = (Column("b", "bigint"),)
    with pytest.raises(UnknownTransactionState):
        changes.net_change()
