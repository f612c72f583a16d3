"""Runs detached actions, each in a transaction of its own.

That an action ran is recorded with its transaction: SQL is run exactly once.  A procedure that acts outside of the
database is called again if the process dies before the end.  What fails is tried again, see
:mod:`tidings.rules.action.retry`.

Each transaction knows how many firings led to it, so rules that trigger each other in this way are stopped, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlalchemy import Connection

from tidings.errors import CascadeTooLong, StaleWriter
from tidings.rules.action.retry import Retries, succeeded
from tidings.rules.context import RuleContext
from tidings.rules.error_text import error_text
from tidings.rules.fired import Fired
from tidings.rules.rule import Rule
from tidings.rules.transactions import RuleTransactions
from tidings.store.rules.messages import GivenUp, OutboxEntry
from tidings.store.rules.rule_store import Firing, move, record
from tidings.write.hooks import CommitHook


@dataclass(frozen=True, slots=True)
class DetachedActions:
    """Runs the detached actions of one database."""

    context: RuleContext
    transactions: RuleTransactions

    @property
    def _retries(self) -> Retries:
        return Retries(self.context.store, self.context.limits.retry_policy)

    def run_waiting(self) -> bool:
        """Run the actions that wait, in the order they were recorded, and those to be tried again; whether any was."""
        tried = [self._run(firing) for firing in self.context.store.firings("waiting")]
        retried = [self._retry(entry) for entry in self._retries.claim_due(self.context.timeline.clock.now())]
        return any([*tried, *retried])

    def run_firings(self, ids: Collection[int]) -> None:
        """Run the actions of some firings that wait."""
        for firing in self.context.store.firings("waiting"):
            if firing.id in ids:
                self._run(firing)

    def run_at_once(self, rule: Rule, fired: list[tuple[int, Fired]]) -> None:
        """Run the action of a rule for each instant, in a transaction that also records the firing and the cursor."""
        context = self.context
        depths = context.store.depths(fired[0][0] - 1, fired[-1][0])
        for at, each in fired:
            depth = depths.get(at, 0)
            self._check_cascade(rule, depth)
            firing = Firing(context.store.next_id(), rule.name, at, rule.action_coupling, "done", each.rows, depth)

            def write(connection: Connection, time: int, firing: Firing = firing) -> None:
                record(connection, [replace(firing, finished=time)])
                move(connection, rule.id, firing.time)

            self._run_in_transaction(rule, each.rows, depth, self._recording(write))
            context.registry.move_cursor(rule, at)

    def _retry(self, entry: OutboxEntry) -> bool:
        firing = self.context.store.firing(entry.message.firing)
        if firing is None:
            now = self.context.timeline.clock.now()
            self._retries.outbox.acknowledge(now, [GivenUp(entry, "it is forgotten")])
            return False
        return self._run(firing, entry)

    def _run(self, firing: Firing, entry: OutboxEntry | None = None) -> bool:
        """Run the action of a firing; whether it was tried.  ``entry`` is there if it has been tried before."""
        rule = self._runnable(firing, entry)
        if rule is None:
            return False

        def write(connection: Connection, time: int) -> None:
            succeeded(connection, firing, entry, time)

        try:
            self._check_cascade(rule, firing.depth)
            self._run_in_transaction(rule, firing.rows, firing.depth, self._recording(write))
        except StaleWriter:
            raise
        except Exception as error:  # of a procedure, or of whatever the action did
            now, is_final = self.context.timeline.clock.now(), isinstance(error, CascadeTooLong)
            self._retries.failed(rule, firing, entry, error_text(error), now, is_final=is_final)
        return True

    def _runnable(self, firing: Firing, entry: OutboxEntry | None) -> Rule | None:
        """The rule of a firing; None if its action cannot be tried now, which is recorded."""
        context, retries, now = self.context, self._retries, self.context.timeline.clock.now()
        rule = next((r for r in context.registry.rules() if r.name.lower() == firing.rule.lower()), None)
        if rule is None:
            reason = "there is no such rule any more"
            context.store.settle(firing.id, "failed", now, reason)
            if entry is not None:
                retries.outbox.acknowledge(now, [GivenUp(entry, reason)])
            return None
        unknown = context.actions.missing_procedure(rule)
        if unknown is not None:
            if firing.error != (error := error_text(unknown)):
                context.store.settle(firing.id, firing.state, now, error)
            if entry is not None:
                retries.outbox.release([entry])
            return None
        if entry is not None and retries.is_spent(entry):
            error = "the process ended during the last attempt"
            retries.failed(rule, firing, entry, error, now, is_final=True)
            return None
        return rule

    def _check_cascade(self, rule: Rule, depth: int) -> None:
        limit = self.context.limits.cascade
        if depth >= limit:
            raise CascadeTooLong(bound=limit, cycle=f"{rule.name} → …")

    def _run_in_transaction(self, rule: Rule, rows: pa.Table, depth: int, commit_hook: CommitHook) -> None:
        with self.transactions.begin(depth + 1, commit_hook) as workspace:
            self.context.actions.run(rule, rows, workspace)
            workspace.statement_done()

    def _recording(self, write: Callable[[Connection, int], None]) -> CommitHook:
        """A hook that has something written in the transaction of the catalog that records a commit."""

        def commit_hook(time: int) -> None:
            with self.context.storage.together() as pending:
                pending.batch.extra_writes.append(lambda connection: write(connection, time))

        return commit_hook
