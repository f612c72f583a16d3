"""Lookups of a few rows in several bases, run as one query."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.sql.combined import combined, separated
from tidings.engine.sql.literals import among
from tidings.engine.sql.quoting import quoted
from tidings.ir.relation import Column


@dataclass(frozen=True, slots=True)
class BaseLookup:
    """The rows of a base that have one of some keys in a column; without a column all of them."""

    base: str
    columns: tuple[Column, ...]
    column: Column | None
    keys: pa.Array
    nulls: bool
    """Whether rows with NULL in the column are looked up too."""
    in_order: bool = False
    """Whether the base is in the order of the column: rows with near keys stand together."""

    def condition(self, language: str) -> str:
        """The condition its rows meet, as SQL."""
        if self.column is None:
            return "TRUE"
        name = quoted(self.column.name, language)
        test = among(name, self.keys, self.column.type, language, halves=language == "spark")
        return f"({test} OR {name} IS NULL)" if self.nulls else test


def lookup_query(lookups: list[BaseLookup], views: list[str], language: str) -> str:
    """One query for all lookups; ``views`` are the names under which their bases are read."""
    texts = [lookup_text(lookup, view, language) for lookup, view in zip(lookups, views, strict=True)]
    return combined(texts, [lookup.columns for lookup in lookups], language)


def lookup_text(lookup: BaseLookup, view: str, language: str) -> str:
    """The query of one lookup, with its keys as literals."""
    names = ", ".join(quoted(c.name, language) for c in lookup.columns)
    return f"SELECT {names} FROM {view} WHERE {lookup.condition(language)}"


def lookup_answers(rows: pa.Table, lookups: list[BaseLookup]) -> list[pa.Table]:
    """The rows of each lookup, from those of the one query."""
    columns = [lookup.columns for lookup in lookups]
    return separated(rows, columns, list(map(arrow_schema, columns)))
