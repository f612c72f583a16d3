"""Subscriptions: a reader's position in the changes of a table, a view or a query.

A subscriber gets the rows at an instant, and then every change after it, one batch per instant, in order.  Its position
is the instant of the last batch it has.  Whoever comes back with a position gets what is after it, each batch exactly
once by position: what happened at an instant does not depend on when it is asked for.

There are positions from which the changes cannot be told: older than what is retained, before the name came to mean
something else, before an instant at which the query had no answer, or of a database that has lost commits.  They are
refused with :class:`tidings.errors.MustRefetch`; nothing is ever left out in silence.

A named subscription keeps its position in the catalog.  It moves when a batch is acknowledged, at the latest when the
next one is asked for.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition, Event

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import CLOCK, influents
from tidings.engine.changes import versioned
from tidings.errors import EngineFailed, HistoryGone, MustRefetch, SubscriptionExists
from tidings.ir.expression import TIME
from tidings.ir.relation import Relation
from tidings.read.answers import Answers
from tidings.result import Delta
from tidings.store.records import NamedSubscription
from tidings.store.storage import Storage

POLL = 0.2
"""Seconds between looks where nobody tells of news: at the clock, and at what another process commits."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """What changed at an instant; a snapshot has all rows there are, each with weight 1 as often as it occurs."""

    time: int
    changes: Delta
    snapshot: bool
    _acknowledge: Callable[[int], None]

    def ack(self) -> None:
        """Say that this batch and those before it have been dealt with: a named subscription goes on after it."""
        self._acknowledge(self.time)


@dataclass(frozen=True, slots=True)
class Feed:
    """What a subscription reads: a query, and the instants for which it can be told."""

    text: str
    """A query, or the name of a table or view."""
    plan: Callable[[], Relation]
    """The bound plan; bound again when definitions change."""
    answers: Answers
    reload: Callable[[], object]
    """Takes in what another process has committed."""

    @property
    def storage(self) -> Storage:
        return self.answers.scheduler.storage

    def began(self) -> int:
        """Since when the query means what it means."""
        names = {self.text, *self.storage.relations.below(self.plan())}
        return max(self.storage.began.get(name.lower(), 0) for name in names)

    def present(self) -> int:
        """The instant up to which everything can be told now."""
        self.reload()
        timeline = self.answers.timeline
        last = timeline.settled() if self.storage.is_reader else timeline.present(self.plan())
        return max(last, self.began())

    def polls(self) -> bool:
        """Whether there may be news that nobody tells of."""
        return self.storage.is_reader or CLOCK in self._influents()

    def snapshot(self, at: int) -> pa.Table:
        """The rows at an instant, as changes that bring them."""
        return versioned(self.answers.at(self.plan(), at).to_arrow(), at)

    def changes(self, since: int, until: int) -> pa.Table:
        """The changes of every instant."""
        return self.answers.scheduler.delta(self._name(), self.plan(), since, until, net=False)

    def instants(self, since: int, until: int) -> list[int]:
        """The instants before the end at which something was committed that the query reads."""
        tables = self._influents() - {CLOCK}
        found = {t for r in tables for t in self.answers.scheduler.relations.rows(r).times(since, until)}
        return sorted(found - {until})

    def _name(self) -> str:
        found = self.storage.relations.find(self.text)
        return "result" if found is None else found.name

    def _influents(self) -> frozenset[str]:
        return influents(self.plan(), self.answers.scheduler.relations.definitions())


@dataclass(slots=True)
class Subscription:
    """An iterator over batches; without ``follow`` it ends at the present, and goes on when it is asked again."""

    feed: Feed
    position: int | None
    """The instant up to which everything has been handed out; None before the snapshot."""
    news: Condition
    closed: Event
    follow: bool = False
    timeout: float | None = None
    """Seconds without a batch after which a follower ends; None waits for ever."""
    keep: Callable[[int], None] | None = None
    """Keeps the position of a named subscription."""
    _waiting: deque[ChangeBatch] = field(default_factory=deque)
    _last: ChangeBatch | None = None
    _until: int | None = None
    """The instant up to which the waiting batches tell everything."""
    _kept: int = -1

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> ChangeBatch:
        with self.news:
            if self._last is not None:
                self._last.ack()
                self._last = None
            self._wait()
            batch = self._waiting.popleft()
            self.position = batch.time
            self._last = batch
            return batch

    def _wait(self) -> None:
        """Let there be a batch, or end."""
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        while not self._waiting:
            if self.closed.is_set():
                raise StopIteration
            self._fetch()
            if self._waiting:
                return
            left = None if deadline is None else deadline - time.monotonic()
            if not self.follow or (left is not None and left <= 0):
                raise StopIteration
            poll = POLL if self.feed.polls() else None
            self.news.wait(min((t for t in (left, poll) if t is not None), default=None))

    def _fetch(self) -> None:
        """Take in what there is after the position."""
        end = self.feed.present()
        if self.position is None:
            self._waiting.append(self._batch(end, self.feed.snapshot(end), snapshot=True))
            self._until = end
            return
        start = self.position if self._until is None else max(self.position, self._until)
        self._check(start, end)
        while start < end and not self._waiting:
            found, start = self._told(start, end)
            for at in sorted(pc.unique(found.column(TIME)).to_pylist()):
                changes = found.filter(pc.equal(found.column(TIME), at))
                self._waiting.append(self._batch(at, changes, snapshot=False))
            self._until = start
        if not self._waiting:
            self.position = start
            self._acknowledged(start)

    def _batch(self, at: int, changes: pa.Table, *, snapshot: bool) -> ChangeBatch:
        return ChangeBatch(at, Delta(changes), snapshot, self._acknowledged)

    def _acknowledged(self, at: int) -> None:
        if self.keep is not None and at > self._kept:
            self.keep(at)
            self._kept = at

    def _check(self, since: int, present: int) -> None:
        if since < self.feed.began():
            self._refetch(since, "it means something else since then")
        if since > max(present, self.feed.answers.scheduler.settled()):
            self._refetch(since, "it lies after all that is known here, as when a database was restored")

    def _refetch(self, since: int, reason: str) -> None:
        raise MustRefetch(name=self.feed.text, since=since, reason=reason)

    def _told(self, since: int, until: int) -> tuple[pa.Table, int]:
        """The changes since a position, up to an instant; an earlier one where the query has no answer after it."""
        try:
            return self.feed.changes(since, until), until
        except HistoryGone as gone:
            self._refetch(since, gone.message)
            raise
        except EngineFailed as failure:
            before = self.feed.instants(since, until)
            if before:
                return self._told(since, before[len(before) // 2])
            self._require_answer(since, failure)
            raise

    def _require_answer(self, since: int, failure: EngineFailed) -> None:
        """Whether the query has an answer now though it had none on the way; then the subscriber begins anew."""
        try:
            self.feed.snapshot(self.feed.present())
        except EngineFailed:
            return
        self._refetch(since, f"there was no answer: {failure.parameters['reason']}")


def named_position(storage: Storage, name: str, text: str, since: int | None) -> int | None:
    """The position of a named subscription, which is made if it is not there; ``since`` puts it elsewhere."""
    known = storage.subscriptions().get(name)
    if known is not None and known.query != text:
        raise SubscriptionExists(name=name, query=known.query)
    if known is None or since is not None:
        storage.subscribe(name, NamedSubscription(text, since))
        return since
    return known.position
