"""Which relations a query mentions, before it is bound."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import Place
from tidings.ir.expression import Expression
from tidings.lang.sql.parse import place


@dataclass(frozen=True, slots=True)
class Mention:
    """A relation as a query writes it, and where."""

    written: str
    place: Place | None


def first_mention(query: Expression, text: str, names: Container[str]) -> Mention | None:
    """The first of some relations that a query mentions; ``names`` are in lower case, with their schema if any."""
    for table in query.find_all(exp.Table):
        if ".".join(part.name for part in table.parts).lower() in names:
            return Mention(table.sql("spark"), place(text, table))
    return None
