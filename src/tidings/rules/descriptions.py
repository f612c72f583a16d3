"""The rules of a database, as rows and as text."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.engine.changes import without_version
from tidings.result import Result
from tidings.rules.registry import RuleRegistry
from tidings.rules.system_tables import RuleSystemTables

_COLUMNS = ["name", "enabled", "priority", "condition", "action", "does", "error"]


@dataclass(frozen=True, slots=True)
class RuleDescriptions:
    """Describes the rules of one database."""

    registry: RuleRegistry
    system_tables: RuleSystemTables

    def rules(self) -> Result:
        """The rules by name: whether they are enabled, their coupling, what they do, and what is wrong with them."""
        rows = without_version(self.system_tables.changes("tidings.rules"))
        return Result(rows.select(_COLUMNS).sort_by("name"))

    def create_rule(self, name: str) -> str:
        """The CREATE RULE statement of a rule, as it was written."""
        return self.registry.record(name).text
