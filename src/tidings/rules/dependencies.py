"""What rules depend on: relations that may not be dropped or renamed while a rule reads, changes or waits for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tidings.analysis.influents import reads
from tidings.define.column_use import columns_read
from tidings.define.tables import columns_to_drop
from tidings.errors import ColumnInUse, DependentObjects, UnsupportedStatement
from tidings.ir.relation import Relation
from tidings.lang.sql import statement as sql
from tidings.lang.sql.changes import ChangesOf
from tidings.lang.sql.mentions import first_mention, may_use_column, mentioned
from tidings.lang.sql.rules.condition import BoundCondition
from tidings.lang.sql.statements.action import Call, Modify
from tidings.lang.sql.statements.dml import trees
from tidings.lang.sql.statements.event import Event, TableEvent, walk
from tidings.rules.action.check import CONDITION
from tidings.rules.event import check as events
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
            names |= events.tables(rule.event)
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
                for name in self._dropped(statement.names):
                    relation = self.relations.find(name)
                    if isinstance(relation, Table) and relation.role != "table":
                        kind = "EVENT" if relation.role == "event" else "RULE"
                        raise UnsupportedStatement(None, f"use DROP {kind}", statement=f"DROP TABLE {relation.name}")
                    self.require_free(name, "dropped")
            case sql.RenameTable():
                self.require_free(statement.table, "renamed")
            case sql.RenameColumn():
                self.require_free(statement.table, "renamed", statement.old)
            case sql.DropColumns():
                self._check_dropped(statement)
            case sql.CreateView():
                mention = first_mention(statement.query, statement.text, self.relations.system_tables)
                if mention is not None:
                    raise UnsupportedStatement(mention.place, "query it", statement=f"a view of {mention.written}")
            case _:
                pass

    def _dropped(self, names: Iterable[str]) -> Iterator[str]:
        """What goes with some names: the fragments of a table that made them."""
        for name in names:
            scheme = self.relations.fragments(name)
            yield name
            yield from scheme.tables() if scheme is not None and scheme.owns_tables else ()

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
    condition = rule.condition
    if column in columns_read(condition.plan, table):
        return True
    if any(_reads_changes(condition.plan, changes_of, table, column) for changes_of in condition.changes):
        return True
    if _reads_event_rows(condition, table, column) or (rule.event and _waits_for(rule.event, table, column)):
        return True
    change = rule.action.change if isinstance(rule.action, Modify) else None
    return change is not None and may_use_column(change, table, column, {CONDITION})


def _reads_changes(plan: Relation, changes_of: ChangesOf, table: str, column: str) -> bool:
    """Whether a condition depends on a column of a table through ``CHANGES``."""
    if changes_of.name.lower() != table.lower():
        return column in columns_read(changes_of.plan, table)
    return bool({f"old_{column}", f"new_{column}"} & columns_read(plan, changes_of.relation))


def _reads_event_rows(condition: BoundCondition, table: str, column: str) -> bool:
    """Whether a condition reads a column of a table in the rows of an event."""
    return any(
        {column, f"old_{column}"} & columns_read(condition.plan, rows.relation)
        for rows in condition.event_rows
        if isinstance(rows.event, TableEvent) and rows.event.table.lower() == table.lower()
    )


def _waits_for(event: Event, table: str, column: str) -> bool:
    """Whether an event is the update of a column, or has that as a part."""
    updates = (part for part in walk(event) if isinstance(part, TableEvent) and part.table.lower() == table.lower())
    return any(column.lower() in map(str.lower, update.columns) for update in updates)
