"""Runs the loads of ``db.load``: first rows and histories are loaded, further rows are inserted by a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidings.continuous.statements import ContinuousStatements
from tidings.result import AffectedRows
from tidings.rules.detached.advance import DetachedRules
from tidings.rules.load_hook import RuleLoadHook
from tidings.rules.transactions import RuleTransactions
from tidings.store.relation.progress import Seen, progress
from tidings.write.load import Loader


@dataclass(frozen=True, slots=True)
class Loads:
    """Loads rows into the tables of one database, with all that rules do about it."""

    loader: Loader
    transactions: RuleTransactions
    detached: DetachedRules
    continuous: ContinuousStatements

    def load(self, table: str | Mapping[str, Any], data: Any, sorted_by: str | None, late: str) -> AffectedRows:
        """Load rows into a table, or histories into several; how many those were."""
        with progress(f"loading {table if isinstance(table, str) else ', '.join(table)}") as seen:
            return AffectedRows.of(inserted=self._load(table, data, sorted_by, late, seen))

    def _load(self, table: str | Mapping[str, Any], data: Any, sorted_by: str | None, late: str, seen: Seen) -> int:
        if isinstance(table, str) and self.loader.has_rows(table):
            target, rows = self.loader.further_rows(table, data, sorted_by, seen)
            if rows.num_rows:
                with self.transactions.begin() as workspace:
                    workspace.add(target, rows, 1)
                    workspace.statement_done()
            return int(rows.num_rows)
        if isinstance(table, str) and not self.loader.has_history(table):
            self.continuous.before_load(table)
        context = self.transactions.context
        hook = RuleLoadHook(context, self.detached) if context.registry.records else None
        count = self.loader.load(table, data, sorted_by, late, hook, seen)
        if hook is not None:
            hook.act()
        context.wake_runner()
        return count
