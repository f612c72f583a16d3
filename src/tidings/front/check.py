"""Checking a database: everything is read, and stored views are compared with what their queries say.

A finding is a row: what is damaged, and how.  Nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from tidings.engine.row_values import row_keys
from tidings.errors import TidingsError
from tidings.ir.relation import Scan
from tidings.read.answers import Answers
from tidings.store.catalog.integrity import catalog_problems
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView
from tidings.store.storage import Storage


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be."""

    what: str
    """``catalog``, ``files``, ``log`` or ``view``."""
    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    """Checks one database."""

    storage: Storage
    answers: Answers

    def findings(self) -> list[Finding]:
        """Everything that is wrong; it takes as long as reading all rows and computing all stored views."""
        problems = (Finding("catalog", "catalog", p) for p in catalog_problems(self.storage.rule_tables))
        tables = [finding for table in self.storage.tables() for finding in self._table(table)]
        damaged = {finding.name for finding in tables}
        views = [v for v in self.storage.relations.stored() if v.name not in damaged]
        return [*problems, *tables, *(finding for view in views for finding in self._view(view))]

    def _table(self, table: Table) -> Iterator[Finding]:
        snapshot = self.storage.snapshots.files.get(table.id)
        if table.damage is not None:
            yield Finding("files", table.name, str(table.damage))
            return
        if snapshot is not None:
            snapshot.decoded.verified.difference_update(file.path for file in snapshot.record.files)
            yield from _problem("files", table.name, snapshot.check)
            yield from _problem("files", table.name, snapshot.verify)
            yield from _problem("files", table.name, lambda: _count(table, snapshot.rows().num_rows))
        yield from _problem("log", table.name, lambda: table.history.unfolded()())

    def _view(self, view: StoredView) -> Iterator[Finding]:
        if view.error is not None or view.is_outdated:
            return
        yield from _problem("view", view.name, lambda: self._compare(view))

    def _compare(self, view: StoredView) -> None:
        """Refuse a view whose stored rows are not those of its query at the instant they are of."""
        stored = Counter(row_keys(self.answers.at(Scan(view.name, "stored", view.columns), view.until).to_arrow()))
        expected = Counter(row_keys(self.answers.at(view.plan, view.until).to_arrow()))
        if stored != expected:
            more, fewer = (stored - expected).total(), (expected - stored).total()
            raise _Differs(f"{more} rows are stored that its query does not give, and {fewer} are missing")


class _Differs(Exception):
    """What is stored is not what it should be."""


def _count(table: Table, rows: int) -> None:
    if rows != table.base_size:
        raise _Differs(f"its files have {rows} rows, and should have {table.base_size}")


def _problem(what: str, name: str, check: Callable[[], object]) -> Iterator[Finding]:
    """What a check finds wrong, if anything."""
    try:
        check()
    except (TidingsError, _Differs, OSError, pa.ArrowException) as error:
        yield Finding(what, name, str(error).splitlines()[0])


def as_table(findings: list[Finding]) -> pa.Table:
    """Findings as rows."""
    columns = {name: [getattr(f, name) for f in findings] for name in ("what", "name", "problem")}
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
