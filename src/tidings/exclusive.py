"""Decorators for methods that only one thread may run at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from tidings.errors import ReaderBehind


class Guarded(Protocol):
    """An object with a lock."""

    _mutex: RLock


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


def reading(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Like :func:`exclusive`, and take in what the writer has committed first.

    If the writer removes what is being read, the method runs once more over the new state.
    """

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
