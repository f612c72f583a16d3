"""Coupling: when the condition of a rule is judged, and when its action runs.

==========  ============================================  ===========================================================
coupling    a condition is judged                         an action runs
==========  ============================================  ===========================================================
immediate   after each statement, over what that did      at once
deferred    before the commit, over the whole transaction  in the check phase before the commit
detached    after the commit, by ``advance()``            after the commit, in a transaction of its own
==========  ============================================  ===========================================================

An immediate action whose condition is detached runs at once too, in a transaction of its own.

What is detached is recorded with the commit, so it is there exactly if the commit is.  ``detached independent`` is
recorded even if the transaction is rolled back, or its commit fails, whatever refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from tidings.lang.sql.statements.rule_options import Coupling
from tidings.rules.agenda import Agenda
from tidings.rules.context import RuleContext
from tidings.rules.fired import Fired
from tidings.rules.recording import FiringBatch
from tidings.rules.rule import DETACHED, Rule
from tidings.write.hooks import CommitHook


@dataclass(slots=True)
class RuleHook:
    """Lets rules watch one transaction, and act in it."""

    agenda: Agenda
    depth: int
    """How many firings led to this transaction."""
    commit_hook: CommitHook | None
    """Records more with the commit."""
    _floor: int = field(init=False, default=0)
    """Immediate rules have been judged up to this place in the transaction."""
    _touched: set[str] = field(init=False, default_factory=set)
    _seen: int = field(init=False, default=0)
    """The tables of what was done up to this place are in ``_touched``."""
    _queued: dict[int, list[pa.Table]] = field(init=False, default_factory=dict)
    """Instances of immediate conditions whose actions are deferred, by rule."""
    _recovered: list[Rule] = field(init=False, default_factory=list)
    """Rules that had an error and were judged without one in this transaction."""
    _is_recorded: bool = field(init=False, default=False)
    """Whether what fired has been recorded with the commit."""

    @property
    def _context(self) -> RuleContext:
        return self.agenda.context

    def _coupled(self, condition: Coupling, *actions: Coupling) -> list[Rule]:
        """The rules of some couplings that may be triggered by what has been done so far."""
        rules = self._may_fire()
        if not rules:
            return []
        now = self.agenda.workspace.now()
        return [
            rule
            for rule in rules
            if rule.condition_coupling == condition and rule.action_coupling in actions and rule.is_active(now)
        ]

    def _may_fire(self) -> list[Rule]:
        """The rules that depend on or wait for what has been touched so far; not those judged after commits."""
        done = self.agenda.workspace.done
        self._touched |= {table.name for table, _, _ in done[self._seen :]}
        self._seen = len(done)
        return [r for r in self._context.registry.touching(self._touched) if r.condition_coupling != "detached"]

    # while the transaction is open

    def after_statement(self) -> None:
        """Judge immediate conditions over what the statement did."""
        self.agenda.statement_ends.append(len(self.agenda.workspace.done))
        self._judge_immediate(self._floor)

    def read_by_statements(self) -> set[str]:
        """What the conditions read that are judged after every statement."""
        relations, actions = self.agenda.context.scheduler.relations, ("immediate", "deferred", *DETACHED)
        names = set[str]().union(*(relations.below(rule.instances) for rule in self._coupled("immediate", *actions)))
        return {name for name in names if relations.find(name) is not None}

    def _judge_immediate(self, start: int) -> None:
        """Judge immediate conditions over what was done since a place, and over what their actions do."""
        self.agenda.settle(lambda: self._coupled("immediate", "immediate"), start, lambda _: None)
        for rule in sorted(self._coupled("immediate", "deferred", *DETACHED), key=lambda rule: rule.order):
            rows = self.agenda.triggered(rule, start)
            if rows is None:
                continue
            if rule.action_coupling == "deferred":
                self._queued.setdefault(rule.id, []).append(rows)
            else:
                self.agenda.fired.append(Fired(rule, rows, ran=False))
        self._floor = len(self.agenda.workspace.done)

    # at its end

    def before_commit(self) -> CommitHook | None:
        """Run the check phase; what has to be recorded with the commit."""
        agenda = self.agenda
        if self._may_fire():
            agenda.workspace.check_present()
            agenda.settle(self._with_deferred_actions, 0, self._judge_immediate, self._queued)
        for rule in sorted(self._coupled("deferred", *DETACHED), key=lambda rule: rule.order):
            rows = agenda.triggered(rule, 0)
            if rows is not None:
                agenda.fired.append(Fired(rule, rows, ran=False))
        judged = self._may_fire()
        failing = self._context.registry.failing() if judged else set()
        self._recovered = [r for r in judged if r.id in failing]
        if not agenda.fired and self.commit_hook is None and not self._recovered:
            return None
        return self._record

    def _with_deferred_actions(self) -> list[Rule]:
        return self._coupled("deferred", "deferred") + self._coupled("immediate", "deferred")

    def _record(self, time: int) -> None:
        """Record what fired with the commit."""
        context = self._context
        fired = context.silences.split(self.agenda.fired, time)
        with context.storage.together() as pending:
            pending.batch.extra_writes.append(lambda connection: self._batch(fired, time).write(connection))
            pending.after += [self._note_recorded, context.wake_deliveries]
            pending.after += [partial(context.registry.set_error, rule.id, None) for rule in self._recovered]
        if self.commit_hook is not None:
            self.commit_hook(time)

    def _note_recorded(self) -> None:
        self._is_recorded = True

    def _batch(self, fired: list[Fired], time: int) -> FiringBatch:
        batch = FiringBatch(self._context.store)
        batch.add(fired, time, self.depth, self._context.timeline.clock.now())
        return batch

    def rolled_back(self) -> None:
        """Record what is independent of the commit, unless it was recorded with one.

        A rule that would have been created with the commit is not there, so nothing of it is.
        """
        context = self._context
        fired = [f for f in self.agenda.fired if not context.registry.is_proposed(f.rule)]
        independent = [f for f in fired if f.rule.action_coupling == "detached independent"]
        if independent and not self._is_recorded:
            fired = context.silences.split(independent, self.agenda.workspace.now())
            batch = self._batch(fired, context.timeline.time)
            with context.storage.rule_tables.writing() as connection:
                batch.write(connection)
            context.wake_deliveries()
            context.wake_runner()
