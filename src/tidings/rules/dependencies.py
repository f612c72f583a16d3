"""What rules depend on: relations that may not be dropped or renamed while a rule reads, changes or waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tidings.analysis.influents import reads
from tidings.errors import DependentObjects, UnsupportedStatement
from tidings.lang.sql import statement as sql
from tidings.lang.sql.mentions import first_mention, mentioned
from tidings.lang.sql.statements.action import Call, Modify
from tidings.lang.sql.statements.dml import trees
from tidings.rules.action.check import CONDITION
from tidings.rules.event import occurrence
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import Rule
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View


@dataclass(frozen=True, slots=True)
class RuleDependencies:
    """Protects what the rules of one database depend on."""

    registry: RuleRegistry
    relations: Relations

    def dependents(self, relation: str) -> list[Rule]:
        """The rules that depend on a relation."""
        if not self.registry.records:
            return []
        return [rule for rule in self.registry.rules() if relation.lower() in self._dependencies(rule)]

    def _dependencies(self, rule: Rule) -> set[str]:
        """The relations that a rule reads, changes or waits for, in lower case."""
        condition = rule.condition
        plans = [condition.plan, *(of.plan for of in condition.changes)]
        names = {name.lower() for plan in plans for name in self.relations.below(plan)}
        names |= {name.lower() for name in reads(condition.plan)}
        if rule.event is not None:
            names |= occurrence.tables(rule.event)
        if isinstance(rule.action, Modify):
            names.add(rule.action.change.table.lower())
        return names | self._read_by_action(rule)

    def _read_by_action(self, rule: Rule) -> set[str]:
        """The relations that the SQL of an action reads, directly or through views, in lower case."""
        match rule.action:
            case Modify(change=change):
                names = mentioned(trees(change))
            case Call(arguments=arguments):
                names = mentioned(arguments)
            case _:
                return set()
        names.discard(CONDITION)
        views = [view for name in names if isinstance(view := self.relations.find(name), View | StoredView)]
        return names | {name.lower() for view in views for name in self.relations.below(view.plan)}

    def require_free(self, relation: str, change: Literal["dropped", "renamed"], column: str | None = None) -> None:
        """Refuse to drop or rename a relation that rules depend on, or to rename a column of it."""
        rules = self.dependents(relation)
        if rules:
            listed = ", ".join(f"rule {name}" for name in sorted(rule.name for rule in rules))
            name = relation if column is None else f"{relation}.{column}"
            raise DependentObjects(None, "drop the rules first", name=name, change=change, dependents=listed)

    def check_definition(self, statement: sql.Statement) -> None:
        """Refuse a statement that takes away what rules depend on, or defines a view of a system table."""
        match statement:
            case sql.Drop():
                for name in statement.names:
                    relation = self.relations.find(name)
                    if isinstance(relation, Table) and relation.role != "table":
                        kind = "EVENT" if relation.role == "event" else "RULE"
                        raise UnsupportedStatement(None, f"use DROP {kind}", statement=f"DROP TABLE {relation.name}")
                    self.require_free(name, "dropped")
            case sql.RenameTable():
                self.require_free(statement.table, "renamed")
            case sql.RenameColumn():
                self.require_free(statement.table, "renamed", statement.old)
            case sql.CreateView():
                mention = first_mention(statement.query, statement.text, self.relations.system_tables)
                if mention is not None:
                    raise UnsupportedStatement(mention.place, "query it", statement=f"a view of {mention.written}")
            case _:
                pass
