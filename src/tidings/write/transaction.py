"""Transactions: changes to any number of tables, all or nothing, at one instant.

What is done is collected and netted as it comes; nothing is kept before the end.  Reads inside a transaction see the
tables with what it has done so far on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.errors import UnknownTransactionState, UnsupportedStatement
from tidings.exclusive import exclusive
from tidings.ir.expression import TIME, WEIGHT, Expression
from tidings.ir.relation import Relation
from tidings.lang.sql import statement
from tidings.result import Result
from tidings.store.catalog import Catalog
from tidings.store.enforce import Enforcer, NetChange
from tidings.store.net import Net, Row
from tidings.store.rows import read_rows
from tidings.store.table import Table
from tidings.write import by_key, statements

__all__ = ["Access", "NetChange", "Transaction"]


class Bind(Protocol):
    """Gives the bound plan of a query; places in it refer to the text, ``own`` is the query's part of it."""

    def __call__(self, query: Expression, text: str, name: str = "result", own: str | None = None) -> Relation: ...


@dataclass(frozen=True, slots=True)
class Access:
    """What a transaction needs of its database."""

    catalog: Catalog
    enforcer: Enforcer
    plan: Callable[[str], Relation]
    """The bound plan of a query's text, or of a relation's name."""
    bind: Bind
    answer: Callable[[Relation, int, Mapping[str, pa.Table], Mapping[str, pa.Table]], pa.Table]
    """The rows of a plan: the instant that counts as now, changes of tables on top of what is committed, and rows that
    stand for whole tables."""
    instant: Callable[[], int]
    """The present."""
    commit: Callable[[list[NetChange]], int]
    mutex: RLock
    """Lets one thread in at a time: transactions of several share the engine and what the store keeps in memory."""


@dataclass(slots=True)
class _Work:
    """What a transaction has done to one table so far."""

    table: Table
    net: Net
    parts: list[pa.Table] = field(default_factory=list)
    first: dict[Row, int] = field(default_factory=dict)
    """Where each row stands among the parts, the first time."""
    numbers: list[int] = field(default_factory=list)

    def add(self, rows: pa.Table, weight: int) -> None:
        start = len(self.numbers)
        self.parts.append(rows)
        self.numbers.extend(range(1, rows.num_rows + 1))
        for n, row in enumerate(self.net.add(rows, [weight] * rows.num_rows)):
            self.first.setdefault(row, start + n)

    def change(self) -> NetChange:
        """The net effect."""
        if self.net.columns != self.table.columns:
            raise UnknownTransactionState(reason=f"{self.table.name} was altered while it was open")
        places = [self.first[row] for row in self.net.counts]
        rows = pa.concat_tables(self.parts).take(pa.array(places, pa.int64()))
        return NetChange(self.table, rows, list(self.net.counts.values()), tuple(self.numbers[p] for p in places))


@dataclass(slots=True)
class Transaction:
    """Collects changes; leaving the ``with`` block commits them, an exception forgets them."""

    access: Access
    _work: dict[int, _Work] = field(default_factory=dict)
    _over: str | None = None
    time: int | None = None
    """The commit time, once committed."""
    _mutex: RLock = field(init=False)

    def __post_init__(self) -> None:
        self._mutex = self.access.mutex

    # changes by rows

    @exclusive
    def insert(self, table: str, rows: Any) -> None:
        """Add rows: dictionaries, tuples, an Arrow table, a pandas or Spark frame, or the path of a file.

        A column that is not given has its DEFAULT, or NULL.
        """
        target = self.target(table)
        self.add(target, self._read(target, rows), 1)

    @exclusive
    def delete(self, table: str, rows: Any) -> None:
        """Take rows out, each named by its primary key or by all its values; one occurrence per row given."""
        target = self.target(table)
        by_key.delete(self, target, rows)

    @exclusive
    def update(self, table: str, old: Any, new: Any = None) -> None:
        """Replace rows by others; with one argument, give rows named by their primary key other values."""
        target = self.target(table)
        if new is None:
            by_key.update(self, target, old)
        else:
            came = self._read(target, new)
            by_key.delete(self, target, old)
            self.add(target, came, 1)

    def _read(self, target: Table, rows: Any) -> pa.Table:
        defaults = self.access.enforcer.evaluator.defaults(target, self.access.instant())
        return read_rows(target.name, target.columns, rows, defaults)

    # changes and questions in SQL

    @exclusive
    def sql(self, text: str) -> Result | None:
        """Run statements that change rows, and queries, which see the changes; the rows of the last one if any."""
        result = None
        for read in statement.read(text):
            self._require_open()
            result = None
            match read:
                case statement.Insert() | statement.Update() | statement.Delete() | statement.Merge():
                    statements.run(self, read)
                case statement.Query():
                    result = Result(
                        self.answer(self.access.bind(read.query, read.text, own=read.own), self.access.instant())
                    )
                case _:
                    hint = "define tables and views outside of transactions"
                    raise UnsupportedStatement(None, hint, statement=f"{type(read).__name__} in a transaction")
        return result

    @exclusive
    def query(self, text: str) -> Result:
        """The rows of a query, or of a table or view by its name, with what this transaction has done."""
        self._require_open()
        return Result(self.answer(self.access.plan(text), self.access.instant()))

    # the end

    @exclusive
    def commit(self) -> int:
        """Make the changes count, all at one instant; returns it."""
        self._require_open()
        self.time = self.access.commit([c for work in self._work.values() if (c := work.change()).weights])
        self._over = "it was committed"
        return self.time

    def rollback(self) -> None:
        """Forget the changes."""
        self._require_open()
        self._over = "it was rolled back"

    # what the ways to change rows are made of

    def target(self, table: str) -> Table:
        """A table to be changed."""
        self._require_open()
        return self.access.catalog.table(table)

    def add(self, table: Table, rows: pa.Table, weight: int) -> None:
        """Add rows of a table's own form, or take them out."""
        if rows.num_rows:
            found = self._work.setdefault(table.id, _Work(table, Net(table.columns, table.constraints.key)))
            found.add(rows, weight)

    def pending(self, table: Table) -> Net | None:
        """What has been done to a table so far."""
        found = self._work.get(table.id)
        return None if found is None else found.net

    def answer(self, plan: Relation, now: int, instead: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """The rows of a plan, with what has been done so far; rows given ``instead`` stand for whole tables."""
        changes = {}
        for work in self._work.values():
            net = work.change()
            if net.weights:
                self.access.enforcer.check_present(net)
                changes[work.table.name] = _as_entry(work.table, net.rows, net.weights)
        tables = {name: self.access.catalog.table(name) for name in instead or {}}
        given = {n: _as_entry(tables[n], rows, [1] * rows.num_rows) for n, rows in (instead or {}).items()}
        return self.access.answer(plan, now, changes, given)

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


def _as_entry(table: Table, rows: pa.Table, weights: list[int]) -> pa.Table:
    """Rows as they would stand in the log, but of no instant."""
    entry = rows.append_column(TIME, pa.array([0] * rows.num_rows, pa.int64()))
    entry = entry.append_column(WEIGHT, pa.array(weights, pa.int64()))
    return entry.cast(arrow_schema(table.columns, versioned=True))
