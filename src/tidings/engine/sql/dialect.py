"""How engines differ where a plan is printed, and queries of sqlglot's in an engine's own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from tidings.engine.sql.scalar import in_own_words, query_text

Signature: TypeAlias = tuple[tuple[str, ...], str]
"""The types of a function's arguments, and that of its value."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between engines when a plan is printed."""

    name: str
    casts_items: bool
    """Whether computed columns are cast to their types, where the engine's own typing is not Spark's."""
    one_task: bool
    """Whether small work is to be one task; see :mod:`tidings.engine.sql.select`."""
    own: Mapping[str, Signature] = field(default_factory=dict, compare=False)
    """The functions that users have added, by their names in lower case."""
    in_words: bool = False
    """Whether expressions are Spark's and have to be said in the engine's own words (:mod:`tidings.engine.agreed`)."""
    halves: bool = False
    """Whether long lists of keys are searched by halving; see :mod:`tidings.engine.sql.literals`."""
    generates: bool = False
    """Whether constant rows beside others are generated; see :func:`tidings.engine.sql.select.generator`."""


def printed(query: exp.Query, dialect: Dialect) -> str:
    """The text of a query tree in an engine's dialect."""
    return query_text(in_own_words(query, dialect.casts_items), dialect.name)
