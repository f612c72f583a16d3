"""Rules for names.

Views and tables that a session of the engine has beside the database's relations go by names of their own.  What is
asked now, and statements that change rows, may read them.  What is kept may not: nobody tells when they change.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.errors import DuplicateColumn, InvalidName, Place, ReservedName, UnsupportedStatement
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, show_name
from tidings.lang.sql.parse import place

_OF_SESSION = "__session."


def in_session(name: str) -> str:
    """The name under which a plan scans a relation of the session; no relation of a database has such a name."""
    return f"{_OF_SESSION}{name}"


def session_name(relation: str) -> str | None:
    """What the session calls a relation that a plan scans; None if it is one of the database.

    >>> session_name(in_session("updates")), session_name("items")
    ('updates', None)
    """
    return relation.removeprefix(_OF_SESSION) if relation.startswith(_OF_SESSION) else None


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
