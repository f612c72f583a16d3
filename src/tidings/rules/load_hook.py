"""Lets rules watch loads, and fire for what is loaded.

A table that gets its first rows is judged as a whole: a rule fires for the rows that its condition has with them and
did not have without them.  The engine evaluates it twice; what was loaded is not read into memory, unless a condition
reads ``CHANGES``.  A history is judged transaction by transaction, as after commits.

``RAISE`` refuses the load.  Everything else that rules do is recorded with it.  An action that would have run in the
transaction runs right after the load, in one of its own: there was none that it could have been part of.

Rules whose instances have a lifecycle (``for``, ``keep_alive``) take first rows as having been there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlalchemy import Connection

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import as_changes, consolidated, no_changes, rows_that_came
from tidings.ir.relation import Relation, Scan
from tidings.lang.sql.statements.action import Raise
from tidings.read import in_transaction
from tidings.rules.action.run import refusal
from tidings.rules.condition import committed
from tidings.rules.condition.evaluate import either, firing_rows, instances
from tidings.rules.condition.holding import holding
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.context import RuleContext
from tidings.rules.detached.advance import DetachedRules
from tidings.rules.event.happening import Happening
from tidings.rules.event.occurrence import Present
from tidings.rules.failure import naming
from tidings.rules.fired import Fired
from tidings.rules.recording import FiringBatch
from tidings.rules.rule import Rule
from tidings.store.relation.table import Table
from tidings.store.rules import instances as stored_instances


@dataclass(slots=True)
class RuleLoadHook:
    """Lets rules watch one load."""

    context: RuleContext
    detached: DetachedRules
    _batch: FiringBatch = field(init=False)
    _rows_before: dict[int, pa.Table] = field(init=False, default_factory=dict)
    """The rows of conditions without what is loaded, by rule."""
    _to_restart: list[int] = field(init=False, default_factory=list)
    """Rules that will look at all their instances when they are judged next."""

    def __post_init__(self) -> None:
        self._batch = FiringBatch(self.context.store)

    def _rules(self, tables: Sequence[Table]) -> list[Rule]:
        """The rules that may fire for what is loaded, in the order in which they are chosen."""
        names, now = {table.name for table in tables}, self.context.timeline.now()
        rules = [
            rule
            for rule in self.context.registry.touching(names)
            if rule.is_active(now) and (rule.options.initial or rule.condition.activations not in names)
        ]
        return sorted(rules, key=lambda rule: rule.order)

    # first rows

    def before(self, target: Table) -> None:
        """Remember the rows of conditions before a table gets its first rows.

        Once these are there they always were, so what was committed before is judged first.
        """
        if any(rule.condition_coupling == "detached" for rule in self._rules([target])):
            self.detached.conditions.judge()
        for rule in self._rules([target]):
            if not rule.condition.changes and not rule.has_lifecycle and not rule.evaluates_on_event:
                self._rows_before[rule.id] = self._condition_rows(rule, target)

    def loaded(self, target: Table) -> None:
        """Judge rules when a table has its first rows; a rule may refuse them."""
        at, fired = self.context.timeline.time, list[Fired]()
        for rule in self._rules([target]) if target.base_size else ():
            if rule.has_lifecycle:
                self._to_restart.append(rule.id)
            else:
                fired += self._fired(rule, self._instances(rule, target, at))
        self._add(fired, at)

    def _condition_rows(self, rule: Rule, target: Table) -> pa.Table:
        """The rows of a condition now; stored views that read the table are evaluated, not read.

        One that is judged after commits is taken as of the instant it has been judged until: later ones are to come.
        """
        unchanged = {target.name: no_changes(target.columns)}
        scheduler, is_detached = self.context.scheduler, rule.condition_coupling == "detached"
        at = rule.cursor if is_detached else self.context.timeline.time
        with naming(rule.name):
            return in_transaction.answer(scheduler, rule.instances, at, unchanged)

    def _instances(self, rule: Rule, target: Table, at: int) -> pa.Table:
        """The rows that a rule fires for."""
        reads_rows = bool(rule.condition.changes or rule.condition.event_rows)
        tx_slice = self._as_slice(target, at, whole=reads_rows)
        scheduler, happenings = self.context.scheduler, list[Happening]()
        if rule.event is not None:
            happenings = self.context.detection.now(rule, Present(scheduler, tx_slice, (), at + 1))
            if not happenings:
                return arrow_schema(rule.columns).empty_table()
        if rule.evaluates_on_event:
            return self._holding(rule, target, tx_slice, happenings)
        if rule.condition.changes:
            with naming(rule.name):
                return instances(scheduler, rule, tx_slice, committed.condition_delta(scheduler))
        rows, rows_before = self._condition_rows(rule, target), self._rows_before[rule.id]
        weights = [1] * rows.num_rows + [-1] * rows_before.num_rows
        delta = consolidated(rule.condition.columns, pa.concat_tables([rows, rows_before]), weights, at + 1)
        strict = firing_rows(rule, delta)
        return either(rule, strict, rows_that_came(delta)) if rule.is_nervous else strict

    def _as_slice(self, target: Table, at: int, *, whole: bool) -> TransactionSlice:
        """A load as a slice of a transaction; if it is not taken as a whole, one row stands for all."""
        if not whole:
            row = pa.Table.from_pylist([dict.fromkeys(c.name for c in target.columns)], arrow_schema(target.columns))
            return TransactionSlice.of_entries(
                at, {}, {target.name: as_changes(target.columns, row, [1], at + 1)}, end=1
            )
        rows = in_transaction.answer(self.context.scheduler, Scan(target.name, target.name, target.columns), at)
        inserted = as_changes(target.columns, rows, [1] * rows.num_rows, at + 1)
        absent = as_changes(target.columns, rows, [-1] * rows.num_rows, 0)
        return TransactionSlice.of_entries(at, {target.name: absent}, {target.name: inserted}, end=1)

    def _holding(self, rule: Rule, target: Table, tx_slice: TransactionSlice, happenings: list[Happening]) -> pa.Table:
        """What holds with what was loaded; stored views that read the table are evaluated, not read."""
        unchanged = {target.name: no_changes(target.columns)}

        def answer(plan: Relation, entries: NetEntries) -> pa.Table:
            return in_transaction.answer(self.context.scheduler, plan, tx_slice.at, unchanged, entries)

        with naming(rule.name):
            return holding(self.context.scheduler, rule, tx_slice, happenings, answer, is_open=True)

    # history

    def logged(self, tables: Sequence[Table], since: int, until: int) -> None:
        """Judge rules by each transaction of a history, and record what they do with it."""
        fired: list[tuple[int, Fired]] = []
        for rule in self._rules(tables):
            if rule.condition_coupling != "detached":
                with naming(rule.name):
                    happenings = None if rule.event is None else self.context.detection.loaded(rule, since, until)
                    found = committed.firing_rows_by_instant(self.context.scheduler, rule, since, until, happenings)
                    by_instant = list(found)
                for at, rows in by_instant:
                    fired += [(at, each) for each in self._fired(rule, rows) if rule.is_effective(at)]
        for at, each in sorted(fired, key=lambda pair: pair[0]):
            self._add([each], at)
        if fired:
            with self.context.storage.together() as pending:
                pending.batch.extra_writes.append(self.record)

    # what rules do

    def _fired(self, rule: Rule, rows: pa.Table) -> list[Fired]:
        if not rows.num_rows:
            return []
        if isinstance(rule.action, Raise):
            raise refusal(rule.name, rule.action, rows)
        return [Fired(rule, rows, ran=False)]

    def _add(self, fired: list[Fired], at: int) -> None:
        self._batch.add(self.context.silences.split(fired, at), at, 0, self.context.timeline.clock.now())

    def record(self, connection: Connection) -> None:
        """Record what rules do with what was loaded."""
        self._batch.write(connection)
        if self._to_restart:
            stored_instances.untrack(connection, self._to_restart, forget=False)

    def act(self) -> None:
        """Run the actions that would have run in the transaction."""
        if self._batch.firings:
            self.context.wake_deliveries()
        ids = {f.id for f in self._batch.firings if f.coupling in ("immediate", "deferred")}
        if ids:
            self.detached.actions.run_firings(ids)
