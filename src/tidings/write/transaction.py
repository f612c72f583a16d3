"""Transactions: changes to any number of tables, all or nothing, at one instant.

What is done is collected and netted as it comes; nothing is kept before the end.  Reads inside a transaction see the
tables with what it has done so far on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import RLock
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from tidings.constraints.enforce import Enforcer, NetChange
from tidings.engine.changes import as_changes
from tidings.errors import EmptySignal, UnknownEvent, UnknownTransactionState, UnsupportedStatement
from tidings.exclusive import exclusive
from tidings.ir.expression import Expression
from tidings.ir.relation import Relation
from tidings.lang.sql import statement
from tidings.result import Result
from tidings.store.relation.net import Net, Row
from tidings.store.relation.relations import Relations
from tidings.store.relation.rows import read_rows
from tidings.store.relation.table import Table
from tidings.write import by_key, statements

__all__ = ["Access", "CommitHook", "NetChange", "Transaction", "TransactionHook"]


class Bind(Protocol):
    """Gives the bound plan of a query; places in it refer to the text, ``query_text`` is the query's part of it."""

    def __call__(
        self, query: Expression, text: str, name: str = "result", query_text: str | None = None
    ) -> Relation: ...


CommitHook: TypeAlias = Callable[[int], None]
"""Records more in the transaction of the catalog that records a commit; it is told the commit's time."""


class TransactionHook(Protocol):
    """Looks on while a transaction is open, and may do something in it."""

    def after_statement(self) -> None:
        """A statement has been run."""

    def before_commit(self) -> CommitHook | None:
        """The transaction is about to be committed; what is to be recorded with it."""

    def rolled_back(self) -> None:
        """The transaction was given up."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a transaction needs of its database."""

    relations: Relations
    enforcer: Enforcer
    plan: Callable[[str], Relation]
    """The bound plan of a query's text, or of a relation's name."""
    bind: Bind
    answer: Callable[[Relation, int, Mapping[str, pa.Table], Mapping[str, pa.Table]], pa.Table]
    """The rows of a plan: the instant that counts as now, changes of tables on top of what is committed, and rows that
    stand for whole tables."""
    instant: Callable[[], int]
    """The present."""
    commit: Callable[[list[NetChange], CommitHook | None], int]
    mutex: RLock
    """Lets one thread in at a time: transactions of several share the engine and what the store keeps in memory."""
    hook_for: Callable[[Transaction], TransactionHook | None] = lambda _: None
    """Whoever looks on while a transaction is open: the rules, if there are any."""


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
    done: list[tuple[Table, pa.Table, int]] = field(default_factory=list)
    """What has been done, in order: rows of tables that came (1) or went (-1)."""
    inside: bool = False
    """Whether this is the part of a transaction that a rule's action has: somebody else ends it."""
    _hook: TransactionHook | None = None
    _has_hook: bool = False
    _mutex: RLock = field(init=False)

    def __post_init__(self) -> None:
        self._mutex = self.access.mutex

    @property
    def hook(self) -> TransactionHook | None:
        """Who looks on."""
        if not self._has_hook:
            self._has_hook, self._hook = True, self.access.hook_for(self)
        return self._hook

    def part(self, access: Access) -> Transaction:
        """The same transaction, for somebody who may change rows in it but not end it."""
        return Transaction(replace(access, hook_for=lambda _: None), self._work, done=self.done, inside=True)

    def statement_done(self) -> None:
        """Say that a statement has been run; those of the ways to change rows here say so themselves."""
        if self.hook is not None:
            with self._refusing():
                self.hook.after_statement()

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """End the transaction if what is done inside fails: part of it has been done."""
        try:
            yield
        except BaseException:
            self._over = "a rule refused it"
            if self._hook is not None:
                self._hook.rolled_back()
            raise

    def signal_rows(self, read: statement.Signal) -> None:
        """Let an event happen, as a statement says."""
        statements.signal(self, read.insert)
        self.statement_done()

    # changes by rows

    @exclusive
    def insert(self, table: str, rows: Any) -> None:
        """Add rows: dictionaries, tuples, an Arrow table, a pandas or Spark frame, or the path of a file.

        A column that is not given has its DEFAULT, or NULL.
        """
        target = self.target(table)
        self.add(target, self._read(target, rows), 1)
        self.statement_done()

    @exclusive
    def signal(self, event: str, rows: Any) -> None:
        """Let an event happen, with rows that are there until the end of the transaction."""
        target = self.event(event)
        found = self._read(target, rows)
        if not found.num_rows:
            raise EmptySignal(name=target.name)
        self.add(target, found, 1)
        self.statement_done()

    @exclusive
    def delete(self, table: str, rows: Any) -> None:
        """Take rows out, each named by its primary key or by all its values; one occurrence per row given."""
        target = self.target(table)
        by_key.delete(self, target, rows)
        self.statement_done()

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
        self.statement_done()

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
                    self.statement_done()
                case statement.Signal():
                    self.signal_rows(read)
                case statement.Query():
                    result = Result(
                        self.answer(
                            self.access.bind(read.query, read.text, query_text=read.query_text), self.access.instant()
                        )
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
        self._require_own()
        also = None
        if self.hook is not None:
            with self._refusing():
                also = self.hook.before_commit()
        self.time = self.access.commit([c for work in self._work.values() if (c := work.change()).weights], also)
        self._over = "it was committed"
        return self.time

    def rollback(self) -> None:
        """Forget the changes."""
        self._require_open()
        self._require_own()
        self._over = "it was rolled back"
        if self._hook is not None:
            self._hook.rolled_back()

    # what the ways to change rows are made of

    def target(self, table: str) -> Table:
        """A table to be changed."""
        self._require_open()
        found = self.access.relations.table(table)
        if found.role == "event":
            raise UnsupportedStatement(None, f"SIGNAL {found.name}", statement=f"a change of the event {found.name}")
        return found

    def event(self, name: str) -> Table:
        """An event to be signalled."""
        self._require_open()
        found = self.access.relations.find(name)
        if not isinstance(found, Table) or found.role != "event":
            raise UnknownEvent(None, name=name)
        return found

    def add(self, table: Table, rows: pa.Table, weight: int) -> None:
        """Add rows of a table's own form, or take them out."""
        if rows.num_rows:
            self.done.append((table, rows, weight))
            found = self._work.setdefault(table.id, _Work(table, Net(table.columns, table.constraints.key)))
            found.add(rows, weight)

    def pending(self, table: Table) -> Net | None:
        """What has been done to a table so far."""
        found = self._work.get(table.id)
        return None if found is None else found.net

    def check_present(self) -> None:
        """Refuse to take out what is not there."""
        for work in self._work.values():
            self.access.enforcer.check_present(work.change())

    def answer(self, plan: Relation, now: int, instead: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """The rows of a plan, with what has been done so far; rows given ``instead`` stand for whole tables."""
        changes = {}
        for work in self._work.values():
            net = work.change()
            if net.weights:
                self.access.enforcer.check_present(net)
                changes[work.table.name] = as_changes(work.table.columns, net.rows, net.weights)
        tables = {name: self.access.relations.table(name) for name in instead or {}}
        given = {n: as_changes(tables[n].columns, rows, [1] * rows.num_rows) for n, rows in (instead or {}).items()}
        return self.access.answer(plan, now, changes, given)

    def _require_own(self) -> None:
        if self.inside:
            raise UnknownTransactionState(reason="it is ended by whoever began it, not by an action")

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
