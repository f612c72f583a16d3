"""The hooks through which rules take part in transactions, commits and loads.

``write`` calls them and knows nothing else of rules; :mod:`tidings.rules` implements them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeAlias

from sqlalchemy import Connection

from tidings.store.relation.table import Table

CommitHook: TypeAlias = Callable[[int], None]
"""Is called with the commit time inside the catalog transaction of a commit, and may record more in it."""


class TransactionHook(Protocol):
    """Watches an open transaction, and may change rows in it."""

    def after_statement(self) -> None:
        """Is called when a statement has been run."""

    def read_by_statements(self) -> Collection[str]:
        """The relations whose rows :meth:`after_statement` may look at."""

    def before_commit(self) -> CommitHook | None:
        """Is called before the commit, and may still refuse it; returns what has to be recorded with it."""

    def rolled_back(self) -> None:
        """Is called when the transaction has been rolled back, or has failed, also in its commit."""


class LoadHook(Protocol):
    """Watches a load."""

    def before(self, target: Table) -> None:
        """Is called before a table gets its first rows."""

    def loaded(self, target: Table) -> None:
        """Is called when a table has its first rows, and may still refuse them."""

    def record(self, connection: Connection) -> None:
        """Records more in the catalog transaction of the load."""

    def logged(self, tables: Sequence[Table], since: int, until: int) -> None:
        """Is called inside the catalog transaction of a history that was loaded, and may still refuse it."""
