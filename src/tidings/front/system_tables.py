"""The tables that show what a database knows of itself.

They are ``tidings.tables``, ``views``, ``columns``, ``rules``, ``firings``, ``silences``, ``deliveries`` and
``continuous_queries``.

Queries may read them.  They have no history and no changes, so views and rules may not.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.continuous import descriptions as continuous_queries
from tidings.continuous.descriptions import CONTINUOUS_QUERIES, QueryDescriptions
from tidings.deliver import deliveries
from tidings.ir.column import Column
from tidings.read import descriptions
from tidings.read.descriptions import Descriptions
from tidings.rules import system_tables as rule_tables
from tidings.rules.system_tables import RuleSystemTables
from tidings.store.rules.outbox import Outbox
from tidings.store.storage import Storage

DELIVERIES = "tidings.deliveries"

COLUMNS: dict[str, tuple[Column, ...]] = {
    **descriptions.SYSTEM_TABLES,
    **rule_tables.TABLES,
    DELIVERIES: deliveries.COLUMNS,
    CONTINUOUS_QUERIES: continuous_queries.COLUMNS,
}
"""The columns of each system table."""


@dataclass(frozen=True, slots=True)
class SystemTables:
    """The rows of the system tables of one database, as they are now."""

    relations: Descriptions
    rule_tables: RuleSystemTables
    queries: QueryDescriptions
    storage: Storage

    def changes(self, name: str) -> pa.Table:
        """The rows of one of the tables, as changes that insert them."""
        if name in descriptions.SYSTEM_TABLES:
            return self.relations.changes(name)
        if name == DELIVERIES:
            return rule_tables.as_inserts(COLUMNS[name], deliveries.rows(Outbox(self.storage.rule_tables)))
        return self.queries.changes() if name == CONTINUOUS_QUERIES else self.rule_tables.changes(name)
