"""Several queries as one: a number says to which a row belongs, and the columns of the others are NULL."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import conform
from tidings.engine.scalar import quoted
from tidings.ir.expression import typed_null
from tidings.ir.relation import Column

NUMBER = "__number"


def in_one(queries: list[str], columns: list[tuple[Column, ...]], language: str) -> str:
    """One query for the rows of all; columns of one type share a place."""
    places = _places(columns)
    types = [c.type for c in _shared(columns)]
    branches = []
    for number, (query, own, at) in enumerate(zip(queries, columns, places, strict=True)):
        cells = [typed_null(type).sql(language) for type in types]
        for column, place in zip(own, at, strict=True):
            cells[place] = f"q.{quoted(column.name, language)}"
        listed = ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells))
        branches.append(f"SELECT {number} AS {NUMBER}, {listed} FROM (\n{query}\n) AS q")
    return "\nUNION ALL\n".join(branches)


def apart(rows: pa.Table, columns: list[tuple[Column, ...]], schemas: list[pa.Schema]) -> list[pa.Table]:
    """The rows of each."""
    found = []
    for number, (at, schema) in enumerate(zip(_places(columns), schemas, strict=True)):
        own = rows.filter(pc.equal(rows.column(NUMBER), number))
        found.append(conform(own.select([f"c{place}" for place in at]), schema))
    return found


def _places(columns: list[tuple[Column, ...]]) -> list[list[int]]:
    """Where the columns of each query stand: the first of a type in the first place for it, and so on."""
    shared: dict[tuple[str, int], int] = {}
    found = []
    for own in columns:
        seen: dict[str, int] = {}
        at = []
        for column in own:
            seen[column.type] = seen.get(column.type, 0) + 1
            at.append(shared.setdefault((column.type, seen[column.type]), len(shared)))
        found.append(at)
    return found


def _shared(columns: list[tuple[Column, ...]]) -> list[Column]:
    """The columns of the whole, by type."""
    places = _places(columns)
    found: dict[int, Column] = {}
    for own, at in zip(columns, places, strict=True):
        found |= {place: column for column, place in zip(own, at, strict=True)}
    return [found[place] for place in range(len(found))]
