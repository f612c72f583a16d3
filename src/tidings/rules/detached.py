"""What is done after commits: detached conditions are judged, and detached actions run.

A detached condition is judged as a stored view is brought up to date: one wave tells the changes of every instant since
the rule was last judged, and each transaction is judged alone, however many there are.  What the rule fires for, and
how far it has come, is recorded together.

A detached action runs in a transaction of its own.  That it ran is recorded with that transaction: SQL is done exactly
once.  A procedure that acts outside of the database is called again if the process dies before the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidings.errors import CascadeTooLong, InvalidRule, TidingsError
from tidings.rules import gather, past
from tidings.rules.agenda import Fired
from tidings.rules.book import Book
from tidings.rules.coupling import Kept, firings, keep
from tidings.rules.follow import Following
from tidings.rules.rule import Rule, needs_order
from tidings.store import gathering, instances
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
        self.tell()

    # conditions

    def judge(self) -> bool:
        """Judge detached conditions up to the present; whether one fired."""
        fired = False
        for rule in sorted(self.book.rules(), key=lambda rule: rule.order):
            if rule.condition != "detached" or not rule.enabled:
                continue
            waits = rule.timed or rule.lives or rule.asks
            timeline = self.book.timeline
            until = timeline.tell(timeline.now()) if waits else timeline.time
            if rule.until < until:
                try:
                    fired |= self._judged(rule, until)
                except TidingsError as error:
                    self.book.fail(rule.id, error)
        return fired

    def _judged(self, rule: Rule, until: int) -> bool:
        book, kept, now = self.book, Kept(), self.book.timeline.clock.now()
        followed = self._following.judged(rule, until, book.silences) if rule.lives else None
        found = self._fired(rule, until) if followed is None else followed.fired
        for at, one in found:
            kept.add(firings(book.store, [one], at, 0, now))
        with book.storage.tables_beside.writing() as connection:
            keep(connection, kept)
            move(connection, rule.id, until)
            if followed is not None:
                instances.keep(connection, rule.id, followed.became)
                instances.follow(connection, rule.id)
        if kept.firings:
            book.sent()
        rule.until = until
        book.moved(rule.id, until)
        return bool(found)

    def _fired(self, rule: Rule, until: int) -> list[tuple[int, Fired]]:
        """What a rule fires for, by instant, in order; what is silenced apart."""
        found = past.fired(self.book.waves, rule, rule.until, until)
        fired = [(at, Fired(rule, rows, ran=False)) for at, rows in found if rows.num_rows and rule.is_within(at)]
        return [(at, part) for at, one in fired for part in self.book.heard([one], at)]

    @property
    def _following(self) -> Following:
        return Following(self.book.storage, self.book.waves)

    def tell(self) -> None:
        """Send what was gathered, where it is due."""
        book, now = self.book, self.book.timeline.now()
        with book.storage.tables_beside.reading() as connection:
            due = gathering.due(connection, now)
        rules = {r.name.lower(): r for r in book.rules()}
        ready = [(rules[name.lower()], name, key) for name, key in due if name.lower() in rules]
        if not ready:
            return
        book.timeline.tell(now)
        with book.storage.tables_beside.writing() as connection:
            for rule, name, key in ready:
                gathering.tell(connection, name, key, now, gather.pace(rule), gather.composed(rule))
        book.sent()

    def backtest(self, rule: Rule, since: int) -> list[Backtested]:
        """For what a rule would have fired since an instant, transaction by transaction; no action runs.

        What its own action would have changed is not known, nor what others would have done then.
        """
        if needs_order(rule.read.event):
            reason = "the order of what transactions did is not kept"
            raise InvalidRule(rule.read.place, name=rule.name, reason=reason)
        timeline = self.book.timeline
        waits = rule.timed or rule.lives or rule.asks
        until = timeline.tell(timeline.now()) if waits else timeline.time
        if since >= until:
            return []
        if rule.lives:
            lived = self._following.replayed(rule, since, until)
            return [Backtested(at, one.rows.to_pylist()) for at, one in lived]
        found = past.fired(self.book.waves, rule, since, until)
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
