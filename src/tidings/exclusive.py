"""One thread at a time: methods that must not meet."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Guarded(Protocol):
    """An object with a lock of its own."""

    _mutex: RLock


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Guarded)


def exclusive(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method run only while no other such method of the object does, in any other thread."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with self._mutex:
            return method(self, *args, **named)

    return guarded
