"""The statements that threads are running, and how they are cancelled: by a time limit, or by another thread.

A cancelled statement ends at the next step at which it can: engines are asked to stop what they run for it, again and
again until it has ended, and :func:`checkpoint` raises :class:`Cancelled` between two steps.  That is no ``Exception``,
so nobody on the way takes it for a failure of a view or a rule; what was begun is rolled back as by Ctrl-C.  Once
something is recorded on disk, nothing is cancelled until memory has it too.

What runs in the background is no statement, and is never cancelled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import RLock, get_ident
from time import monotonic

from tidings.errors import InvalidTimeout, StatementInterrupted, StatementTimeout, TidingsError
from tidings.settlement import Settlement
from tidings.watchdog import TimeLimit, Watchdog

LONGEST = 366 * 86_400.0
"""No time limit is longer, in seconds."""


class Cancelled(BaseException):
    """Ends a statement; leaves the database as the error that says why."""

    def __init__(self, statement: RunningStatement) -> None:
        super().__init__(str(statement.reason))
        self.statement = statement


@dataclass(slots=True, eq=False)
class RunningStatement:
    """What one call of a user's runs, in the thread that called."""

    settlement: Settlement
    seconds: float | None
    """Its time limit."""
    reason: TidingsError | None = field(init=False, default=None)
    """Why it was cancelled."""
    limits: list[TimeLimit] = field(init=False, default_factory=list)
    """What asks it to stop."""
    _begun: float = field(init=False, default_factory=monotonic)
    _thread: int = field(init=False, default_factory=get_ident)
    _stops: list[Callable[[], object]] = field(init=False, default_factory=list)
    _changing: RLock = field(init=False, default_factory=RLock)

    def cancel(self, reason: TidingsError) -> None:
        """Ask what it runs to stop; the first reason counts."""
        self.reason = self.reason or reason
        with self._changing:
            if not self.settlement.is_due_in(self._thread):
                for stop in self._stops:
                    stop()

    def begin(self, stop: Callable[[], object]) -> None:
        """Note how what begins now is stopped."""
        with self._changing:
            self._stops.append(stop)

    def end(self) -> None:
        """Note that what began last has ended; once this returns nobody stops it."""
        with self._changing:
            self._stops.pop()

    def left(self) -> float:
        """How many seconds are left; -1 for any number of them."""
        return -1 if self.seconds is None else max(0.0, self._begun + self.seconds - monotonic())

    def overdue(self) -> StatementTimeout:
        """What is wrong with it once its time is over."""
        return StatementTimeout(seconds=f"{self.seconds:g}")


class _Thread(threading.local):
    """What the present thread runs."""

    def __init__(self) -> None:
        self.statements: tuple[RunningStatement, ...] = ()
        """From the outermost to the innermost."""
        self.is_exempt = False


_thread = _Thread()


@dataclass(slots=True)
class Statements:
    """The statements of one database that are running."""

    settlement: Settlement
    usual: float | None = None
    """The time limit, in seconds, of statements that say none."""
    _running: list[RunningStatement] = field(init=False, default_factory=list)
    _watchdog: Watchdog = field(init=False, default_factory=Watchdog)

    @contextmanager
    def run(self, timeout: float | None = None) -> Iterator[None]:
        """Run a statement inside; one within another has a time limit of its own only if it says one."""
        if _thread.is_exempt or (_thread.statements and timeout is None):
            yield
            return
        statement = RunningStatement(self.settlement, timeout)
        before, _thread.statements = _thread.statements, (*_thread.statements, statement)
        self._running.append(statement)
        try:
            if timeout is not None:
                self._watch(statement, timeout, statement.overdue())
            yield
        except Cancelled as cancelled:
            if cancelled.statement is not statement or statement.reason is None:
                raise
            raise statement.reason from None
        finally:
            _thread.statements = before
            self._running.remove(statement)
            self._forget(statement)

    def interrupt(self) -> int:
        """Cancel all statements that are running; how many these were."""
        running = tuple(self._running)
        for statement in running:
            self._watch(statement, 0.0, StatementInterrupted())
            if statement not in self._running:  # it has ended meanwhile
                self._forget(statement)
        return len(running)

    def _watch(self, statement: RunningStatement, seconds: float, reason: TidingsError) -> None:
        """Cancel a statement after so many seconds, and ask it to stop until it has ended."""
        limit = TimeLimit(monotonic() + seconds, [partial(statement.cancel, reason)])
        statement.limits.append(limit)
        self._watchdog.add(limit)

    def _forget(self, statement: RunningStatement) -> None:
        """Ask a statement no more."""
        for limit in statement.limits:
            self._watchdog.remove(limit)


def is_statement() -> bool:
    """Whether what this thread does is for a statement, which may be cancelled."""
    return bool(_thread.statements)


def checkpoint() -> None:
    """End what this thread runs if it was cancelled, unless something was recorded that memory does not have yet."""
    for statement in _thread.statements:
        if statement.reason is not None and not statement.settlement.is_due:
            raise Cancelled(statement)


@contextmanager
def stopped_by(stop: Callable[[], object]) -> Iterator[None]:
    """Let what an engine runs inside be stopped by a function if the statement it is run for is cancelled."""
    checkpoint()
    statements = _thread.statements
    for statement in statements:
        statement.begin(stop)
    try:
        yield
    finally:
        for statement in statements:
            statement.end()


@contextmanager
def exempt() -> Iterator[None]:
    """Let nothing inside be cancelled: it is of no statement, or has to be done to the end."""
    before = _thread.statements, _thread.is_exempt
    _thread.statements, _thread.is_exempt = (), True
    try:
        yield
    finally:
        _thread.statements, _thread.is_exempt = before


def time_left() -> float:
    """How many seconds the statements of this thread have left; -1 for any number of them."""
    return min((left for s in _thread.statements if (left := s.left()) >= 0), default=-1)


def expired() -> None:
    """End the statement of this thread whose time is over."""
    for statement in _thread.statements:
        if statement.left() == 0:
            statement.reason = statement.reason or statement.overdue()
            raise Cancelled(statement)


def timeout_of(value: object) -> float | None:
    """A time limit as users give it, in seconds."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST:
        raise InvalidTimeout(value=repr(value)[:100])
    return float(value)
