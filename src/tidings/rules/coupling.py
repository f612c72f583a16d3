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
recorded even if the transaction is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import pyarrow as pa
from sqlalchemy import Connection

from tidings.lang.sql.statements.rule import Send
from tidings.rules.action import message_groups
from tidings.rules.action.run import payload
from tidings.rules.agenda import Agenda, Fired
from tidings.rules.rule import Rule
from tidings.store.rules import message_groups as gathering
from tidings.store.rules import outbox
from tidings.store.rules.message_groups import Gathered
from tidings.store.rules.outbox import Message
from tidings.store.rules.rule_store import Firing, RuleStore, State, record
from tidings.write.hooks import CommitHook


class Rules(Protocol):
    """Who knows the rules."""

    def touched(self, tables: set[str]) -> list[Rule]:
        """The rules that read or hear of some tables."""

    def heard(self, fired: list[Fired], at: int) -> list[Fired]:
        """What fired at an instant, the silenced part of it apart."""

    def failing(self) -> set[int]:
        """The rules that something is wrong with."""

    def recovered(self, rule: Rule) -> None:
        """Nothing is wrong with a rule any more."""


@dataclass(slots=True)
class RuleHook:
    """The rules look on while a transaction is open."""

    agenda: Agenda
    registry: Rules
    store: RuleStore
    time: Callable[[], int]
    """The time of the last commit."""
    clock: Callable[[], int]
    """The present; commit times may be ahead of it."""
    sent: Callable[[], None]
    """Is told when there may be something to deliver."""
    depth: int = 0
    """How many firings led to this transaction."""
    then: CommitHook | None = None
    """What else is to be recorded with the commit."""
    _floor: int = 0
    _touched: set[str] = field(default_factory=set)
    _looked: int = 0
    _queued: dict[int, list[pa.Table]] = field(default_factory=dict)
    _sound: list[Rule] = field(default_factory=list)
    """Rules that something was wrong with, and nothing is in this transaction."""

    def _of(self, condition: str, *actions: str) -> list[Rule]:
        """The rules of some couplings that may be triggered by what has been done so far."""
        found = self._may_fire()
        if not found:
            return []
        now = self.agenda.workspace.now()
        return [r for r in found if r.condition == condition and r.action in actions and r.is_active(now)]

    def _may_fire(self) -> list[Rule]:
        """The rules that read or hear of what has been touched so far, but for those that are judged after commits."""
        done = self.agenda.workspace.done
        self._touched |= {table.name for table, _, _ in done[self._looked :]}
        self._looked = len(done)
        return [r for r in self.registry.touched(self._touched) if r.condition != "detached"]

    # while it is open

    def after_statement(self) -> None:
        """Judge the rules that are judged at once."""
        self.agenda.ends.append(len(self.agenda.workspace.done))
        self._immediately(self._floor)

    def _immediately(self, start: int) -> None:
        """Judge immediate rules over what was done since a place, and what their actions do."""
        self.agenda.settle(lambda: self._of("immediate", "immediate"), start, lambda _: None)
        for rule in sorted(self._of("immediate", "deferred", *DETACHED), key=lambda rule: rule.order):
            rows = self.agenda.triggered(rule, start)
            if rows is None:
                continue
            if rule.action == "deferred":
                self._queued.setdefault(rule.id, []).append(rows)
            else:
                self.agenda.fired.append(Fired(rule, rows, ran=False))
        self._floor = len(self.agenda.workspace.done)

    # at its end

    def before_commit(self) -> CommitHook | None:
        """The check phase; what is to be recorded with the commit."""
        agenda = self.agenda
        if self._may_fire():
            agenda.workspace.check_present()
            agenda.settle(self._deferred, 0, self._immediately, self._queued)
        for rule in sorted(self._of("deferred", *DETACHED), key=lambda rule: rule.order):
            rows = agenda.triggered(rule, 0)
            if rows is not None:
                agenda.fired.append(Fired(rule, rows, ran=False))
        touched = self._may_fire()
        failing = self.registry.failing() if touched else set()
        self._sound = [r for r in touched if r.id in failing]
        if not agenda.fired and self.then is None and not self._sound:
            return None
        return self._record

    def _deferred(self) -> list[Rule]:
        return self._of("deferred", "deferred") + self._of("immediate", "deferred")

    def _record(self, time: int) -> None:
        fired = self.registry.heard(self.agenda.fired, time)
        with self.store.storage.together() as pending:
            pending.batch.extra_writes.append(lambda connection: keep(connection, self._kept(fired, time)))
            pending.after.append(self.sent)
            pending.after += [partial(self.registry.recovered, rule) for rule in self._sound]
        if self.then is not None:
            self.then(time)

    def _kept(self, fired: list[Fired], time: int) -> Kept:
        return firings(self.store, fired, time, self.depth, self.clock())

    def rolled_back(self) -> None:
        """Record what is done even so."""
        independent = [f for f in self.agenda.fired if f.rule.action == "detached independent"]
        if independent:
            heard = self.registry.heard(independent, self.agenda.workspace.now())
            found = firings(self.store, heard, self.time(), self.depth, self.clock())
            with self.store.storage.rule_tables.writing() as connection:
                keep(connection, found)


DETACHED = ("detached", "detached independent")
"""The couplings of actions that run after the commit."""


@dataclass(slots=True)
class Kept:
    """What is recorded of rules that fired."""

    firings: list[Firing] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    gathered: list[tuple[Rule, list[Gathered]]] = field(default_factory=list)

    def add(self, other: Kept) -> None:
        self.firings += other.firings
        self.messages += other.messages
        self.gathered += other.gathered


def firings(store: RuleStore, fired: Sequence[Fired], time: int, depth: int, now: int) -> Kept:
    """What is recorded of rules that fired, and what they have to send, from now on."""
    kept = Kept()
    for one in fired:
        rule, action, id, state = one.rule, one.rule.statement.action, store.next_id(), _state(one)
        if state == "gathered":
            kept.gathered.append((rule, message_groups.parted(rule, id, time, one.gone, one.rows)))
        elif state == "sent":
            assert isinstance(action, Send)
            text = payload(rule, id, time, one.rows, one.gone)
            kept.messages.append(Message(rule.name, id, action.channel, action.target, text, now))
        finished = None if state in ("waiting", "gathered") else time
        kept.firings.append(Firing(id, rule.name, time, rule.action, state, one.rows, depth, finished=finished))
    return kept


def _state(fired: Fired) -> State:
    """How a firing stands when it is recorded."""
    if fired.silenced:
        return "silenced"
    if isinstance(fired.rule.statement.action, Send):
        return "gathered" if message_groups.gathers(fired.rule) else "sent"
    return "done" if fired.ran else "waiting"


def keep(connection: Connection, found: Kept) -> None:
    """Record firings and what they send, in somebody's transaction."""
    record(connection, found.firings)
    outbox.add(connection, found.messages)
    for rule, rows in found.gathered:
        gathering.gather(connection, rows, message_groups.pace(rule), message_groups.composed(rule))
