"""What rules depend on: relations that may not be dropped or renamed while a rule reads, changes or waits for them."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.analysis.influents import reads
from tidings.errors import DependentObjects, UnsupportedStatement
from tidings.lang.sql import statement as sql
from tidings.lang.sql.mentions import first_mention
from tidings.lang.sql.statements.action import Modify
from tidings.rules.event import check as events
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import Rule
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class RuleDependencies:
    """Protects what the rules of one database depend on."""

    registry: RuleRegistry
    relations: Relations

    def dependents(self, relation: str) -> list[str]:
        """The names of the rules that depend on a relation."""
        return [rule.name for rule in self.registry.rules() if relation.lower() in self._dependencies(rule)]

    def _dependencies(self, rule: Rule) -> set[str]:
        """The relations that a rule reads, changes or waits for, in lower case."""
        condition = rule.condition
        plans = [condition.plan] if condition.changes_of is None else [condition.plan, condition.changes_of.plan]
        names = {name.lower() for plan in plans for name in self.relations.below(plan)}
        names |= {name.lower() for name in reads(condition.plan)}
        if rule.event is not None:
            names |= events.tables(rule.event)
        if isinstance(rule.action, Modify):
            names.add(rule.action.change.table.lower())
        return names

    def require_free(self, relation: str) -> None:
        """Refuse to drop or rename a relation that rules depend on."""
        names = self.dependents(relation) if self.registry.records else []
        if names:
            listed = ", ".join(f"rule {n}" for n in sorted(names))
            raise DependentObjects(None, "drop the rules first", name=relation, dependents=listed)

    def check_definition(self, statement: sql.Statement) -> None:
        """Refuse a statement that takes away what rules depend on, or defines a view of a system table."""
        match statement:
            case sql.Drop():
                for name in statement.names:
                    relation = self.relations.find(name)
                    if isinstance(relation, Table) and relation.role != "table":
                        kind = "EVENT" if relation.role == "event" else "RULE"
                        raise UnsupportedStatement(None, f"use DROP {kind}", statement=f"DROP TABLE {relation.name}")
                    self.require_free(name)
            case sql.RenameTable() | sql.RenameColumn():
                self.require_free(statement.table)
            case sql.CreateView():
                mention = first_mention(statement.query, statement.text, self.relations.system_tables)
                if mention is not None:
                    raise UnsupportedStatement(mention.place, "query it", statement=f"a view of {mention.written}")
            case _:
                pass
