"""The instants of one database: when transactions were committed, and up to when nothing can be any more.

Commit times strictly increase.  An answer to something that reads the clock is about an instant at which nothing was
committed.  The answer stays true: later transactions get later times, also those of the next process, however far its
clock was put back.  So such an instant is noted in the catalog before the answer is given.  That it is not a write for
each answer, a second more is noted; whoever closes the database notes where it really was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Condition, Event

from tidings.analysis.influents import CLOCK
from tidings.clock import BoundedClock
from tidings.errors import TidingsError
from tidings.ir.relation import Relation
from tidings.store.catalog.facts import SETTLED, SettledNote
from tidings.store.records import BEGAN
from tidings.store.storage import Storage

_AHEAD = 1_000_000
"""So many microseconds more than were asked for are noted as settled."""


@dataclass(slots=True)
class Timeline:
    """Past and present of one database."""

    storage: Storage
    clock: BoundedClock
    news: Condition
    """Wakes those who wait for commits."""
    time: int = 0
    """The time of the last commit; 0 before the first."""
    before: int = 0
    """That of the one before."""
    answered_until: int = 0
    """The last instant about which an answer was given."""
    has_subscribers: bool = field(init=False, default=False)
    """Whether somebody has subscribed to changes, and may hold a position in them."""
    committed: Event = field(default_factory=Event)
    """Is set by every commit; whoever acts on it clears it."""
    _noted: SettledNote = field(init=False, default_factory=SettledNote)
    """What the catalog knows of ``answered_until``."""
    _began: int | None = field(init=False, default=None)
    """The first instant there is, once it is known."""

    def begin(self) -> None:
        """Know the last commit, before anything is restored."""
        self.time = self.before = self.storage.journal.contents.last_commit()

    def remember(self) -> None:
        """Know about which instants answers were given, once everything is restored."""
        ends = (v.until for v in self.storage.relations.stored())
        self._noted = SettledNote.read(self.storage.journal.note(SETTLED))
        noted = self._noted.at if self.storage.is_reader else self._noted.until
        self.know(max([0, noted, *ends, *self.storage.defined_since.values()]))
        self.clock.know(max(self.time, self._noted.at))

    def know(self, instant: int) -> None:
        """Know about an instant, which is recorded elsewhere, that nothing is committed up to it any more."""
        self.answered_until = max(self.answered_until, instant)

    def reach(self, time: int) -> None:
        """Let an instant be that of the last commit; the one before the first was just before it."""
        self.before, self.time = self.time or time - 1, time

    @contextmanager
    def reaching(self, time: int, first: int | None = None) -> Iterator[None]:
        """Let an instant be that of the last commit, if what is done inside succeeds; those who wait wake up.

        ``first`` is that of the first of several transactions.
        """
        before = self.before, self.time
        self.reach(time)
        try:
            yield
        except BaseException:
            self.before, self.time = before
            raise
        if before[1] == 0:
            self._began = time if first is None else first
        self.committed.set()
        with self.news:
            self.news.notify_all()

    def next(self) -> int:
        """The time of a transaction that is committed now."""
        return max(self.time + 1, self.answered_until + 1, self.clock.now())

    def now(self) -> int:
        """The instant of a statement that changes rows; the transaction's own time is not before it."""
        return max(self.time, self.answered_until, self.clock.now())

    def beginning(self, plan: Relation) -> int:
        """An instant before the changes of a plan: for what reads the clock, that before the first commit or load."""
        if not self.reads_clock(plan):
            return 0
        return self.now() if self.time == 0 else max(0, self.began - 1)

    @property
    def began(self) -> int:
        """The instant of the first commit or load; 0 before there is one, and where none was noted."""
        if self._began is None and self.time:
            self._began = int(self.storage.journal.note(BEGAN) or 0)
        return self._began or 0

    def present(self, plan: Relation) -> int:
        """The instant an answer is about: the last commit, or now for what reads the clock."""
        return self.settle_until(self.now()) if self.reads_clock(plan) else self.time

    def settle_until(self, instant: int) -> int:
        """Promise that nothing is committed up to an instant any more; the last instant of which that was promised."""
        if instant > max(self.time, self._noted.until) and not self.storage.is_reader:
            self._note(SettledNote(instant, instant + _AHEAD))
        self.know(instant)
        return self.answered_until

    def accept_clock(self) -> int:
        """Take what the clock reads to be true, however late it is; returns it."""
        return self.settle_until(self.clock.accept())

    def end(self) -> None:
        """Note where the instants of answers end, when the database is closed."""
        at = max(self.time, self.answered_until)
        if self._noted.until > at and not self.storage.is_reader:
            with suppress(TidingsError):  # more than that is noted
                self._note(SettledNote(at, at))

    def _note(self, note: SettledNote) -> None:
        self.storage.journal.take_note(SETTLED, str(note))
        self._noted = note

    def settled(self) -> int:
        """The instant up to which nothing more can be committed; a reader knows only what the writer has recorded."""
        if self.storage.is_reader:
            return max([self.time, *(v.until for v in self.storage.relations.stored())])
        return max(self.time, self.answered_until)

    def reserve_instant(self) -> int:
        """Reserve an instant after all others, at which nothing is committed."""
        self.answered_until = max(self.time, self.answered_until) + 1
        return self.answered_until

    @contextmanager
    def redefining(self, names: Iterable[str], at: int | None = None) -> Iterator[None]:
        """Let names come to mean something else by the definition or load that is made inside, if it is made.

        Positions in their changes before that are of no use any more.  A load is made at an instant of its own.
        """
        with self.storage.redefining(names, self.reserve_instant() if at is None else at):
            yield

    def reads_clock(self, plan: Relation) -> bool:
        """Whether the answer of a plan changes when time passes."""
        return CLOCK in self.storage.relations.below(plan)
