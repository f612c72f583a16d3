"""A few rows of several bases, asked for at once."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.literals import among
from tidings.engine.scalar import quoted
from tidings.ir.expression import typed_null
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


def in_one_query(wanted: list[Touched], views: list[str], language: str) -> str:
    """One query for all that is wanted: a number says which, and the columns of the others are NULL."""
    branches = []
    for place, (one, view) in enumerate(zip(wanted, views, strict=True)):
        cells = [f"{place} AS n"]
        for number, other in enumerate(wanted):
            for n, column in enumerate(other.columns):
                value = quoted(column.name, language) if number == place else typed_null(column.type).sql(language)
                cells.append(f"{value} AS c{number}_{n}")
        branches.append(f"SELECT {', '.join(cells)} FROM {view} WHERE {one.condition(language)}")
    return "\nUNION ALL\n".join(branches)


def apart(rows: pa.Table, wanted: list[Touched]) -> list[pa.Table]:
    """The answers of such a query, one table each."""
    found, numbers = [], rows.column("n").to_pylist()
    for place, one in enumerate(wanted):
        own = pa.array([at for at, number in enumerate(numbers) if number == place], pa.int64())
        part = rows.select([f"c{place}_{n}" for n in range(len(one.columns))]).take(own)
        found.append(conform(part, arrow_schema(one.columns)))
    return found
