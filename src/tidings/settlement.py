"""Which thread has recorded something on disk that memory may not have yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident

from tidings.errors import DatabaseInDoubt


@dataclass(slots=True)
class Settlement:
    """Which thread has recorded something on disk that memory may not have yet."""

    _thread: int | None = None

    def begin(self) -> None:
        """Note that this thread is about to record something."""
        self._thread = get_ident()

    def end(self) -> None:
        """Note that memory has what this thread has recorded, or that nothing was recorded."""
        if self._thread == get_ident():
            self._thread = None

    @property
    def is_due(self) -> bool:
        """Whether this thread has recorded something that memory may not have."""
        return self._thread == get_ident()

    @contextmanager
    def settling(self) -> Iterator[None]:
        """Memory has what is recorded inside once that is over; what was due before still is."""
        was_due = self.is_due
        yield
        if not was_due:
            self.end()

    def is_due_in(self, thread: int) -> bool:
        """The same of another thread."""
        return self._thread == thread


@contextmanager
def taking_in() -> Iterator[None]:
    """Let memory have what was recorded on disk; where that fails, nobody goes on with what memory has."""
    try:
        yield
    except Exception as error:
        raise DatabaseInDoubt(reason=str(error)) from error
