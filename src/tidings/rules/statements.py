"""Statements about rules and events: they are made, replaced, switched, activated and dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from tidings.errors import DuplicateRule, InvalidRule, UnknownEvent, UnknownRule
from tidings.ir.types import is_nested as nested
from tidings.lang.sql import statement
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.statements.rule import CreateRule, RuleStatement
from tidings.rules.agenda import Fired
from tidings.rules.condition.evaluate import activations_of
from tidings.rules.coupling import RuleHook
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import Rule
from tidings.store.alter import drop
from tidings.store.define import define
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.table import Table
from tidings.store.rules.rule_store import RuleRecord
from tidings.write import statements
from tidings.write.transaction import Transaction
from tidings.write.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RuleStatements:
    """Runs statements about the rules of one database."""

    registry: RuleRegistry

    def run(self, read: RuleStatement) -> None:
        """Do what a statement about rules or events says."""
        match read:
            case statement.CreateRule():
                self._create(read)
            case statement.DropRule():
                if not (read.if_exists and all(k.name.lower() != read.name.lower() for k in self.registry.kept)):
                    self._drop(read)
            case statement.SwitchRule():
                self._switch(read)
            case statement.ActivateRule():
                self._activate(read)
            case statement.CreateEvent():
                if not (read.if_absent and self.registry.storage.relations.find(read.name)):
                    define(self.registry.storage, Table(read.name, read.columns, role="event"))
                    self.registry.forget()
            case statement.DropEvent():
                self._drop_event(read)
            case statement.Signal():
                with self.registry.transaction() as workspace:
                    statements.signal(workspace, read.insert)
            case _:
                assert_never(read)

    def _create(self, read: CreateRule) -> None:
        before = next((k for k in self.registry.kept if k.name.lower() == read.name.lower()), None)
        if before is not None and read.if_absent:
            return
        if before is not None and not read.replace:
            raise DuplicateRule(read.place, name=read.name)
        id = max((k.id for k in self.registry.kept), default=0) + 1 if before is None else before.id
        now = self.registry.timeline.time
        kept = RuleRecord(id, read.name, read.definition, read.options.enabled, now, now)
        rule = self.registry.bind(kept, read)
        self._prepare_activations(rule, before)
        self.registry.store.create(kept)
        self.registry.reload()
        if before is not None:
            self.registry.forget()
        takes = read.options.initial and rule.changes_of is None
        if takes and not read.parameters and kept.enabled and not rule.lives:
            self._take_what_holds(self.registry.ready(self.registry.named(read.name)))

    def _prepare_activations(self, rule: Rule, before: RuleRecord | None) -> None:
        """Make the table of parameters, unless the rule that is replaced has the same."""
        relations, name = self.registry.storage.relations, activations_of(rule.name)
        known = relations.find(name)
        if isinstance(known, Table) and before is not None and known.columns == rule.statement.parameters:
            return
        if isinstance(known, Table) and known.role == "activations":
            self._drop_table(known)
        if rule.statement.parameters:
            exact = [
                c.name for c in rule.statement.parameters if c.type not in ("float", "double") and not nested(c.type)
            ]
            key = tuple(exact) if len(exact) == len(rule.statement.parameters) else ()
            demands = Constraints(key=key, required=key)
            define(
                self.registry.storage, Table(name, rule.statement.parameters, constraints=demands, role="activations")
            )
            self.registry.forget()

    def _take_what_holds(self, rule: Rule) -> None:
        """Let a rule fire for what holds when it is made."""
        with self.registry.transaction() as workspace:
            rows = workspace.answer(rule.plan, workspace.now())
            watching = workspace.hook
            assert isinstance(watching, RuleHook)
            if not rows.num_rows or rule.when != "begins":
                return
            if rule.action in ("immediate", "deferred"):
                watching.agenda.run(rule, rows)
            else:
                watching.agenda.fired.append(Fired(rule, rows, ran=False))

    def _drop(self, read: statement.DropRule) -> None:
        try:
            kept = self.registry.named(read.name)
        except UnknownRule as unknown:
            raise UnknownRule(read.place, unknown.hint, name=read.name) from None
        self.registry.store.drop(kept.id)
        self.registry.reload()
        self.registry.forget()
        table = self.registry.storage.relations.find(activations_of(kept.name))
        if isinstance(table, Table) and table.role == "activations":
            self._drop_table(table)

    def _drop_table(self, table: Table) -> None:
        with self.registry.timeline.redefining([table.name]):
            drop(self.registry.storage, [table])
        self.registry.forget()

    def _drop_event(self, read: statement.DropEvent) -> None:
        found = self.registry.storage.relations.find(read.name)
        if found is None and read.if_exists:
            return
        if not isinstance(found, Table) or found.role != "event":
            raise UnknownEvent(read.place, name=read.name)
        self.registry.require_free(found.name)
        self.registry.storage.relations.droppable(found.name, "TABLE")
        self._drop_table(found)

    def _switch(self, read: statement.SwitchRule) -> None:
        if read.group:
            grouped = [r.id for r in self.registry.rules() if (r.options.group or "").lower() == read.name.lower()]
            if not grouped:
                raise UnknownRule(read.place, name=f"in the group {read.name}")
        else:
            grouped = [self.registry.named(read.name).id]
        self.registry.store.switch(grouped, on=read.on, until=self.registry.timeline.time)
        self.registry.reload()

    def _activate(self, read: statement.ActivateRule) -> None:
        kept = self.registry.named(read.name)
        table = self.registry.storage.relations.find(activations_of(kept.name))
        if not isinstance(table, Table):
            if read.values:
                raise InvalidRule(read.place, name=kept.name, reason="it has no parameters")
            self.registry.store.switch([kept.id], on=read.on, until=self.registry.timeline.time)
            self.registry.reload()
            return
        if len(read.values) != len(table.columns):
            reason = f"{len(read.values)} values for {len(table.columns)} parameters"
            raise InvalidRule(read.place, name=kept.name, reason=reason)
        now = self.registry.timeline.now()
        row: dict[str, Any] = {
            c.name: self.registry.evaluator.constant(at_instant(value, now), c.type, read.text)
            for c, value in zip(table.columns, read.values, strict=True)
        }
        with self.registry.transaction() as workspace:
            there = self._is_active(table, row, workspace)
            if read.on and not there:
                Transaction(workspace).insert(table.name, [row])
            elif not read.on and there:
                Transaction(workspace).delete(table.name, [row])

    def _is_active(self, table: Table, row: dict[str, Any], workspace: Workspace) -> bool:
        """Whether there is such an activation; by key one row is looked up, else all are."""
        if not table.constraints.key:
            return row in Transaction(workspace).query(table.name).rows()
        value = tuple(row[k] for k in table.constraints.key)
        return bool(workspace.parts.enforcer.finder.by_key(table, [value]).get(value))
