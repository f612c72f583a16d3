"""Rules for names."""

from __future__ import annotations

from sqlglot import exp

from tidings.errors import DuplicateColumn, InvalidName, Place, ReservedName, UnsupportedStatement
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, show_name
from tidings.lang.sql.parse import place


def check_names(names: list[str], at: Place | None) -> None:
    """Refuse reserved and repeated column names."""
    seen: set[str] = set()
    for name in names:
        check_reserved(name, at)
        if name.lower() in seen:
            raise DuplicateColumn(at, name=show_name(name))
        seen.add(name.lower())


def check_reserved(name: str, at: Place | None) -> None:
    """Refuse names that Tidings keeps for itself, and those that no engine or catalog can hold."""
    if name.startswith("__"):
        raise ReservedName(at, name=name)
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in name):
        raise InvalidName(at, name=ascii(name))


def distinct_names(names: tuple[str, ...]) -> list[str]:
    """Names for a plan's columns: those given, a repeated one with a number.

    >>> distinct_names(("a", "b", "A"))
    ['a', 'b', 'A_2']
    """
    out: list[str] = []
    for name in names:
        taken = {n.lower() for n in out}
        numbered = (f"{name}_{n}" for n in range(2, len(names) + 2))
        out.append(name if name.lower() not in taken else next(n for n in numbered if n.lower() not in taken))
    return out


def relation_name(table: Expression, text: str) -> str:
    """The plain name of a table or view that a statement names."""
    if not isinstance(table, exp.Table) or table.db or not isinstance(table.this, exp.Identifier):
        raise UnsupportedStatement(
            place(text, table), "use a plain name", statement=f"a name such as {table.sql(DIALECT)}"
        )
    check_reserved(table.name, place(text, table))
    return table.name
