"""Changes of rows that are named by their primary key.

The rows are looked up in this process (:mod:`tidings.store.key_lookup`), with what the transaction has done so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tidings.engine.row_values import hashable, row_keys
from tidings.errors import InvalidRow, KeyNeeded, MissingRow
from tidings.ir.relation import Column
from tidings.result import AffectedRows
from tidings.store.relation.net import Row, table_of, values
from tidings.store.relation.rows import as_records, read_rows
from tidings.store.relation.table import Table
from tidings.write.workspace import Workspace


def delete(workspace: Workspace, table: Table, data: Any) -> AffectedRows:
    """Remove rows: those given whole as they are, the others by their key."""
    rows = to_delete(workspace, table, data)
    workspace.add(table, rows, -1)
    return AffectedRows.of(deleted=rows.num_rows)


def to_delete(workspace: Workspace, table: Table, data: Any) -> pa.Table:
    """The rows that are named whole or by their key."""
    groups = [_RecordGroup(table.columns, as_records(table.name, table.columns, data))]
    if table.constraints.key:
        groups = _grouped(table, groups[0].records, tuples_may_be_keys=True)
    typed = [(group.columns, read_rows(table.name, group.columns, group.records)) for group in groups]
    whole = [rows for columns, rows in typed if columns == table.columns]
    partial = [(columns, rows) for columns, rows in typed if columns != table.columns]
    current = _CurrentRows(workspace, table, [key for _, rows in partial for key in _keys(table, rows)])
    completed = [table_of(table.columns, current.take(columns, rows)) for columns, rows in partial]
    return pa.concat_tables([table.schema.empty_table(), *whole, *completed])


def update(workspace: Workspace, table: Table, data: Any) -> AffectedRows:
    """Give rows new values in the columns that stand with their key; later updates build on earlier ones."""
    if not table.constraints.key:
        raise KeyNeeded(table=table.name)
    updates = sorted(_updates(table, data), key=lambda update: update.number)
    current = _CurrentRows(workspace, table, [update.key for update in updates])
    old_rows, new_rows = [], []
    for update in updates:
        old = current.row(update.key, dict(zip(table.constraints.key, update.key, strict=True)))
        new = update.applied_to(old, table)
        current.rows[update.key] = [new]
        old_rows.append(old)
        new_rows.append(new)
    workspace.add(table, table_of(table.columns, old_rows), -1)
    workspace.add(table, table_of(table.columns, new_rows), 1)
    return AffectedRows.of(updated=len(updates))


def upsert(workspace: Workspace, table: Table, data: Any, defaults: Mapping[str, Any]) -> AffectedRows:
    """Update the rows that have the keys of those given, and insert the others; later ones build on earlier ones.

    Columns that are not given stay as they are in a row that is there, and have their default in one that is not.
    """
    if not table.constraints.key:
        raise KeyNeeded(None, "give it a PRIMARY KEY, or use tx.insert", table=table.name)
    updates = sorted(_updates(table, data), key=lambda update: update.number)
    current = _CurrentRows(workspace, table, [update.key for update in updates])
    absent = tuple(defaults.get(c.name) for c in table.columns)
    before = {key: rows[0] for key, rows in current.rows.items() if rows}
    after = dict(before)
    for update in updates:
        after[update.key] = update.applied_to(after.get(update.key, absent), table)
    workspace.add(table, table_of(table.columns, before.values()), -1)
    workspace.add(table, table_of(table.columns, after.values()), 1)
    return AffectedRows.of(inserted=len(after) - len(before), updated=len(before))


@dataclass(frozen=True, slots=True)
class _RowUpdate:
    """New values for one row."""

    number: int
    """Its place among those given."""
    key: Row
    columns: tuple[Column, ...]
    values: Row

    def applied_to(self, row: Row, table: Table) -> Row:
        names = [c.name for c in table.columns]
        new = list(row)
        for column, value in zip(self.columns, self.values, strict=True):
            new[names.index(column.name)] = value
        return tuple(new)


def _updates(table: Table, data: Any) -> Iterator[_RowUpdate]:
    for group in _grouped(table, as_records(table.name, table.columns, data)):
        rows = read_rows(table.name, group.columns, group.records)
        numbers = group.numbers or range(rows.num_rows)
        for number, key, record in zip(numbers, _keys(table, rows), values(rows), strict=True):
            yield _RowUpdate(number, key, group.columns, record)


@dataclass(frozen=True, slots=True)
class _RecordGroup:
    """Records that have the same columns, and their places among those given."""

    columns: tuple[Column, ...]
    records: Any
    numbers: list[int] = field(default_factory=list)


class _CurrentRows:
    """The rows with some keys, as they stand in a transaction."""

    def __init__(self, workspace: Workspace, table: Table, keys: list[Row]) -> None:
        self.table = table
        self.rows = workspace.by_key(table, list(dict.fromkeys(keys)))

    def row(self, key: Row, shown: Mapping[str, Any]) -> Row:
        """The row with a key; a refusal that shows what was asked for if there is none."""
        rows = self.rows.get(key)
        if not rows:
            raise MissingRow(table=self.table.name, row=dict(shown))
        return rows[0]

    def take(self, columns: tuple[Column, ...], partial_rows: pa.Table) -> Iterator[Row]:
        """The rows that agree with what is given of them; each is taken once."""
        places = [[c.name for c in self.table.columns].index(c.name) for c in columns]
        for record, key in zip(partial_rows.to_pylist(), _keys(self.table, partial_rows), strict=True):
            row = self.row(key, record)
            if any(hashable(row[p]) != hashable(value) for p, value in zip(places, record.values(), strict=True)):
                raise MissingRow(table=self.table.name, row=record)
            self.rows[key] = self.rows[key][1:]
            yield row


def _keys(table: Table, rows: pa.Table) -> list[Row]:
    return row_keys(rows.select(list(table.constraints.key)))


def _grouped(table: Table, data: pa.Table | list[Any], *, tuples_may_be_keys: bool = False) -> list[_RecordGroup]:
    """Rows by the columns they have, which include the key."""
    by_name = {c.name: c for c in table.columns}
    key = tuple(by_name[k] for k in table.constraints.key)
    if isinstance(data, pa.Table):
        return [_RecordGroup(_columns(table, data.column_names, 1), data)]
    groups: dict[tuple[Column, ...], _RecordGroup] = {}
    for number, record in enumerate(data, 1):
        if isinstance(record, Mapping):
            columns = _columns(table, [str(name) for name in record], number)
        elif tuples_may_be_keys and isinstance(record, tuple | list) and len(record) == len(key) < len(table.columns):
            columns = key
        else:
            columns = table.columns
        group = groups.setdefault(columns, _RecordGroup(columns, []))
        group.records.append(record)
        group.numbers.append(number)
    return list(groups.values())


def _columns(table: Table, names: list[str], number: int) -> tuple[Column, ...]:
    """The columns of a table that are given; names it does not have are refused when the rows are read."""
    given_names = {n.lower() for n in names}
    missing = next((k for k in table.constraints.key if k.lower() not in given_names), None)
    if missing is not None:
        raise InvalidRow(row=number, table=table.name, reason=f"it has no value for {missing}, a column of the key")
    known = {c.name.lower() for c in table.columns}
    return table.columns if given_names - known else tuple(c for c in table.columns if c.name.lower() in given_names)
