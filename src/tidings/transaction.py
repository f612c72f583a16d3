"""Transactions: changes to any number of tables, all or nothing, at one instant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import pyarrow as pa

from tidings.engine.plain import row_keys
from tidings.errors import UnknownTransactionState
from tidings.store.rows import read_rows
from tidings.store.table import Table


@dataclass(frozen=True, slots=True)
class NetChange:
    """What a transaction does to one table once everything that cancels is gone."""

    table: Table
    rows: pa.Table
    weights: list[int]


@dataclass(slots=True)
class Transaction:
    """Collects changes; leaving the ``with`` block commits them, an exception forgets them."""

    _table: Callable[[str], Table]
    _commit: Callable[[list[NetChange]], int]
    _changes: dict[str, list[tuple[pa.Table, int]]] = field(default_factory=dict)
    _over: str | None = None
    time: int | None = None
    """The commit time, once committed."""

    def insert(self, table: str, rows: Any) -> None:
        """Add rows: dictionaries, tuples, an Arrow table or a pandas frame."""
        self._add(table, rows, 1)

    def delete(self, table: str, rows: Any) -> None:
        """Take rows out, each named by all its values; one occurrence per row given."""
        self._add(table, rows, -1)

    def update(self, table: str, old: Any, new: Any) -> None:
        """Replace rows by others."""
        self.delete(table, old)
        self.insert(table, new)

    def _add(self, name: str, rows: Any, weight: int) -> None:
        self._require_open()
        table = self._table(name)
        self._changes.setdefault(table.name, []).append((read_rows(table.name, table.columns, rows), weight))

    def commit(self) -> int:
        """Make the changes count, all at one instant; returns it."""
        self._require_open()
        net = [self._net(name, parts) for name, parts in self._changes.items()]
        self.time = self._commit([c for c in net if c.weights])
        self._over = "it was committed"
        return self.time

    def rollback(self) -> None:
        """Forget the changes."""
        self._require_open()
        self._over = "it was rolled back"

    def _net(self, name: str, parts: list[tuple[pa.Table, int]]) -> NetChange:
        rows = pa.concat_tables(part for part, _ in parts)
        signs = [sign for part, sign in parts for _ in range(part.num_rows)]
        totals: dict[Any, int] = {}
        first: dict[Any, int] = {}
        for position, (key, sign) in enumerate(zip(row_keys(rows), signs, strict=True)):
            totals[key] = totals.get(key, 0) + sign
            first.setdefault(key, position)
        kept = [key for key, total in totals.items() if total]
        chosen = rows.take(pa.array([first[key] for key in kept], pa.int64()))
        return NetChange(self._table(name), chosen, [totals[key] for key in kept])

    def _require_open(self) -> None:
        if self._over is not None:
            raise UnknownTransactionState(reason=self._over)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._over is None:
            self.commit() if kind is None else self.rollback()
