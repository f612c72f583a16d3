"""The lock of a database, and decorators for methods that only one thread may run at a time.

Nobody gets in where going on would do damage: once the database was closed, in a process that was forked from the one
that opened it, and when an interrupt came between what was recorded on disk and what is known in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import wraps
from threading import Condition, RLock, get_ident
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from tidings.engine.stepping_out import SteppingOut
from tidings.errors import DatabaseForked, DatabaseInDoubt, ReaderBehind, TidingsError
from tidings.errors.unexpected import internal_errors
from tidings.logs import INFO, REFUSAL, tell
from tidings.running_statements import Cancelled, Statements, checkpoint, expired, time_left, timeout_of
from tidings.settlement import Settlement


@dataclass(slots=True)
class Mutex:
    """A lock that a thread may take again while it has it, and that refuses all once going on is not possible."""

    settlement: Settlement = field(default_factory=Settlement)
    timeout: float | None = None
    """How many seconds statements may take that do not say it themselves."""
    statements: Statements = field(init=False)
    """What users have called and is running or waits for the lock."""
    refusal: TidingsError | None = field(init=False, default=None)
    """Why nobody is let in any more."""
    refused: dict[str, int] = field(init=False, default_factory=dict)
    """How many calls ended with an error, by condition."""
    _lock: Any = field(init=False, default_factory=RLock)
    _depth: int = field(init=False, default=0)
    """How often the thread that has it has taken it."""
    _process: int = field(init=False, default_factory=os.getpid)
    _first: int | None = field(init=False, default=None)
    """The thread that took it first."""
    _is_shared: bool = field(init=False, default=False)
    """Whether another thread has taken it since."""
    _outside: int = field(init=False, default=0)
    """How many threads have let others in, and come back."""
    _is_closing: bool = field(init=False, default=False)
    _came_back: Condition = field(init=False)

    def __post_init__(self) -> None:
        self.statements = Statements(self.settlement, self.timeout)
        self._came_back = Condition(self)  # type: ignore[arg-type]  # it asks no more of a lock than there is here

    def check(self) -> None:
        """Refuse to go on where that is not possible."""
        if os.getpid() != self._process:
            raise DatabaseForked(opened=self._process, forked=os.getpid())
        if self.refusal is not None:
            raise copy(self.refusal)

    @property
    def is_forked(self) -> bool:
        """Whether this process is another one than that which opened the database."""
        return os.getpid() != self._process

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock, or wait for it, whatever the state of the database is."""
        if not self._lock.acquire(blocking, timeout):
            return False
        self._depth += 1
        if not self._is_shared:
            self._first = self._first or get_ident()
            self._is_shared = self._first != get_ident()
        return True

    def release(self) -> None:
        """Give the lock back."""
        self._depth -= 1
        self._lock.release()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock to end what there is, whatever the state of the database is."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def stepping_out(self) -> SteppingOut | None:
        """How this thread may let others in while it waits for an engine; None if nobody is there, or it may not."""
        return self._stepped_out if self._is_shared and self._depth == 1 and not self._is_closing else None

    @contextmanager
    def _stepped_out(self) -> Iterator[None]:
        self._outside += 1
        state = self._release_save()
        try:
            yield
        finally:
            self._acquire_restore(state)
            self._outside -= 1
            self._came_back.notify_all()

    def wait_for_all(self) -> None:
        """Wait, with the lock, until those who have let others in are back; nobody does it any more."""
        self._is_closing = True
        self._came_back.wait_for(lambda: not self._outside)

    def __enter__(self) -> Mutex:
        self.check()
        if not self.acquire(timeout=time_left()):
            expired()
        try:
            self.check()
            checkpoint()
        except BaseException:
            self.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._depth == 1:
                self._settle(kind, error)
                refused = error.statement.reason if isinstance(error, Cancelled) else error
                if isinstance(refused, TidingsError):
                    self._count(refused)
        finally:
            self.release()

    def _settle(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        """Let nobody in any more if this thread was torn out of what it did after it had recorded something."""
        if kind is not None and self.settlement.is_due and not issubclass(kind, (TidingsError, StopIteration)):
            self.refusal = DatabaseInDoubt(reason=kind.__name__)
        elif isinstance(error, DatabaseInDoubt):
            self.refusal = error
        self.settlement.end()

    def _count(self, error: TidingsError) -> None:
        """Count a call that was refused, and tell of it: where in a text, and not what it says."""
        name, place = error.condition, error.place
        self.refused[name] = self.refused.get(name, 0) + 1
        at = {} if place is None else {"line": place.line, "column": place.column}
        tell(REFUSAL, INFO, "refused: %(condition)s", "refusal", condition=name, **at)

    # what a Condition asks of its lock

    def _release_save(self) -> tuple[int, Any]:
        depth, self._depth = self._depth, 0
        return depth, self._lock._release_save()

    def _acquire_restore(self, state: tuple[int, Any]) -> None:
        depth, saved = state
        self._lock._acquire_restore(saved)
        self._depth = depth

    def _is_owned(self) -> bool:
        return bool(self._lock._is_owned())


class Guarded(Protocol):
    """An object with a lock."""

    _mutex: Mutex


class ReloadingReader(Guarded, Protocol):
    """An object that can take in what another process has committed."""

    def reload(self) -> object: ...


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Guarded)
T = TypeVar("T", bound=ReloadingReader)


def exclusive(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method run only while no other thread runs such a method of the same object."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with self._mutex:
            return method(self, *args, **named)

    return guarded


def running(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Like :func:`exclusive`, for methods that run a text, their first argument, or plans made of texts."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with internal_errors(_text(args)), self._mutex.statements.run(), self._mutex:
            return method(self, *args, **named)

    return guarded


def limited(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Cancel a method once it has taken as long as its argument ``timeout`` says, or else as is usual here.

    This goes around :func:`running` or :func:`reading`: the time it waits for the lock counts too.
    """

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        statements = self._mutex.statements
        timeout = timeout_of(named.get("timeout"))
        with statements.run(statements.usual if timeout is None else timeout):
            return method(self, *args, **named)

    return guarded


def reading(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Like :func:`running`, and take in what the writer has committed first.

    If the writer removes what is being read, the method runs once more over the new state.
    """

    @wraps(method)
    def guarded(self: T, /, *args: P.args, **named: P.kwargs) -> R:
        with internal_errors(_text(args)), self._mutex.statements.run(), self._mutex:
            self.reload()
            try:
                return method(self, *args, **named)
            except ReaderBehind:
                self.reload()
                return method(self, *args, **named)

    return guarded


def _text(args: tuple[object, ...]) -> str | None:
    return args[0] if args and isinstance(args[0], str) else None
