"""The boundary behind which nothing but Tidings' own errors may leave.

What is raised while a text is read, bound, compiled or run is a condition of :mod:`tidings.errors`, or a mistake of
ours.  A mistake leaves as ``InternalError``, which says what to report, with the exception it came from as its cause.

Procedures of users are called inside, and what they raise is a ``RuleFailed`` before it comes here.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidings.errors import InternalError, Place, StatementTooDeep, TidingsError

_PACKAGE = Path(__file__).parents[1]


@contextmanager
def internal_errors(text: str | None = None) -> Iterator[None]:
    """Let what is raised inside, and is no condition, leave as an ``InternalError`` about a text."""
    try:
        yield
    except (TidingsError, StopIteration):
        raise
    except RecursionError:
        place = Place(text, 0, len(text)) if text else None
        raise StatementTooDeep(place, depth="thousands of", limit="what fits in memory for calls") from None
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # an engine tells it as a failure of its own
            raise error.__cause__ from None
        place = Place(text, 0, len(text)) if text else None
        raise InternalError(place, error=type(error).__name__, reason=str(error), where=_where(error)) from error


def _where(error: Exception) -> str:
    """The last place in this package that an exception came through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(_PACKAGE)]
    if not frames:
        return "a place that is not known"
    return f"{Path(frames[-1].filename).relative_to(_PACKAGE).as_posix()}:{frames[-1].lineno}"
