"""What rules depend on: relations that may not be dropped or renamed while a rule reads, changes or waits for them."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.analysis.influents import reads
from tidings.define.column_use import columns_read
from tidings.define.tables import columns_to_drop
from tidings.errors import ColumnInUse, DependentObjects, UnsupportedStatement
from tidings.ir.relation import Relation
from tidings.lang.sql import statement as sql
from tidings.lang.sql.mentions import first_mention, may_use_column
from tidings.lang.sql.rules.condition import ChangesOf
from tidings.lang.sql.statements.action import Modify
from tidings.lang.sql.statements.event import And, Event, Or, TableEvent, Then
from tidings.rules.action.check import CONDITION
from tidings.rules.event import occurrence
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
            names |= occurrence.tables(rule.event)
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
            case sql.DropColumns():
                self._check_dropped(statement)
            case sql.CreateView():
                mention = first_mention(statement.query, statement.text, self.relations.system_tables)
                if mention is not None:
                    raise UnsupportedStatement(mention.place, "query it", statement=f"a view of {mention.written}")
            case _:
                pass

    def _check_dropped(self, statement: sql.DropColumns) -> None:
        """Refuse to drop columns that rules use, and those of what only rules have."""
        table = self.relations.find(statement.table)
        if not isinstance(table, Table):
            return
        if table.role != "table":
            raise UnsupportedStatement(
                statement.place, statement=f"ALTER TABLE DROP COLUMN of the {table.role} {table.name}"
            )
        for column in columns_to_drop(table, statement):
            names = [rule.name for rule in self.registry.rules() if _uses(rule, table.name, column)]
            if names:
                listed = ", ".join(f"rule {name}" for name in sorted(names))
                raise ColumnInUse(statement.place, column=column, table=table.name, users=listed)


def _uses(rule: Rule, table: str, column: str) -> bool:
    """Whether a rule reads or changes a column of a table, or waits for its updates; not through views."""
    condition, changes_of = rule.condition, rule.condition.changes_of
    if column in columns_read(condition.plan, table):
        return True
    if changes_of is not None and _reads_changes(condition.plan, changes_of, table, column):
        return True
    if rule.event is not None and _waits_for(rule.event, table, column):
        return True
    change = rule.action.change if isinstance(rule.action, Modify) else None
    return change is not None and may_use_column(change, table, column, {CONDITION})


def _reads_changes(plan: Relation, changes_of: ChangesOf, table: str, column: str) -> bool:
    """Whether a condition depends on a column of a table through ``CHANGES``."""
    if changes_of.name.lower() != table.lower():
        return column in columns_read(changes_of.plan, table)
    return bool({f"old_{column}", f"new_{column}"} & columns_read(plan, changes_of.relation))


def _waits_for(event: Event, table: str, column: str) -> bool:
    """Whether an event is the update of a column, or has that as a part."""
    match event:
        case TableEvent():
            return event.table.lower() == table.lower() and column.lower() in map(str.lower, event.columns)
        case Or(parts=parts) | And(parts=parts) | Then(parts=parts):
            return any(_waits_for(part, table, column) for part in parts)
        case _:
            return False
