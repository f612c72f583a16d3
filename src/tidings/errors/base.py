"""What all error conditions have in common: parameters, a place in the text, a hint, and how they are shown.

Tests assert the class and its parameters, never the prose.  ``str(error)`` renders the sentence, the offending line
with a caret below it, and the hint, so that an error is readable wherever it surfaces.  What may be a secret in a URL
is covered there; the parameters have it as it was.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tidings.masking import covered


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch ``[start, end)`` of a statement's text."""

    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def caret(self) -> str:
        """The line that holds the place, with carets under it.

        >>> print(Place("SELECT itm\\nFROM t", 7, 10).caret())
        line 1, column 8
        | SELECT itm
        |        ^^^
        """
        first = self.text.rfind("\n", 0, self.start) + 1
        last = self.text.find("\n", self.start)
        line = self.text[first : last if last >= 0 else len(self.text)]
        width = max(1, min(self.end, first + len(line)) - self.start)
        indent = "".join("\t" if c == "\t" else " " for c in line[: self.start - first])
        return f"line {self.line}, column {self.column}\n| {covered(line)}\n| {indent}{'^' * width}"


def _rebuilt(
    kind: type[TidingsError], place: Place | None, hint: str | None, parameters: dict[str, Any]
) -> TidingsError:
    """An error as it was before it was copied, or sent to another process."""
    return kind(place, hint, **parameters)


class TidingsError(Exception):
    """Something Tidings refuses."""

    hint_template: str | None = None
    retryable = False
    """Whether the same may succeed if it is begun again, with nothing else changed."""

    def __init__(self, place: Place | None = None, hint: str | None = None, **parameters: object) -> None:
        self.parameters = parameters
        self.place = place
        self.statement: str | None = None
        """Which of several statements it is about."""
        template = self.hint_template
        self.hint = hint or (template.format(**parameters) if template else None)
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.place, self.hint, self.parameters)

    @property
    def condition(self) -> str:
        """The condition's name, as users and tests refer to it."""
        return type(self).__name__

    @property
    def message(self) -> str:
        return covered((inspect.getdoc(type(self)) or "").format(**self.parameters))

    def __str__(self) -> str:
        parts = [f"{self.condition}: {self.message}"]
        if self.place is not None:
            parts.append(self.place.caret())
        if self.statement is not None:
            parts.append(covered(f"in {self.statement}"))
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


class InternalError(TidingsError):
    """Something went wrong inside Tidings: {error} at {where}: {reason}"""

    hint_template = (
        "this is a mistake of Tidings, and the database goes on working; please report it, with the statement, the "
        "definitions of what it reads, this message and the traceback"
    )


def closest(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest known name, or all of them where none is close.

    >>> closest("itm", ["item", "qty"]), closest("zzz", ["item", "qty"]), closest("zzz", [])
    ('did you mean item?', 'known here: item, qty', None)
    """
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    if close:
        return f"did you mean {by_lower[close[0]]}?"
    return f"known here: {', '.join(by_lower.values())}" if by_lower else None
