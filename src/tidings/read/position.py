"""Positions in the changes of a database: an instant, and the branch of history it was told on.

Every writer that opens a database begins a branch with a name of its own, and the catalog knows those it consists of.
A copy that is put back, and goes on, does not know the branches that were lost with what came after it.
"""

from __future__ import annotations

from typing import Any

from tidings.clock import instant_of
from tidings.errors import InvalidInstant


class Position(int):
    """An instant in microseconds that knows on which branch of history it was told.

    >>> position = Position(200, "5c1f")
    >>> position, position.token, Position.read("200@5c1f").branch
    (200, '200@5c1f', '5c1f')
    """

    branch: str

    def __new__(cls, instant: int, branch: str = "") -> Position:
        position = super().__new__(cls, instant)
        position.branch = branch
        return position

    @property
    def token(self) -> str:
        """The position as a text, to be stored and given as ``since`` later."""
        return f"{int(self)}@{self.branch}" if self.branch else str(int(self))

    @classmethod
    def read(cls, token: str) -> Position:
        """The inverse of :attr:`token`; a ValueError if it is none."""
        instant, _, branch = token.partition("@")
        return cls(int(instant), branch)

    @classmethod
    def of(cls, since: object) -> int:
        """What a user gives: an instant, or the token of a position."""
        if not isinstance(since, str) or "@" not in since:
            return instant_of(since)
        try:
            return cls.read(since)
        except ValueError:
            raise InvalidInstant(value=repr(since)[:100]) from None

    def __reduce__(self) -> tuple[type[Position], tuple[Any, ...]]:
        return Position, (int(self), self.branch)
