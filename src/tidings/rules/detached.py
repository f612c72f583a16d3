"""What is done after commits: detached conditions are judged, and detached actions run.

A detached condition is judged as a stored view is brought up to date: one wave tells the changes of every instant since
the rule was last judged, and each transaction is judged alone, however many there are.  What the rule fires for, and
how far it has come, is recorded together.

A detached action runs in a transaction of its own.  That it ran is recorded with that transaction: SQL is done exactly
once.  A procedure that acts outside of the database is called again if the process dies before the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tidings.engine.plain import row_keys
from tidings.errors import CascadeTooLong, InvalidRule, TidingsError
from tidings.ir.expression import TIME, WEIGHT
from tidings.rules import past
from tidings.rules.agenda import Fired
from tidings.rules.book import Book
from tidings.rules.condition import identified
from tidings.rules.coupling import firings, keep
from tidings.rules.rule import Rule, needs_order
from tidings.store.rules import Firing, move, settle


@dataclass(frozen=True, slots=True)
class Backtested:
    """For what a rule would have fired at an instant."""

    time: int
    rows: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Detached:
    """Judges and runs what is detached."""

    book: Book

    def advance(self) -> None:
        """Judge and run until nothing is left to do."""
        while self.judge() | self.run():
            pass

    # conditions

    def judge(self) -> bool:
        """Judge detached conditions up to the present; whether one fired."""
        fired = False
        for rule in sorted(self.book.rules(), key=lambda rule: rule.order):
            if rule.condition != "detached" or not rule.enabled:
                continue
            waits = rule.timed or rule.read.options.hold or rule.asks
            timeline = self.book.timeline
            until = timeline.tell(timeline.now()) if waits else timeline.time
            if rule.until < until:
                try:
                    fired |= self._judged(rule, until)
                except TidingsError as error:
                    self.book.fail(rule.id, error)
        return fired

    def _judged(self, rule: Rule, until: int) -> bool:
        found = [(at, rows) for at, rows in self._instances(rule, until) if rows.num_rows and rule.is_within(at)]
        store = self.book.store
        kept, messages = [], []
        for at, rows in found:
            more = firings(store, [Fired(rule, rows, ran=False)], at, 0, self.book.timeline.clock.now())
            kept += more[0]
            messages += more[1]
        with self.book.storage.tables_beside.writing() as connection:
            keep(connection, kept, messages)
            move(connection, rule.id, until)
        if messages:
            self.book.sent()
        rule.until = until
        self.book.moved(rule.id, until)
        return bool(found)

    def _instances(self, rule: Rule, until: int) -> Iterator[tuple[int, pa.Table]]:
        """The instances of a rule by instant, in order."""
        waves, hold = self.book.waves, rule.read.options.hold
        if not hold:
            return past.fired(waves, rule, rule.until, until)
        since = max(rule.until - hold, min(rule.created, rule.until))
        return _held(rule, identified(rule, waves.delta(rule.name, rule.plan, since, until, net=False)), until)

    def backtest(self, rule: Rule, since: int) -> list[Backtested]:
        """For what a rule would have fired since an instant, transaction by transaction; no action runs.

        What its own action would have changed is not known, nor what others would have done then.
        """
        if needs_order(rule.read.event):
            reason = "the order of what transactions did is not kept"
            raise InvalidRule(rule.read.place, name=rule.name, reason=reason)
        timeline = self.book.timeline
        waits = rule.timed or rule.read.options.hold or rule.asks
        until = timeline.tell(timeline.now()) if waits else timeline.time
        past = replace(rule, until=since, created=0)
        found = self._instances(past, until) if since < until else iter(())
        return [Backtested(at, rows.to_pylist()) for at, rows in found if rows.num_rows and rule.is_within(at)]

    # actions

    def run(self) -> bool:
        """Run the actions that wait, in the order they were recorded; whether there were any."""
        waiting = self.book.store.firings("waiting")
        for firing in waiting:
            self._run(firing)
        return bool(waiting)

    def _run(self, firing: Firing) -> None:
        book, store = self.book, self.book.store
        rule = next((r for r in book.rules() if r.name.lower() == firing.rule.lower()), None)
        if rule is None:
            store.settle(firing.id, "failed", book.timeline.time, "there is no such rule any more")
            return

        def done(time: int) -> None:
            with book.storage.together() as pending:
                pending.batch.also.append(lambda connection: settle(connection, firing.id, "done", time))

        try:
            if firing.depth >= book.bound:
                raise CascadeTooLong(bound=book.bound, cycle=f"{firing.rule} → …")
            with book.transaction(firing.depth + 1, done) as tx:
                book.actions.run(rule, firing.rows, tx)
                tx.statement_done()
        except TidingsError as error:
            store.settle(firing.id, "failed", book.timeline.time, f"{error.condition}: {error.message}")
            book.fail(rule.id, error)
        except Exception as error:
            store.settle(firing.id, "failed", book.timeline.time, f"{type(error).__name__}: {error}")
            book.fail_with(rule.id, f"{type(error).__name__}: {error}")


def _held(rule: Rule, delta: pa.Table, until: int) -> Iterator[tuple[int, pa.Table]]:
    """Instances that have held for as long as a rule asks, at the instants when they had."""
    hold = rule.read.options.hold
    rows = delta.drop_columns([TIME, WEIGHT])
    weights, times = delta.column(WEIGHT).to_pylist(), delta.column(TIME).to_pylist()
    went: dict[object, list[int]] = {}
    keys = row_keys(rows.select(list(rule.key)) if rule.key else rows)
    for row, weight, time in zip(keys, weights, times, strict=True):
        if weight < 0:
            went.setdefault(row, []).append(time)
    due: dict[int, list[int]] = {}
    for place, (row, weight, time) in enumerate(zip(keys, weights, times, strict=True)):
        ends = any(time < t <= time + hold for t in went.get(row, ()))
        if weight > 0 and rule.until < time + hold <= until and not ends:
            due.setdefault(time + hold, []).extend([place] * weight)
    for at in sorted(due):
        yield at, rows.take(pa.array(due[at], pa.int64()))
