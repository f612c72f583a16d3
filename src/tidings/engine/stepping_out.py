"""Letting other threads in while an engine computes an answer, whose inputs nobody can change any more.

A thread that asks prepares what it reads with the lock of the database.  An engine that can see this state to the end,
whatever others do meanwhile, then computes the answer without the lock.  Where it cannot after all, it raises
:class:`AskedAgain`, and the question is put once more, with the lock and over the state that is there by then.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias

SteppingOut: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Lets other threads in, for as long as the context lasts."""


class AskedAgain(Exception):
    """An answer could not be computed without the lock; never leaves the database."""
