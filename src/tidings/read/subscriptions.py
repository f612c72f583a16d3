"""Subscriptions: a reader's position in the changes of a table, a view or a query.

A subscriber gets the rows at an instant, and then every change after it, one batch per instant, in order.  Its position
is the instant of the last batch it has.  Whoever comes back with a position gets what is after it, each batch exactly
once by position: what happened at an instant does not depend on when it is asked for.

From some positions the changes cannot be given: earlier than what is retained, before the name came to mean something
else, before an instant at which the query had no answer, or of a database that has lost commits.  They are refused with
:class:`tidings.errors.MustRefetch`; nothing is ever left out in silence.

The position of a named subscription is saved in the catalog.  It moves when a batch is acknowledged, at the latest when
the next one is asked for.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Condition, Event

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import CLOCK, influents
from tidings.clock import instant
from tidings.engine.backend import Backend
from tidings.engine.changes import versioned
from tidings.errors import EngineFailed, HistoryGone, MustRefetch, SubscriptionExists, UnknownRelation
from tidings.errors.unexpected import internal_errors
from tidings.ir.expression import TIME
from tidings.ir.relation import Relation
from tidings.read.answers import Answers
from tidings.read.bound_plans import BoundPlans
from tidings.read.position import Position
from tidings.result import Delta
from tidings.store.records import NamedSubscription
from tidings.store.relation.relations import Relations
from tidings.store.storage import Storage

POLL = 0.2
"""Seconds between looks where no commit of this process wakes the reader: at the clock, and at another process."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """What changed at an instant; a snapshot has all rows there are, each with weight 1 as often as it occurs."""

    time: Position
    """The instant, as a position to go on from: ``time.token`` is a text that keeps all of it."""
    changes: Delta
    snapshot: bool
    _acknowledge: Callable[[int], None]

    @property
    def instant(self) -> datetime:
        """``time`` as a datetime in UTC."""
        return instant(self.time)

    def ack(self) -> None:
        """Acknowledge this batch and those before it: a named subscription goes on after it."""
        self._acknowledge(self.time)


@dataclass(slots=True)
class Feed:
    """Reads the rows and changes of a query for a subscription."""

    text: str
    """A query, or the name of a table or view."""
    plans: BoundPlans
    answers: Answers
    reload: Callable[[], object]
    """Takes in what another process has committed."""
    _is_name: bool = field(init=False)

    def __post_init__(self) -> None:
        self._is_name = self._relations.find(self.text) is not None

    @property
    def _relations(self) -> Relations:
        return self.plans.relations

    @property
    def _storage(self) -> Storage:
        return self.answers.scheduler.storage

    def plan(self) -> Relation:
        """The plan as the definitions are now; refused if the text was a name and is none any more."""
        if self._is_name and self._relations.find(self.text) is None:
            raise UnknownRelation(name=self.text)
        return self.plans.plan(self.text)

    @property
    def backend(self) -> Backend:
        return self._storage.backend

    def began(self) -> int:
        """The instant since which the query means what it means now."""
        names = {self.text, *self._relations.below(self.plan())}
        return max(self._storage.defined_since.get(name.lower(), 0) for name in names)

    def branches(self) -> dict[str, int]:
        """The branches of the history, in order, each with the last instant before it began."""
        return self._storage.journal.contents.branches()

    def settled(self) -> int:
        """The instant up to which nothing more can be committed."""
        return self.answers.timeline.settled()

    def present(self) -> int:
        """The instant up to which all changes are known now."""
        self.reload()
        plan, timeline = self.plan(), self.answers.timeline
        return max(timeline.settled() if self._storage.is_reader else timeline.present(plan), self.began())

    def polls(self) -> bool:
        """Whether there may be changes of which no commit of this process tells."""
        return self._storage.is_reader or CLOCK in self._influents()

    def snapshot(self, at: int) -> pa.Table:
        """The rows at an instant, as changes that bring them."""
        return versioned(self.answers.at(self.plan(), at).to_arrow(), at)

    def changes(self, since: int, until: int) -> pa.Table:
        """The changes at every instant of ``(since, until]``."""
        name = self.plans.relation_name(self.text)
        return self.answers.scheduler.delta(name, self.plan(), since, until, net=False)

    def instants(self, since: int, until: int) -> list[int]:
        """The instants after ``since`` and before ``until`` at which something was committed that the query reads."""
        tables = self._influents() - {CLOCK}
        times = {t for r in tables for t in self._relations.rows(r).history.times(since, until)}
        return sorted(times - {until})

    def _influents(self) -> frozenset[str]:
        return influents(self.plan(), self._relations.definitions())


@dataclass(slots=True)
class Subscription:
    """An iterator over batches; without ``follow`` it ends at the present, and goes on when asked for the next."""

    feed: Feed
    position: int | None
    """The instant up to which everything has been handed out; None before the snapshot."""
    news: Condition
    closed: Event
    follow: bool = False
    timeout: float | None = None
    """Seconds without a batch after which a subscription that follows ends; None waits for ever."""
    save: Callable[[int], None] | None = None
    """Saves the position of a named subscription."""
    _batches: deque[ChangeBatch] = field(init=False, default_factory=deque)
    """Batches that have been fetched and not handed out."""
    _last: ChangeBatch | None = field(init=False, default=None)
    """The batch that was handed out last."""
    _fetched_until: int | None = field(init=False, default=None)
    """The instant up to which the fetched batches have all changes."""
    _branch: str = field(init=False, default="")
    """The branch of history that changes are told of."""
    _saved: int = field(init=False, default=-1)
    """The position that was saved last."""

    def __post_init__(self) -> None:
        branches = self.feed.branches()
        self._branch = next(reversed(branches), "")
        branch = self.position.branch if isinstance(self.position, Position) else ""
        if self.position is None or not branch:
            return
        later = list(branches)[list(branches).index(branch) + 1 :] if branch in branches else []
        if branch not in branches or (later and self.position > branches[later[0]]):
            self._refetch(self.position, "it is of a history that was lost, as when an older copy was put back")

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> ChangeBatch:
        if self.follow and self.closed.is_set():
            raise StopIteration
        with internal_errors(self.feed.text), self.news:
            if self._last is not None:
                self._last.ack()
                self._last = None
            self._wait()
            batch = self._batches.popleft()
            self.position = batch.time
            self._last = batch
            return batch

    def _wait(self) -> None:
        """Wait until there is a batch, or end."""
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        while not self._batches:
            if self.closed.is_set():
                raise StopIteration
            self._fetch()
            if self._batches:
                return
            left = None if deadline is None else deadline - time.monotonic()
            if not self.follow or (left is not None and left <= 0):
                raise StopIteration
            poll = POLL if self.feed.polls() else None
            self.news.wait(min((t for t in (left, poll) if t is not None), default=None))

    def _fetch(self) -> None:
        """Fetch what there is after the position."""
        end = self.feed.present()
        if self.position is None:
            self._batches.append(self._batch(end, self.feed.snapshot(end), snapshot=True))
            self._fetched_until = end
            return
        start = self.position if self._fetched_until is None else max(self.position, self._fetched_until)
        self._check(start, end)
        while start < end and not self._batches:
            delta, start = self._changes(start, end)
            for at in sorted(pc.unique(delta.column(TIME)).to_pylist()):
                changes = delta.filter(pc.equal(delta.column(TIME), at))
                self._batches.append(self._batch(at, changes, snapshot=False))
            self._fetched_until = start
        if not self._batches:
            self.position = Position(start, self._branch)
            self._acknowledge(start)

    def _batch(self, at: int, changes: pa.Table, *, snapshot: bool) -> ChangeBatch:
        return ChangeBatch(Position(at, self._branch), Delta(changes, self.feed.backend), snapshot, self._acknowledge)

    def _acknowledge(self, at: int) -> None:
        if self.save is not None and at > self._saved:
            self.save(at)
            self._saved = at

    def _check(self, since: int, present: int) -> None:
        """Refuse a position from which the changes cannot be given."""
        if since < self.feed.began():
            self._refetch(since, "it means something else since then")
        if since > max(present, self.feed.settled()):
            self._refetch(since, "it lies after all that is known here, as when a database was restored")

    def _refetch(self, since: int, reason: str) -> None:
        raise MustRefetch(name=self.feed.text, since=since, reason=reason)

    def _changes(self, since: int, until: int) -> tuple[pa.Table, int]:
        """The changes since a position, up to an instant; an earlier one where the query has no answer after it."""
        try:
            return self.feed.changes(since, until), until
        except HistoryGone as gone:
            self._refetch(since, gone.message)
            raise
        except EngineFailed as failure:
            instants = self.feed.instants(since, until)
            if instants:
                return self._changes(since, instants[len(instants) // 2])
            self._refetch_if_answered(since, failure)
            raise

    def _refetch_if_answered(self, since: int, failure: EngineFailed) -> None:
        """Let the subscriber begin anew if the query has an answer now, though it had none on the way."""
        try:
            self.feed.snapshot(self.feed.present())
        except EngineFailed:
            return
        self._refetch(since, f"there was no answer: {failure.parameters['reason']}")


def named_position(storage: Storage, name: str, text: str, since: int | None) -> int | None:
    """The position of a named subscription, which is made if it is not there; ``since`` puts it elsewhere."""
    subscription = storage.subscriptions().get(name)
    if subscription is not None and subscription.query != text:
        raise SubscriptionExists(name=name, query=subscription.query)
    if subscription is None or since is not None:
        storage.subscribe(name, NamedSubscription(text, since))
        return since
    return subscription.position
