"""A few rows of several bases, asked for at once."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.literals import among
from tidings.engine.scalar import quoted
from tidings.engine.several import apart, in_one
from tidings.ir.relation import Column


@dataclass(frozen=True, slots=True)
class Touched:
    """The rows of a base that have one of some keys in a column; without a column all of them."""

    base: str
    columns: tuple[Column, ...]
    column: Column | None
    keys: pa.Array
    nulls: bool
    """Whether rows with NULL in the column are wanted too."""

    def condition(self, language: str) -> str:
        """What its rows have in common, as SQL."""
        if self.column is None:
            return "TRUE"
        name = quoted(self.column.name, language)
        test = among(name, self.keys, self.column.type, language, halves=language == "spark")
        return f"({test} OR {name} IS NULL)" if self.nulls else test


def query(wanted: list[Touched], views: list[str], language: str) -> str:
    """One query for all that is wanted, each of its own view."""
    texts = []
    for one, view in zip(wanted, views, strict=True):
        names = ", ".join(quoted(c.name, language) for c in one.columns)
        texts.append(f"SELECT {names} FROM {view} WHERE {one.condition(language)}")
    return in_one(texts, [one.columns for one in wanted], language)


def answers(rows: pa.Table, wanted: list[Touched]) -> list[pa.Table]:
    """The rows of each."""
    columns = [one.columns for one in wanted]
    return apart(rows, columns, list(map(arrow_schema, columns)))
