"""How much transactions see of each other."""

from __future__ import annotations

from enum import StrEnum

from tidings.errors import InvalidIsolation


class Isolation(StrEnum):
    """The isolation level of a transaction."""

    READ_COMMITTED = "read committed"
    """Every statement sees what was committed when it ran."""
    SERIALIZABLE = "serializable"
    """A commit is refused if what the transaction read has changed since: it is as if it had run alone, then."""


def read_isolation(name: str) -> Isolation:
    """The level of a name, in any case.

    >>> read_isolation("Serializable")
    <Isolation.SERIALIZABLE: 'serializable'>
    """
    try:
        return Isolation(" ".join(str(name).lower().split()))
    except ValueError:
        raise InvalidIsolation(name=str(name)[:100]) from None
