"""What is done after commits: detached conditions are judged, and detached actions run.

A detached condition is judged as a stored view is brought up to date: one wave tells the changes of every instant since
the rule was last judged, and each transaction is judged alone, however many there are.  What the rule fires for, and
how far it has come, is recorded together.

A detached action runs in a transaction of its own.  That it ran is recorded with that transaction: SQL is done exactly
once.  An immediate action runs in the transaction that records that the rule fired, and how far it has come.  Each
transaction knows how many firings led to it, so rules that trigger each other in this way come to an end, too.

A procedure that acts outside of the database is called again if the process dies before the end.  What fails is tried
again, see :mod:`tidings.rules.action.retry`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from tidings.errors import CascadeTooLong, InvalidRule, StaleWriter, TidingsError
from tidings.rules.action import message_groups
from tidings.rules.action.retry import Retries, succeeded
from tidings.rules.action.run import what_is_wrong
from tidings.rules.agenda import Fired
from tidings.rules.condition import committed
from tidings.rules.coupling import Kept, firings, keep
from tidings.rules.instance.tracking import InstanceTracker
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import Rule, needs_order
from tidings.store.rules import instances
from tidings.store.rules import message_groups as gathering
from tidings.store.rules.outbox import GivenUp, OutboxEntry
from tidings.store.rules.rule_store import Firing, move, record


@dataclass(frozen=True, slots=True)
class Backtested:
    """For what a rule would have fired at an instant."""

    time: int
    rows: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Detached:
    """Judges and runs what is detached."""

    registry: RuleRegistry

    def advance(self) -> None:
        """Judge and run until nothing is left to do."""
        while self.judge() | self.run():
            pass
        self.tell()

    # conditions

    def judge(self) -> bool:
        """Judge detached conditions up to the present; whether one fired.

        Those with nothing to tell are moved on together, in one transaction of the catalog.
        """
        fired, quiet = False, list[tuple[Rule, int]]()
        for rule in sorted(self.registry.rules(), key=lambda rule: rule.order):
            if rule.condition != "detached" or not rule.enabled:
                continue
            waits = rule.timed or rule.lives or rule.asks
            timeline = self.registry.timeline
            until = timeline.tell(timeline.now()) if waits else timeline.time
            if rule.until < until:
                try:
                    fired |= self._judged(rule, until, quiet)
                except StaleWriter:
                    raise
                except TidingsError as error:
                    self.registry.fail(rule.id, error)
        if quiet:
            with self.registry.storage.rule_tables.writing() as connection:
                for rule, until in quiet:
                    move(connection, rule.id, until)
            for rule, until in quiet:
                self._came(rule, until)
        return fired

    def _judged(self, rule: Rule, until: int, quiet: list[tuple[Rule, int]]) -> bool:
        registry, kept, now = self.registry, Kept(), self.registry.timeline.clock.now()
        followed = self._following.judged(rule, until, registry.silences) if rule.lives else None
        found = self._fired(rule, until) if followed is None else followed.fired
        if followed is None and not found:
            quiet.append((rule, until))
            return False
        if rule.action == "immediate":
            return self._at_once(rule, until, found)
        depths = registry.store.depths(rule.until, until) if found else {}
        for at, one in found:
            kept.add(firings(registry.store, [one], at, depths.get(at, 0), now))
        with registry.storage.rule_tables.writing() as connection:
            keep(connection, kept)
            move(connection, rule.id, until)
            if followed is not None:
                instances.keep(connection, rule.id, followed.became)
                instances.follow(connection, rule.id)
        if kept.firings:
            registry.sent()
        self._came(rule, until)
        return bool(found)

    def _at_once(self, rule: Rule, until: int, found: list[tuple[int, Fired]]) -> bool:
        """Let a rule act in the very transaction that records that it fired; it has come that far, or not."""
        registry, since = self.registry, rule.until
        try:
            self._act(rule, found)
        except StaleWriter:
            raise
        except Exception as error:  # of a procedure, or of whatever the action did
            registry.fail(rule.id, error)
            return rule.until > since
        with registry.storage.rule_tables.writing() as connection:
            move(connection, rule.id, until)
        self._came(rule, until)
        return True

    def _act(self, rule: Rule, found: list[tuple[int, Fired]]) -> None:
        registry = self.registry
        depths = registry.store.depths(found[0][0] - 1, found[-1][0])
        for at, one in found:
            depth = depths.get(at, 0)
            if depth >= registry.bound:
                raise CascadeTooLong(bound=registry.bound, cycle=f"{rule.name} → …")
            firing = Firing(registry.store.next_id(), rule.name, at, rule.action, "done", one.rows, depth)

            def done(time: int, firing: Firing = firing) -> None:
                def kept(connection: Connection) -> None:
                    record(connection, [replace(firing, finished=time)])
                    move(connection, rule.id, firing.time)

                with registry.storage.together() as pending:
                    pending.batch.extra_writes.append(kept)

            with registry.transaction(depth + 1, done) as workspace:
                registry.actions.run(rule, one.rows, workspace)
                workspace.statement_done()
            self._came(rule, at)

    def _came(self, rule: Rule, until: int) -> None:
        """A rule has come to an instant."""
        rule.until = until
        self.registry.moved(rule.id, until)

    def _fired(self, rule: Rule, until: int) -> list[tuple[int, Fired]]:
        """What a rule fires for, by instant, in order; what is silenced apart."""
        found = committed.fired(self.registry.scheduler, rule, rule.until, until)
        fired = [(at, Fired(rule, rows, ran=False)) for at, rows in found if rows.num_rows and rule.is_within(at)]
        return [(at, part) for at, one in fired for part in self.registry.heard([one], at)]

    @property
    def _following(self) -> InstanceTracker:
        return InstanceTracker(self.registry.storage, self.registry.scheduler)

    def tell(self) -> None:
        """Send what was gathered, where it is due."""
        registry, now = self.registry, self.registry.timeline.now()
        with registry.storage.rule_tables.reading() as connection:
            due = gathering.due(connection, now)
        rules = {r.name.lower(): r for r in registry.rules()}
        ready = [(rules[name.lower()], name, key) for name, key in due if name.lower() in rules]
        if not ready:
            return
        registry.timeline.tell(now)
        with registry.storage.rule_tables.writing() as connection:
            for rule, name, key in ready:
                gathering.tell(connection, name, key, now, message_groups.pace(rule), message_groups.composed(rule))
        registry.sent()

    def backtest(self, rule: Rule, since: int) -> list[Backtested]:
        """For what a rule would have fired since an instant, transaction by transaction; no action runs.

        What its own action would have changed is not known, nor what others would have done then.
        """
        if needs_order(rule.event):
            reason = "the order of what transactions did is not kept"
            raise InvalidRule(rule.statement.place, name=rule.name, reason=reason)
        timeline = self.registry.timeline
        waits = rule.timed or rule.lives or rule.asks
        until = timeline.tell(timeline.now()) if waits else timeline.time
        if since >= until:
            return []
        if rule.lives:
            lived = self._following.replayed(rule, since, until)
            return [Backtested(at, one.rows.to_pylist()) for at, one in lived]
        found = committed.fired(self.registry.scheduler, rule, since, until)
        return [Backtested(at, rows.to_pylist()) for at, rows in found if rows.num_rows and rule.is_within(at)]

    # actions

    def run(self) -> bool:
        """Run the actions that wait, in the order they were recorded, and those that failed and are due again."""
        ran = [self._run(firing) for firing in self.registry.store.firings("waiting")]
        again = [self._again(entry) for entry in self._retries.due(self.registry.timeline.clock.now())]
        return any([*ran, *again])

    def run_these(self, ids: Collection[int]) -> None:
        """Run some of the actions that wait."""
        for firing in self.registry.store.firings("waiting"):
            if firing.id in ids:
                self._run(firing)

    @property
    def _retries(self) -> Retries:
        return Retries(self.registry.store, self.registry.retry_policy)

    def _again(self, entry: OutboxEntry) -> bool:
        firing = self.registry.store.firing(entry.message.firing)
        if firing is None:
            self._retries.outbox.acknowledge(self.registry.timeline.clock.now(), [GivenUp(entry, "it is forgotten")])
            return False
        return self._run(firing, entry)

    def _run(self, firing: Firing, entry: OutboxEntry | None = None) -> bool:
        """Run an action; whether it was tried."""
        registry, store, now = self.registry, self.registry.store, self.registry.timeline.clock.now()
        rule = next((r for r in registry.rules() if r.name.lower() == firing.rule.lower()), None)
        if rule is None:
            store.settle(firing.id, "failed", now, "there is no such rule any more")
            if entry is not None:
                self._retries.outbox.acknowledge(now, [GivenUp(entry, "there is no such rule any more")])
            return False
        missing = registry.actions.missing(rule)
        if missing is not None:
            if firing.error != (error := what_is_wrong(missing)):
                store.settle(firing.id, firing.state, now, error)
            if entry is not None:
                self._retries.outbox.release([entry])
            return False
        if entry is not None and self._retries.is_spent(entry):
            error = "the process ended during the last attempt"
            self._retries.failed(rule, firing, entry, error, now, ever=True)
            return False

        def done(time: int) -> None:
            with registry.storage.together() as pending:
                pending.batch.extra_writes.append(lambda connection: succeeded(connection, firing, entry, time))

        try:
            if firing.depth >= registry.bound:
                raise CascadeTooLong(bound=registry.bound, cycle=f"{firing.rule} → …")
            with registry.transaction(firing.depth + 1, done) as workspace:
                registry.actions.run(rule, firing.rows, workspace)
                workspace.statement_done()
        except StaleWriter:
            raise
        except Exception as error:  # of a procedure, or of whatever the action did
            ever = isinstance(error, CascadeTooLong)
            self._retries.failed(rule, firing, entry, what_is_wrong(error), registry.timeline.clock.now(), ever=ever)
        return True
