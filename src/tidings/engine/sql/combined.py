"""Several queries as one: a number says to which a row belongs, and the columns of the others are NULL."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import conform
from tidings.engine.sql.quoting import quoted
from tidings.ir.expression import typed_null
from tidings.ir.relation import Column

NUMBER = "__number"


def combined(queries: list[str], columns: list[tuple[Column, ...]], language: str) -> str:
    """One query for the rows of all; columns of one type share a place."""
    places = _places(columns)
    types = [c.type for c in _shared(columns)]
    branches = []
    for number, (query, query_columns, at) in enumerate(zip(queries, columns, places, strict=True)):
        cells = [typed_null(type).sql(language) for type in types]
        for column, place in zip(query_columns, at, strict=True):
            cells[place] = f"q.{quoted(column.name, language)}"
        listed = ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells))
        branches.append(f"SELECT {number} AS {NUMBER}, {listed} FROM (\n{query}\n) AS q")
    return "\nUNION ALL\n".join(branches)


def separated(rows: pa.Table, columns: list[tuple[Column, ...]], schemas: list[pa.Schema]) -> list[pa.Table]:
    """The rows of each query, from those of the combined one."""
    tables = []
    for number, (at, schema) in enumerate(zip(_places(columns), schemas, strict=True)):
        part = rows.filter(pc.equal(rows.column(NUMBER), number))
        tables.append(conform(part.select([f"c{place}" for place in at]), schema))
    return tables


def _places(columns: list[tuple[Column, ...]]) -> list[list[int]]:
    """Where the columns of each query stand: the first of a type in the first place for it, and so on."""
    shared: dict[tuple[str, int], int] = {}
    places = []
    for query_columns in columns:
        seen: dict[str, int] = {}
        at = []
        for column in query_columns:
            seen[column.type] = seen.get(column.type, 0) + 1
            at.append(shared.setdefault((column.type, seen[column.type]), len(shared)))
        places.append(at)
    return places


def _shared(columns: list[tuple[Column, ...]]) -> list[Column]:
    """The columns of the combined query, by their places."""
    shared: dict[int, Column] = {}
    for query_columns, at in zip(columns, _places(columns), strict=True):
        shared |= {place: column for column, place in zip(query_columns, at, strict=True)}
    return [shared[place] for place in range(len(shared))]
