"""What a table demands, held against the net effect of a transaction.

Only what the transaction makes of the table counts, not how: a key may change hands within it, and a row that comes and
goes again breaks nothing.  The first row found wanting refuses the whole transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from tidings.constraints.evaluate import Evaluator
from tidings.engine.row_values import row_keys
from tidings.errors import AppendOnly, CheckViolated, DuplicateKey, MissingRow, NullNotAllowed
from tidings.ir.expression import TIME, WEIGHT, show_name
from tidings.lang.sql.parse import parsed
from tidings.store.key_lookup import KeyLookup
from tidings.store.relation.constraints import NONE
from tidings.store.relation.net import Key, table_of
from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class NetChange:
    """What a transaction does to one table once everything that cancels is gone."""

    table: Table
    rows: pa.Table
    weights: list[int]
    numbers: tuple[int, ...] = ()
    """For each row, which one it was of those given."""

    def number(self, n: int) -> int:
        return self.numbers[n] if self.numbers else n + 1

    def values(self, n: int) -> dict[str, Any]:
        """One of the rows."""
        (row,) = self.rows.slice(n, 1).to_pylist()
        return dict(row)


@dataclass(frozen=True, slots=True)
class Enforcer:
    """Judges transactions."""

    finder: KeyLookup
    evaluator: Evaluator

    def check(self, change: NetChange) -> None:
        """Refuse a change that leaves the table as it must not be."""
        demands = change.table.constraints
        came = [n for n, weight in enumerate(change.weights) if weight > 0]
        if demands.append_only and len(came) < len(change.weights):
            gone = next(n for n, weight in enumerate(change.weights) if weight < 0)
            raise AppendOnly(table=change.table.name, row=change.number(gone), values=change.values(gone))
        self.check_present(change)
        if not came or demands == NONE:
            return
        added = change.rows if len(came) == len(change.weights) else change.rows.take(pa.array(came, pa.int64()))
        self._check_required(change, came, added)
        for condition in demands.checks:
            self._check_condition(change, came, added, condition)
        if demands.key:
            self._check_key(change, came)

    def check_history(self, table: Table, entry: pa.Table) -> None:
        """Refuse rows that a table would not take, in an entry that only adds."""
        demands = table.constraints
        if demands.key or demands.required or demands.checks:
            self.check(NetChange(table, entry.drop_columns([TIME, WEIGHT]), entry.column(WEIGHT).to_pylist()))

    def check_base(self, table: Table) -> None:
        """Refuse a base whose rows the table would not take; the engine looks for the first that is not right."""
        demands, own = table.constraints, show_name(table.name)
        names = {c.name: show_name(c.name) for c in table.columns}
        wrong = [f"{names[n]} IS NULL" for n in demands.required] + [f"NOT ({c})" for c in demands.checks]
        if wrong:
            conditions = " OR ".join(f"({c})" for c in wrong)
            self._check_rows(table, self.evaluator.in_base(table, f"SELECT * FROM {own} WHERE {conditions}"))
        if demands.key:
            listed = ", ".join(names[k] for k in demands.key)
            text = f"SELECT {listed} FROM {own} GROUP BY {listed} HAVING count(*) > 1"
            keys = row_keys(self.evaluator.in_base(table, text))
            if keys:
                self._check_rows(table, table_of(table.columns, self.finder.by_key(table, keys)[keys[0]]))

    def _check_rows(self, table: Table, rows: pa.Table) -> None:
        """Say of some rows that are loaded already what is wrong with them."""
        if rows.num_rows:
            self.check(
                NetChange(Table(table.name, table.columns, constraints=table.constraints), rows, [1] * len(rows))
            )

    def check_present(self, change: NetChange) -> None:
        """Refuse to delete what is not there."""
        gone = [n for n, weight in enumerate(change.weights) if weight < 0]
        if not gone:
            return
        keys = row_keys(change.rows)
        short = [n for n in gone if change.table.logged(keys[n]) < -change.weights[n]]
        if not short:
            return
        in_base = self.finder.in_base(change.table, change.rows.take(pa.array(short, pa.int64())))
        for n in short:
            if change.table.logged(keys[n]) + in_base[keys[n]] < -change.weights[n]:
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
        names = _mentioned(table, condition)
        found = ", ".join(f"{name} is {row[name]!r}" for name in names)
        raise CheckViolated(
            row=change.number(n), table=table.name, check=condition, column=", ".join(names), found=found, values=row
        )

    def _check_key(self, change: NetChange, came: list[int]) -> None:
        """Refuse a key that two rows would have."""
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
        found = self.finder.by_key(table, growing) if growing else {}
        for key in growing:
            if len(found[key]) + balance[key] > 1:
                raise self._duplicate(change, first[key], key)

    def _duplicate(self, change: NetChange, n: int, key: Key) -> DuplicateKey:
        table = change.table
        shown = ", ".join(f"{name} = {value!r}" for name, value in zip(table.constraints.key, key, strict=True))
        return DuplicateKey(row=change.number(n), table=table.name, key=shown, values=change.values(n))


def _mentioned(table: Table, condition: str) -> list[str]:
    """The columns a condition looks at, by their own names."""
    mentioned = {c.name.lower() for c in parsed(condition).find_all(exp.Column)}
    return [c.name for c in table.columns if c.name.lower() in mentioned]
