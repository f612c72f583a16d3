"""Rules look on while tables are loaded, and fire for what is loaded.

A table that is given its first rows is judged as a whole: a rule fires for the rows that its condition has with them
and did not have without them.  The engine evaluates it twice; what was loaded is not read into memory, unless a
condition asks for ``CHANGES``.  A history is judged transaction by transaction, as after commits.

``RAISE`` refuses the load.  What else rules do is recorded with it.  An action that would have run in the transaction
runs right after the load, in one of its own: there was none that it could have been part of.

Rules whose instances have lives (``for``, ``keep_alive``) take first rows as having been there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlalchemy import Connection

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import as_changes, consolidated, larger_bag, rows_that_came
from tidings.ir.relation import Column, Scan
from tidings.lang.sql.statements.rule import Raise
from tidings.read import in_transaction
from tidings.rules.action.run import refusal
from tidings.rules.agenda import Fired
from tidings.rules.condition import committed
from tidings.rules.condition.evaluate import instances, told
from tidings.rules.condition.transaction_slice import TransactionSlice
from tidings.rules.coupling import Kept, firings, keep
from tidings.rules.detached import Detached
from tidings.rules.event.occurrence import Present, happened
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import Rule
from tidings.store.relation.table import Table
from tidings.store.rules import instances as stored_instances


@dataclass(slots=True)
class RuleLoadHook:
    """Looks on at one load."""

    registry: RuleRegistry
    _before: dict[int, pa.Table] = field(default_factory=dict)
    """The rows of conditions without what is loaded."""
    _kept: Kept = field(default_factory=Kept)
    _anew: list[int] = field(default_factory=list)
    """Rules that take stock again."""

    def _touched(self, tables: Sequence[Table]) -> list[Rule]:
        """The rules that may fire for what is loaded, in the order in which they are chosen."""
        names = {table.name for table in tables}
        found = [r for r in self.registry.touched(names) if r.is_active(self.registry.timeline.now()) and not r.asks]
        own = [r for r in found if r.options.initial or r.activations not in names]
        return sorted(own, key=lambda rule: rule.order)

    # first rows

    def before(self, target: Table) -> None:
        """Know what conditions are without the rows.

        Once they are there they always were, so what was committed before is judged first.
        """
        if any(rule.condition == "detached" for rule in self._touched([target])):
            Detached(self.registry).judge()
        for rule in self._touched([target]):
            if rule.changes_of is None and not rule.lives:
                self._before[rule.id] = self._rows(rule, target)

    def loaded(self, target: Table) -> None:
        """Judge rules by what conditions have become."""
        at, fired = self.registry.time(), list[Fired]()
        for rule in self._touched([target]) if target.base_size else ():
            if rule.lives:
                self._anew.append(rule.id)
            elif self._waited_for(rule, target, at):
                fired += self._fired(rule, self._instances(rule, target, at))
        self._keep(fired, at)

    def _waited_for(self, rule: Rule, target: Table, at: int) -> bool:
        """Whether the load is what a rule waits for."""
        if rule.event is None:
            return True
        row = pa.Table.from_pylist([dict.fromkeys(c.name for c in target.columns)], arrow_schema(target.columns))
        tx_slice = TransactionSlice((), 0, 1, at, {}, {target.name: as_changes(target.columns, row, [1], at + 1)})
        return happened(rule.event, Present(self.registry.scheduler.relations, tx_slice, (), at + 1, rule.created))

    def _rows(self, rule: Rule, target: Table) -> pa.Table:
        """The rows of a condition now; stored views that read the table are not what they will be."""
        nothing = {target.name: arrow_schema(target.columns, versioned=True).empty_table()}
        return in_transaction.answer(self.registry.scheduler, rule.plan, self.registry.time(), nothing)

    def _instances(self, rule: Rule, target: Table, at: int) -> pa.Table:
        if rule.changes_of is None:
            now, before = self._rows(rule, target), self._before[rule.id]
            own = tuple(Column(f.name, f.type) for f in rule.plan.fields)
            both = pa.concat_tables([now, before])
            weights = [1] * now.num_rows + [-1] * before.num_rows
            delta = consolidated(own, both, weights, at + 1)
            nervous = rule.options.nervous and rule.when == "begins"
            return larger_bag(rule.columns, told(rule, delta), rows_that_came(delta)) if nervous else told(rule, delta)
        scan = Scan(target.name, target.name, target.columns)
        rows = in_transaction.answer(self.registry.scheduler, scan, at)
        came, gone = (as_changes(target.columns, rows, [w] * rows.num_rows, t) for w, t in ((1, at + 1), (-1, 0)))
        tx_slice = TransactionSlice((), 0, 0, at, {target.name: gone}, {target.name: came})
        return instances(self.registry.scheduler, rule, tx_slice, committed.judging(self.registry.scheduler))

    # history

    def logged(self, tables: Sequence[Table], since: int, until: int) -> None:
        """Judge rules by each transaction of a history, and record what they do with it."""
        fired: list[tuple[int, Fired]] = []
        for rule in self._touched(tables):
            if rule.condition != "detached":
                for at, rows in committed.fired(self.registry.scheduler, rule, since, until):
                    fired += [(at, one) for one in self._fired(rule, rows) if rule.is_within(at)]
        for at, one in sorted(fired, key=lambda found: found[0]):
            self._keep([one], at)
        if fired:
            with self.registry.storage.together() as pending:
                pending.batch.extra_writes.append(self.record)

    # what they do

    def _fired(self, rule: Rule, rows: pa.Table) -> list[Fired]:
        if not rows.num_rows:
            return []
        if isinstance(rule.statement.action, Raise):
            raise refusal(rule.name, rule.statement.action, rows)
        return [Fired(rule, rows, ran=False)]

    def _keep(self, fired: list[Fired], at: int) -> None:
        heard = self.registry.heard(fired, at)
        self._kept.add(firings(self.registry.store, heard, at, 0, self.registry.timeline.clock.now()))

    def record(self, connection: Connection) -> None:
        """Record what rules do with what was loaded."""
        keep(connection, self._kept)
        if self._anew:
            stored_instances.unfollow(connection, self._anew, forget=False)

    def act(self) -> None:
        """Run the actions that would have run in the transaction."""
        if self._kept.firings:
            self.registry.sent()
        ids = {f.id for f in self._kept.firings if f.coupling in ("immediate", "deferred")}
        if ids:
            Detached(self.registry).run_these(ids)
