"""Transactions: changes to any number of tables, all or nothing, at one instant.

A thin front of :class:`tidings.write.workspace.Workspace`: rows and texts come in, and are read here.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import pyarrow as pa

from tidings.errors import EmptySignal, NonDeterministic
from tidings.exclusive import Mutex, limited, running
from tidings.lang.sql import statement as sql
from tidings.lang.sql.parameters import Params
from tidings.result import AffectedRows, Result
from tidings.store.relation.progress import progress
from tidings.store.relation.rows import read_rows
from tidings.store.relation.table import Table
from tidings.write import by_key
from tidings.write.inside import run_inside
from tidings.write.workspace import Workspace


class Transaction:
    """Collects changes; leaving the ``with`` block commits them, an exception forgets them.

    ``db.transaction()`` begins one.

    >>> import tidings
    >>> db = tidings.open(engine="duckdb")
    >>> db.sql("CREATE TABLE stock (item INT PRIMARY KEY, qty INT)")
    >>> with db.transaction() as tx:
    ...     inserted = tx.insert("stock", [(1, 90), (2, 40)])
    ...     updated = tx.sql("UPDATE stock SET qty = 30 WHERE item = 2")
    >>> inserted, updated, tx.time == db.time
    (AffectedRows(inserted=2, updated=0, deleted=0), AffectedRows(inserted=0, updated=1, deleted=0), True)
    >>> [(change.row, change.weight) for change in db.changes("stock")]
    [({'item': 1, 'qty': 90}, 1), ({'item': 2, 'qty': 30}, 1)]
    >>> db.close()
    """

    __slots__ = ("_applied", "_mutex", "_workspace")

    def __init__(self, workspace: Workspace, applied: int | None = None) -> None:
        self._workspace = workspace
        self._applied = applied
        self._mutex: Mutex = workspace.parts.mutex

    @property
    def time(self) -> int | None:
        """The commit time, once committed; that of the first one if this one repeats it."""
        return self._workspace.time if self._applied is None else self._applied

    @property
    def repeated(self) -> bool:
        """Whether a transaction of the same id was committed before: then this one changes nothing."""
        return self._applied is not None

    # changes by rows

    @running
    def insert(self, table: str, rows: Any) -> AffectedRows:
        """Add rows: dictionaries or tuples in a list or iterator, an Arrow table, a frame of pandas, polars or Spark,
        or the name of Parquet, CSV or JSON files, perhaps a pattern such as ``sales/*.csv``, or of a folder of them.

        A column that is not given has its DEFAULT, or NULL.
        """
        if self._skips():
            return AffectedRows.of()
        target = self._workspace.target(table)
        inserted = self._read(target, rows)
        self._workspace.add(target, inserted, 1)
        self._workspace.statement_done()
        return AffectedRows.of(inserted=inserted.num_rows)

    @running
    def signal(self, event: str, rows: Any) -> None:
        """Let an event happen, with rows that are there until the end of the transaction."""
        if self._skips():
            return
        target = self._workspace.event(event)
        occurrences = self._read(target, rows)
        if not occurrences.num_rows:
            raise EmptySignal(name=target.name)
        self._workspace.add(target, occurrences, 1)
        self._workspace.statement_done()

    @running
    def delete(self, table: str, rows: Any) -> AffectedRows:
        """Remove rows, each named by its primary key or by all its values; one occurrence per row given."""
        if self._skips():
            return AffectedRows.of()
        target = self._workspace.target(table)
        affected = by_key.delete(self._workspace, target, rows)
        self._workspace.statement_done()
        return affected

    @running
    def update(self, table: str, old: Any, new: Any = None) -> AffectedRows:
        """Replace rows by others; with one argument, give rows named by their primary key other values."""
        if self._skips():
            return AffectedRows.of()
        target = self._workspace.target(table)
        if new is None:
            affected = by_key.update(self._workspace, target, old)
        else:
            new_rows = self._read(target, new)
            by_key.delete(self._workspace, target, old)
            self._workspace.add(target, new_rows, 1)
            affected = AffectedRows.of(updated=new_rows.num_rows)
        self._workspace.statement_done()
        return affected

    @running
    def upsert(self, table: str, rows: Any) -> AffectedRows:
        """Update the rows that have the primary keys of those given, and insert the others.

        Columns that are not given stay as they are in a row that is there, and have their DEFAULT, or NULL, in one that
        comes.  Of two rows with one key the later one counts.
        """
        if self._skips():
            return AffectedRows.of()
        target = self._workspace.target(table)
        affected = by_key.upsert(self._workspace, target, rows, self._defaults(target))
        self._workspace.statement_done()
        return affected

    def _skips(self) -> bool:
        """Whether changes are passed over, since they were made before."""
        self._workspace.require_open()
        return self._applied is not None

    def _read(self, target: Table, rows: Any) -> pa.Table:
        with progress(f"reading rows for {target.name}") as seen:
            return read_rows(target.name, target.columns, rows, self._defaults(target), seen)

    def _defaults(self, target: Table) -> dict[str, Any]:
        return self._workspace.parts.enforcer.evaluator.defaults(target, self._workspace.now())

    # changes and questions in SQL

    @limited
    @running
    def sql(self, text: str, params: Params | None = None, *, timeout: float | None = None) -> Result | None:
        """Run statements that change rows, and queries, which see the changes; what the last one gives.

        That is the rows of a query, or how many rows a statement inserted, updated and deleted.
        """
        result: Result | None = None
        for statement in sql.read(text, params):
            if self._skips() and not isinstance(statement, sql.Query):
                result = AffectedRows.of()
                continue
            result = run_inside(self._workspace, statement)
        return result

    @limited
    @running
    def query(self, text: str, *, params: Params | None = None, timeout: float | None = None) -> Result:
        """The rows of a query, or of a table or view by its name, with what this transaction has done."""
        self._workspace.require_open()
        plans = self._workspace.parts.plans
        try:
            return self._workspace.result(plans.asked_once(text, params))
        except NonDeterministic:
            return self._workspace.answer_to(plans.read(text, params))

    # the end

    @running
    def commit(self) -> int:
        """Make the changes count, all at one instant; returns it."""
        if self._applied is not None:
            self._workspace.rollback()
            return self._applied
        return self._workspace.commit()

    def rollback(self) -> None:
        """Forget the changes."""
        self._workspace.rollback()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._workspace.ended_by is None:
            self.commit() if kind is None else self.rollback()
