"""Changes of rows that are named by their primary key.

The rows are found in this process (:mod:`tidings.store.key_lookup`), with what the transaction has done so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tidings.engine.row_values import hashable, row_keys
from tidings.errors import InvalidRow, KeyNeeded, MissingRow
from tidings.ir.relation import Column
from tidings.store.relation.net import Row, table_of, values
from tidings.store.relation.rows import given, read_rows
from tidings.store.relation.table import Table
from tidings.write.workspace import Workspace


def delete(workspace: Workspace, table: Table, data: Any) -> None:
    """Take rows out: those given whole as they are, the others by their key."""
    workspace.add(table, to_delete(workspace, table, data), -1)


def to_delete(workspace: Workspace, table: Table, data: Any) -> pa.Table:
    """The rows that are named whole or by their key."""
    groups = [_Group(table.columns, given(table.name, table.columns, data))]
    if table.constraints.key:
        groups = _grouped(table, groups[0].records, tuples_may_be_keys=True)
    read = [(g, read_rows(table.name, g.columns, g.records)) for g in groups]
    partial = [(g, rows) for g, rows in read if g.columns != table.columns]
    held = _HeldRows(workspace, table, [key for _, rows in partial for key in _keys(table, rows)])
    found = [rows for g, rows in read if g.columns == table.columns]
    found += [table_of(table.columns, held.agreeing(g.columns, rows)) for g, rows in partial]
    return pa.concat_tables([table.schema.empty_table(), *found])


def update(workspace: Workspace, table: Table, data: Any) -> None:
    """Give rows other values in the columns that are given beside their key; later ones build on earlier ones."""
    if not table.constraints.key:
        raise KeyNeeded(table=table.name)
    names = [c.name for c in table.columns]
    steps: list[tuple[int, Row, tuple[Column, ...], Row]] = []
    for group in _grouped(table, given(table.name, table.columns, data)):
        rows = read_rows(table.name, group.columns, group.records)
        parts = zip(group.numbers or range(rows.num_rows), _keys(table, rows), values(rows), strict=True)
        steps += [(number, key, group.columns, record) for number, key, record in parts]
    held = _HeldRows(workspace, table, [key for _, key, _, _ in steps])
    came, went = [], []
    for _, key, columns, record in sorted(steps, key=lambda step: step[0]):
        old = held.one(key, dict(zip(table.constraints.key, key, strict=True)))
        new = list(old)
        for column, value in zip(columns, record, strict=True):
            new[names.index(column.name)] = value
        held.rows[key] = [tuple(new)]
        went.append(old)
        came.append(tuple(new))
    workspace.add(table, table_of(table.columns, went), -1)
    workspace.add(table, table_of(table.columns, came), 1)


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows that have the same columns, and their places among those given."""

    columns: tuple[Column, ...]
    records: Any
    numbers: list[int] = field(default_factory=list)


class _HeldRows:
    """The rows with some keys, as they stand in a transaction."""

    def __init__(self, workspace: Workspace, table: Table, keys: list[Row]) -> None:
        self.table = table
        self.rows = workspace.parts.enforcer.finder.by_key(table, list(dict.fromkeys(keys)), workspace.pending(table))

    def one(self, key: Row, shown: Mapping[str, Any]) -> Row:
        found = self.rows.get(key)
        if not found:
            raise MissingRow(table=self.table.name, row=dict(shown))
        return found[0]

    def agreeing(self, columns: tuple[Column, ...], wanted: pa.Table) -> Iterator[Row]:
        """The rows that have what is given of them, each taken out of those that are held."""
        places = [[c.name for c in self.table.columns].index(c.name) for c in columns]
        for record, key in zip(wanted.to_pylist(), _keys(self.table, wanted), strict=True):
            old = self.one(key, record)
            if any(hashable(old[p]) != hashable(value) for p, value in zip(places, record.values(), strict=True)):
                raise MissingRow(table=self.table.name, row=record)
            self.rows[key] = self.rows[key][1:]
            yield old


def _keys(table: Table, rows: pa.Table) -> list[Row]:
    return row_keys(rows.select(list(table.constraints.key)))


def _grouped(table: Table, data: pa.Table | list[Any], *, tuples_may_be_keys: bool = False) -> list[_Group]:
    """Rows by the columns they have, which include the key."""
    by_name = {c.name: c for c in table.columns}
    key = tuple(by_name[k] for k in table.constraints.key)
    if isinstance(data, pa.Table):
        return [_Group(_columns(table, data.column_names, 1), data)]
    groups: dict[tuple[Column, ...], _Group] = {}
    for number, record in enumerate(data, 1):
        if isinstance(record, Mapping):
            columns = _columns(table, [str(name) for name in record], number)
        elif tuples_may_be_keys and isinstance(record, tuple | list) and len(record) == len(key) < len(table.columns):
            columns = key
        else:
            columns = table.columns
        group = groups.setdefault(columns, _Group(columns, []))
        group.records.append(record)
        group.numbers.append(number)
    return list(groups.values())


def _columns(table: Table, names: list[str], number: int) -> tuple[Column, ...]:
    """The columns of a table that are given; names it does not have are refused when the rows are read."""
    have = {n.lower() for n in names}
    missing = next((k for k in table.constraints.key if k.lower() not in have), None)
    if missing is not None:
        raise InvalidRow(row=number, table=table.name, reason=f"it has no value for {missing}, a column of the key")
    known = {c.name.lower() for c in table.columns}
    return table.columns if have - known else tuple(c for c in table.columns if c.name.lower() in have)
