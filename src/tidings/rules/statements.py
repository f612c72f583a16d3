"""Runs statements about rules and events: CREATE, DROP, ENABLE, DISABLE, ACTIVATE, DEACTIVATE and SIGNAL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, assert_never

from tidings.constraints.evaluate import Evaluator
from tidings.errors import DuplicateRule, InvalidRule, UnknownGroup, UnknownRule
from tidings.ir.types import is_nested
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.rules.condition import activations_of
from tidings.lang.sql.statements.rule import (
    ActivateRule,
    CreateEvent,
    CreateRule,
    DropEvent,
    DropRule,
    RuleStatement,
    Signal,
    SwitchRule,
)
from tidings.rules.coupling import RuleHook
from tidings.rules.dependencies import RuleDependencies
from tidings.rules.fired import Fired
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import DETACHED, Rule
from tidings.rules.transactions import RuleTransactions
from tidings.store.alter import drop
from tidings.store.define import define
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.table import Table
from tidings.store.rules.rule_store import RuleRecord, create
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.write import statements as row_statements
from tidings.write.transaction import Transaction
from tidings.write.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RuleStatements:
    """Runs statements about the rules of one database."""

    transactions: RuleTransactions
    dependencies: RuleDependencies
    evaluator: Evaluator

    @property
    def _registry(self) -> RuleRegistry:
        return self.transactions.context.registry

    @property
    def _storage(self) -> Storage:
        return self.transactions.context.storage

    @property
    def _timeline(self) -> Timeline:
        return self.transactions.context.timeline

    def run(self, statement: RuleStatement) -> None:
        """Run a statement about rules or events."""
        match statement:
            case CreateRule():
                self._create(statement)
            case DropRule():
                self._drop(statement)
            case SwitchRule():
                self._switch(statement)
            case ActivateRule():
                self._activate(statement)
            case CreateEvent():
                if not (statement.if_absent and self._storage.relations.find(statement.name)):
                    self._define_table(Table(statement.name, statement.columns, role="event"))
            case DropEvent():
                self._drop_event(statement)
            case Signal():
                with self.transactions.begin() as workspace:
                    row_statements.signal(workspace, statement.insert)
            case _:
                assert_never(statement)

    # rules

    def _create(self, statement: CreateRule) -> None:
        registry = self._registry
        replaced = registry.find(statement.name)
        if replaced is not None and statement.if_absent:
            return
        if replaced is not None and not statement.replace:
            raise DuplicateRule(statement.place, name=statement.name)
        id = max((r.id for r in registry.records), default=0) + 1 if replaced is None else replaced.id
        record = self._new_record(id, statement)
        rule = registry.binder.bind(record, statement)
        began = self._beginning(rule)
        rule.record = record = replace(record, began=began, until=began)
        self.transactions.context.actions.check(rule, Workspace(self.transactions.write_parts))
        takes_present = statement.options.initial and not rule.condition.changes
        if takes_present and not statement.parameters and record.enabled and not rule.has_lifecycle:
            self._create_and_fire(record)
            self._prepare_activations(rule, replaced)
        else:
            self._prepare_activations(rule, replaced)
            registry.store.create(record)
            registry.put(record, None if statement.parameters else rule)  # its activations are known by now
        if replaced is not None:
            registry.compiled.forget()

    def _create_and_fire(self, record: RuleRecord) -> None:
        """Create a rule and let it fire for the rows that its condition has now: both, or neither."""

        def create_with_commit(time: int) -> None:
            with self._storage.together() as pending:
                pending.batch.extra_writes.append(lambda connection: create(connection, record))

        with (
            self._registry.proposing(record) as rule,
            self.transactions.begin(commit_hook=create_with_commit) as workspace,
        ):
            rows = workspace.answer(rule.instances, workspace.now())
            hook = workspace.hook
            assert isinstance(hook, RuleHook)
            if not rows.num_rows or rule.when != "begins":
                return
            if rule.action_coupling in DETACHED:
                hook.agenda.fired.append(Fired(rule, rows, ran=False))
            else:
                hook.agenda.run(rule, rows)

    def _drop(self, statement: DropRule) -> None:
        registry = self._registry
        if statement.if_exists and registry.find(statement.name) is None:
            return
        try:
            record = registry.record(statement.name)
        except UnknownRule as unknown:
            raise UnknownRule(statement.place, unknown.hint, name=statement.name) from None
        registry.store.drop(record.id)
        self.transactions.context.reload()
        registry.compiled.forget()
        self._drop_activations(record.name)

    def _new_record(self, id: int, statement: CreateRule) -> RuleRecord:
        timeline = self._timeline
        return RuleRecord(
            id=id,
            name=statement.name,
            text=statement.definition,
            enabled=statement.options.enabled,
            created=timeline.now(),
            began=timeline.time,
            until=timeline.time,
        )

    def _beginning(self, rule: Rule | None) -> int:
        """The instant from which on a rule reacts that is created or enabled now.

        To one that does not depend on time nothing has happened since the last commit.
        """
        timeline = self._timeline
        waits_for_time = rule is None or rule.depends_on_time
        return timeline.settle_until(timeline.now()) if waits_for_time else timeline.time

    def _switch(self, statement: SwitchRule) -> None:
        registry = self._registry
        if statement.group:
            group = statement.name.lower()
            ids = [rule.id for rule in registry.rules() if (rule.options.group or "").lower() == group]
            if not ids:
                raise UnknownGroup(statement.place, name=statement.name)
        else:
            ids = [registry.record(statement.name).id]
        self._set_enabled(ids, statement.on)

    def _set_enabled(self, ids: list[int], on: bool) -> None:
        bound = {rule.id: rule for rule in self._registry.rules()}
        for id in ids:
            self._registry.store.switch(id, on=on, at=self._beginning(bound.get(id)))
        self.transactions.context.reload()

    # activations

    def _prepare_activations(self, rule: Rule, replaced: RuleRecord | None) -> None:
        """Define the table of a rule's activations, unless the rule that is replaced has the same parameters."""
        name, parameters = activations_of(rule.name), rule.statement.parameters
        table = self._storage.relations.find(name)
        if isinstance(table, Table) and replaced is not None and table.columns == parameters:
            return
        self._drop_activations(rule.name)
        if parameters:
            exact = [c.name for c in parameters if c.type not in ("float", "double") and not is_nested(c.type)]
            key = tuple(exact) if len(exact) == len(parameters) else ()
            constraints = Constraints(key=key, required=key)
            self._define_table(Table(name, parameters, constraints=constraints, role="activations"))

    def _drop_activations(self, rule: str) -> None:
        """Drop the table of a rule's activations, if it has one."""
        table = self._storage.relations.find(activations_of(rule))
        if isinstance(table, Table) and table.role == "activations":
            self._drop_table(table)

    def _activate(self, statement: ActivateRule) -> None:
        record = self._registry.record(statement.name)
        table = self._storage.relations.find(activations_of(record.name))
        if not isinstance(table, Table):
            if statement.values:
                raise InvalidRule(statement.place, name=record.name, reason="it has no parameters")
            self._set_enabled([record.id], statement.on)
            return
        if len(statement.values) != len(table.columns):
            reason = f"{len(statement.values)} values for {len(table.columns)} parameters"
            raise InvalidRule(statement.place, name=record.name, reason=reason)
        now = self._timeline.now()
        row: dict[str, Any] = {
            c.name: self.evaluator.constant(at_instant(value, now), c.type, statement.text)
            for c, value in zip(table.columns, statement.values, strict=True)
        }
        with self.transactions.begin() as workspace:
            is_active = _has_row(workspace, table, row)
            if statement.on and not is_active:
                Transaction(workspace).insert(table.name, [row])
            elif not statement.on and is_active:
                Transaction(workspace).delete(table.name, [row])

    # events

    def _drop_event(self, statement: DropEvent) -> None:
        if statement.if_exists and self._storage.relations.find(statement.name) is None:
            return
        event = self._storage.relations.event(statement.name, statement.place)
        self.dependencies.require_free(event.name, "dropped")
        self._storage.relations.droppable(event.name, "TABLE")
        self._drop_table(event)

    # tables of events and activations

    def _define_table(self, table: Table) -> None:
        define(self._storage, table)
        self._registry.compiled.forget()

    def _drop_table(self, table: Table) -> None:
        with self._timeline.redefining([table.name]):
            drop(self._storage, [table])
        self._registry.compiled.forget()


def _has_row(workspace: Workspace, table: Table, row: dict[str, Any]) -> bool:
    """Whether a table has a row; by key one row is looked up, else all are read."""
    if not table.constraints.key:
        return row in Transaction(workspace).query(table.name).rows()
    value = tuple(row[k] for k in table.constraints.key)
    return bool(workspace.parts.enforcer.finder.by_key(table, [value]).get(value))
