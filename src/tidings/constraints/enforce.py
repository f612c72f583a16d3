"""Checks the net changes of a transaction against the constraints of their tables.

Only the state after the transaction counts, not the way to it: a key may pass from one row to another inside it, and a
row that is inserted and deleted again breaks nothing.  The first row that breaks a constraint refuses the whole
transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidings.constraints.evaluate import Evaluator
from tidings.engine.changes import added_up, without_version
from tidings.engine.row_values import row_keys
from tidings.errors import AppendOnly, CheckViolated, DuplicateKey, MissingRow, NullNotAllowed
from tidings.ir.expression import WEIGHT
from tidings.lang.sql.constraint_queries import columns_in, repeated_keys, rows_that_break
from tidings.store.key_lookup import KeyLookup
from tidings.store.relation.constraints import NONE
from tidings.store.relation.net import Key, table_of
from tidings.store.relation.small_states import base_at_hand
from tidings.store.relation.table import Table

_MANY = 10_000
"""The keys of more rows than this are compared by Arrow."""


@dataclass(frozen=True, slots=True)
class NetChange:
    """What a transaction changes in one table, net: nothing in it cancels."""

    table: Table
    rows: pa.Table
    weights: list[int]
    numbers: tuple[int, ...] = ()
    """For each row, its number among the rows that the user gave."""

    def number(self, n: int) -> int:
        return self.numbers[n] if self.numbers else n + 1

    def values(self, n: int) -> dict[str, Any]:
        """One of the rows."""
        (row,) = self.rows.slice(n, 1).to_pylist()
        return dict(row)


@dataclass(frozen=True, slots=True)
class Enforcer:
    """Refuses changes that would leave a table with rows its constraints forbid."""

    finder: KeyLookup
    evaluator: Evaluator

    def check(self, change: NetChange) -> None:
        """Refuse a change that breaks a constraint of its table."""
        constraints = change.table.constraints
        came = [n for n, weight in enumerate(change.weights) if weight > 0]
        if constraints.append_only and len(came) < len(change.weights):
            deleted = next(n for n, weight in enumerate(change.weights) if weight < 0)
            raise AppendOnly(table=change.table.name, row=change.number(deleted), values=change.values(deleted))
        self.check_present(change)
        if not came or constraints == NONE:
            return
        added = change.rows if len(came) == len(change.weights) else change.rows.take(pa.array(came, pa.int64()))
        self._check_required(change, came, added)
        for condition in constraints.checks:
            self._check_condition(change, came, added, condition)
        if constraints.key:
            self._check_key(change, came)

    def check_history(self, table: Table, entry: pa.Table) -> None:
        """Refuse an entry that adds rows which break a constraint."""
        constraints = table.constraints
        if constraints.key or constraints.required or constraints.checks:
            self.check(NetChange(table, without_version(entry), entry.column(WEIGHT).to_pylist()))

    def check_base(self, table: Table) -> None:
        """Refuse a base that breaks a constraint; the engine searches for rows that do, if there are many."""
        constraints = table.constraints
        if constraints == NONE:
            return
        storage = self.finder.storage
        rows = base_at_hand(table, storage.snapshots.files.get(table.id)) if storage.backend.looks_up_first else None
        if rows is not None:
            self._check_rows(table, self._breaking(table, rows))
            return
        query = rows_that_break(table.name, constraints.required, constraints.checks)
        if query is not None:
            self._check_rows(table, self.evaluator.in_base(table, query))
        snapshot = self.finder.storage.snapshots.files.get(table.id)
        if constraints.key and not (snapshot and snapshot.has_unique(constraints.key)):
            keys = row_keys(self.evaluator.in_base(table, repeated_keys(table.name, constraints.key)))
            if keys:
                self._check_rows(table, table_of(table.columns, self.finder.by_key(table, keys)[keys[0]]))

    def _breaking(self, table: Table, rows: pa.Table) -> pa.Table:
        """A few of some rows, the whole of a table, that break its constraints."""
        constraints = table.constraints
        breaks = pa.chunked_array([pa.repeat(pa.scalar(False), rows.num_rows)])
        for name in constraints.required:
            breaks = pc.or_(breaks, pc.is_null(rows.column(name)))
        for condition in constraints.checks:
            verdicts = self.evaluator.holds(table.name, table.columns, condition, rows)
            breaks = pc.or_(breaks, pc.equal(pa.array([verdict is False for verdict in verdicts], pa.bool_()), True))
        if constraints.key and not pc.any(breaks).as_py():
            keys = rows.select(list(constraints.key))
            places, totals = added_up(keys, 1)
            first = keys.take(places.filter(pc.greater(totals, 1))).slice(0, 1)
            if first.num_rows:
                return rows.filter(pa.array([key == row_keys(first)[0] for key in row_keys(keys)], pa.bool_()))
        return rows.filter(breaks).slice(0, 10)

    def _check_rows(self, table: Table, rows: pa.Table) -> None:
        """Refuse rows that are loaded already, by the first constraint they break."""
        if rows.num_rows:
            self.check(
                NetChange(Table(table.name, table.columns, constraints=table.constraints), rows, [1] * len(rows))
            )

    def check_present(self, change: NetChange) -> None:
        """Refuse to delete rows that the table does not have."""
        deleted = [n for n, weight in enumerate(change.weights) if weight < 0]
        if not deleted:
            return
        keys = row_keys(change.rows)
        short = [n for n in deleted if change.table.net[keys[n]] < -change.weights[n]]
        if not short:
            return
        in_base = self.finder.in_base(change.table, change.rows.take(pa.array(short, pa.int64())))
        for n in short:
            if change.table.net[keys[n]] + in_base[keys[n]] < -change.weights[n]:
                raise MissingRow(table=change.table.name, row=change.values(n))

    def _check_required(self, change: NetChange, came: list[int], added: pa.Table) -> None:
        for name in change.table.constraints.required:
            column = added.column(name)
            if column.null_count:
                n = came[column.is_null().to_pylist().index(True)]
                raise NullNotAllowed(
                    row=change.number(n), table=change.table.name, column=name, values=change.values(n)
                )

    def _check_condition(self, change: NetChange, came: list[int], added: pa.Table, condition: str) -> None:
        table = change.table
        verdicts = self.evaluator.holds(table.name, table.columns, condition, added)
        if False not in verdicts:
            return
        n = came[verdicts.index(False)]
        row = change.values(n)
        names = columns_in(condition, [c.name for c in table.columns])
        values = ", ".join(f"{name} is {row[name]!r}" for name in names)
        raise CheckViolated(
            row=change.number(n), table=table.name, check=condition, column=", ".join(names), found=values, values=row
        )

    def _check_key(self, change: NetChange, came: list[int]) -> None:
        """Refuse a key that two rows would have."""
        if len(came) == len(change.weights) > _MANY:
            self._check_many_keys(change)
            return
        table = change.table
        names = [c.name for c in table.columns]
        places = [names.index(k) for k in table.constraints.key]
        balance: dict[Key, int] = {}
        first: dict[Key, int] = {}
        rows = row_keys(change.rows)
        for n, (row, weight) in enumerate(zip(rows, change.weights, strict=True)):
            key = tuple(row[p] for p in places)
            balance[key] = balance.get(key, 0) + weight
            if weight > 0:
                if weight > 1 or key in first:
                    raise self._duplicate(change, n, key)
                first[key] = n
        growing = [key for key in first if balance[key] > 0]
        present = self.finder.by_key(table, growing) if growing else {}
        for key in growing:
            if len(present[key]) + balance[key] > 1:
                raise self._duplicate(change, first[key], key)

    def _check_many_keys(self, change: NetChange) -> None:
        """The same for many rows that come while none goes, without making Python values of them."""
        keys = change.rows.select(list(change.table.constraints.key))
        places, totals = added_up(keys, change.weights)
        repeated = pc.index(pc.greater(totals, 1), pa.scalar(True)).as_py()
        if repeated >= 0:
            self._refuse_key(change, keys, keys.slice(places[repeated].as_py(), 1))
        held = self.finder.held(change.table, keys)
        if held.num_rows:
            self._refuse_key(change, keys, held.slice(0, 1))

    def _refuse_key(self, change: NetChange, keys: pa.Table, key: pa.Table) -> None:
        """Refuse the last row that has a key."""
        is_equal = pa.chunked_array([pa.repeat(pa.scalar(True), keys.num_rows)])
        for name in keys.column_names:
            is_equal = pc.and_(is_equal, pc.equal(keys.column(name), key.column(name)[0]))
        (values,) = row_keys(key)
        raise self._duplicate(change, pc.indices_nonzero(is_equal)[-1].as_py(), values)

    def _duplicate(self, change: NetChange, n: int, key: Key) -> DuplicateKey:
        table = change.table
        shown = ", ".join(f"{name} = {value!r}" for name, value in zip(table.constraints.key, key, strict=True))
        return DuplicateKey(row=change.number(n), table=table.name, key=shown, values=change.values(n))
