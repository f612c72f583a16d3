"""One thread at a time: methods that must not meet."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from tidings.errors import ReaderBehind


class Guarded(Protocol):
    """An object with a lock of its own."""

    _mutex: RLock


class FollowingReader(Guarded, Protocol):
    """One that may have to look what another process has done."""

    def reload(self) -> object: ...


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Guarded)
T = TypeVar("T", bound=FollowingReader)


def exclusive(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method run only while no other such method of the object does, in any other thread."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with self._mutex:
            return method(self, *args, **named)

    return guarded


def reading(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Like :func:`exclusive`, of the state that the writer has reached; once more if that has just gone."""

    @wraps(method)
    def guarded(self: T, /, *args: P.args, **named: P.kwargs) -> R:
        with self._mutex:
            self.reload()
            try:
                return method(self, *args, **named)
            except ReaderBehind:
                self.reload()
                return method(self, *args, **named)

    return guarded
