"""Decorators for methods that only one thread may run at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from tidings.errors import ReaderBehind
from tidings.internal_errors import internal_errors


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


def running(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Like :func:`exclusive`, for methods that run a text, their first argument, or plans made of texts."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with internal_errors(_text(args)), self._mutex:
            return method(self, *args, **named)

    return guarded


def reading(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Like :func:`running`, and take in what the writer has committed first.

    If the writer removes what is being read, the method runs once more over the new state.
    """

    @wraps(method)
    def guarded(self: T, /, *args: P.args, **named: P.kwargs) -> R:
        with internal_errors(_text(args)), self._mutex:
            self.reload()
            try:
                return method(self, *args, **named)
            except ReaderBehind:
                self.reload()
                return method(self, *args, **named)

    return guarded


def _text(args: tuple[object, ...]) -> str | None:
    return args[0] if args and isinstance(args[0], str) else None
