"""Changes of rows that are named by their primary key.

The rows are found in this process (:mod:`tidings.store.find`), with what the transaction has done so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidings.engine.plain import hashable, row_keys
from tidings.errors import InvalidRow, KeyNeeded, MissingRow
from tidings.ir.relation import Column
from tidings.store.net import Row, table_of, values
from tidings.store.rows import given, read_rows
from tidings.store.table import Table

if TYPE_CHECKING:
    from tidings.transaction import Transaction


def delete(tx: Transaction, table: Table, data: Any) -> None:
    """Take rows out: those given whole as they are, the others by their key."""
    whole, partial = _apart(table, given(table.name, table.columns, data))
    tx.add(table, read_rows(table.name, table.columns, whole), -1)
    for columns, records in partial:
        for _, old in _found(tx, table, columns, records):
            tx.add(table, table_of(table.columns, [old]), -1)


def update(tx: Transaction, table: Table, data: Any) -> None:
    """Give rows other values in the columns that are given beside their key."""
    if not table.constraints.key:
        raise KeyNeeded(table=table.name)
    names = [c.name for c in table.columns]
    key = {k.lower() for k in table.constraints.key}
    came, went = [], []
    for columns, records in _grouped(table, given(table.name, table.columns, data)):
        own = tuple(c for c in columns if c.name.lower() in key)
        places = [names.index(c.name) for c in columns]
        wanted = read_rows(table.name, columns, records)
        held = _Held(tx, table, _keys(table, wanted))
        for record, key_of in zip(values(wanted), _keys(table, wanted), strict=True):
            old = held.one(key_of, dict(zip((c.name for c in own), key_of, strict=True)))
            new = list(old)
            for place, value in zip(places, record, strict=True):
                new[place] = value
            held.rows[key_of] = [tuple(new)]
            went.append(old)
            came.append(tuple(new))
    tx.add(table, table_of(table.columns, went), -1)
    tx.add(table, table_of(table.columns, came), 1)


class _Held:
    """The rows with some keys, as they stand in a transaction."""

    def __init__(self, tx: Transaction, table: Table, keys: list[Row]) -> None:
        self.table = table
        self.rows = tx.access.enforcer.finder.by_key(table, list(dict.fromkeys(keys)), tx.pending(table))

    def one(self, key: Row, shown: Mapping[str, Any]) -> Row:
        found = self.rows.get(key)
        if not found:
            raise MissingRow(table=self.table.name, row=dict(shown))
        return found[0]


def _found(
    tx: Transaction, table: Table, columns: tuple[Column, ...], records: Any
) -> Iterator[tuple[dict[str, Any], Row]]:
    """The rows that agree with what is given of them, each with that."""
    wanted = read_rows(table.name, columns, records)
    keys = _keys(table, wanted)
    held = _Held(tx, table, keys)
    places = [[c.name for c in table.columns].index(c.name) for c in columns]
    for record, key in zip(wanted.to_pylist(), keys, strict=True):
        old = held.one(key, record)
        if any(hashable(old[p]) != hashable(value) for p, value in zip(places, record.values(), strict=True)):
            raise MissingRow(table=table.name, row=record)
        held.rows[key] = held.rows[key][1:]
        yield record, old


def _keys(table: Table, rows: pa.Table) -> list[Row]:
    return row_keys(rows.select(list(table.constraints.key)))


def _apart(table: Table, data: pa.Table | list[Any]) -> tuple[Any, list[tuple[tuple[Column, ...], Any]]]:
    """Rows that are given whole, and those of which the key is; without a key all count as whole."""
    if not table.constraints.key:
        return data, []
    groups = _grouped(table, data, tuples_may_be_keys=True)
    whole = [records for columns, records in groups if columns == table.columns]
    return (whole[0] if whole else []), [(c, r) for c, r in groups if c != table.columns]


def _grouped(
    table: Table, data: pa.Table | list[Any], *, tuples_may_be_keys: bool = False
) -> list[tuple[tuple[Column, ...], Any]]:
    """Rows by the columns they have, which include the key."""
    by_name = {c.name: c for c in table.columns}
    key = tuple(by_name[k] for k in table.constraints.key)
    if isinstance(data, pa.Table):
        return [(_columns(table, data.column_names, 1), data)]
    groups: dict[tuple[Column, ...], list[Any]] = {}
    for number, record in enumerate(data, 1):
        if isinstance(record, Mapping):
            columns = _columns(table, [str(name) for name in record], number)
        elif tuples_may_be_keys and isinstance(record, tuple | list) and len(record) == len(key) < len(table.columns):
            columns = key
        else:
            columns = table.columns
        groups.setdefault(columns, []).append(record)
    return list(groups.items())


def _columns(table: Table, names: list[str], number: int) -> tuple[Column, ...]:
    """The columns of a table that are given; names it does not have are refused when the rows are read."""
    have = {n.lower() for n in names}
    missing = next((k for k in table.constraints.key if k.lower() not in have), None)
    if missing is not None:
        raise InvalidRow(row=number, table=table.name, reason=f"it has no value for {missing}, a column of the key")
    known = {c.name.lower() for c in table.columns}
    return table.columns if have - known else tuple(c for c in table.columns if c.name.lower() in have)
