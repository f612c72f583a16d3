"""Rules for names."""

from __future__ import annotations

from tidings.errors import DuplicateColumn, Place, ReservedName
from tidings.ir.expression import show_name


def check_names(names: list[str], at: Place | None) -> None:
    """Refuse reserved and repeated column names."""
    seen: set[str] = set()
    for name in names:
        check_reserved(name, at)
        if name.lower() in seen:
            raise DuplicateColumn(at, name=show_name(name))
        seen.add(name.lower())


def check_reserved(name: str, at: Place | None) -> None:
    if name.startswith("__"):
        raise ReservedName(at, name=name)


def kept_apart(names: tuple[str, ...]) -> list[str]:
    """Names for a plan's columns: those given, a repeated one with a number.

    >>> kept_apart(("a", "b", "A"))
    ['a', 'b', 'A_2']
    """
    out: list[str] = []
    for name in names:
        taken = {n.lower() for n in out}
        numbered = (f"{name}_{n}" for n in range(2, len(names) + 2))
        out.append(name if name.lower() not in taken else next(n for n in numbered if n.lower() not in taken))
    return out
