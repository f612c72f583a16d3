"""Queries over rows in memory that are asked again and again: DuckDB plans each once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never

import pyarrow as pa

from tidings.engine.duckdb.connection import DuckDBConnection

DATA_BOUND_PASSES: tuple[str, ...] = (
    "statistics_propagation",
    "compressed_materialization",
    "join_filter_pushdown",
    "join_order",
)
"""Passes of DuckDB's optimizer that conclude something from the rows a table has when a query is planned.

The first takes the least and greatest values for granted: with other rows later, groups would fall outside of its
tables and filters would be missing.  The last orders joins by the numbers of rows at that time: right for any rows, and
worth its time where there are many.
"""

JoinOrder: TypeAlias = Literal["crossed", "as written", "by size"]
"""How prepared queries join.

``crossed``: inner joins are filters over cross products; for a few rows that takes a fifth of the time of making hash
tables.  ``by size``: the order is chosen when the query is planned, by the rows that there are then.
"""


PREPARED = 2_000
"""So many queries are prepared at most."""

COLUMN_MEMORY = 64 << 10
"""A column of a table takes DuckDB up to so many bytes, however few rows it has."""


class PreparedQueries:
    """A DuckDB for queries over a few rows that are asked again and again: each is planned once.

    Planning takes DuckDB several times as long as running a query over ten rows.  So the inputs are tables that are
    emptied and filled again, never made anew: any change of its catalog would let all queries be planned again.  A plan
    is used for other rows than it was made for; so passes that take rows for granted are off.  One thread runs
    everything, for to wake another takes longer than the work.

    It takes up to ``memory`` bytes, and prepares up to ``PREPARED`` queries.  What no longer fits begins anew: all
    tables and plans are dropped.
    """

    def __init__(self, *, joins: JoinOrder = "as written", memory: int = 64 << 20) -> None:
        self._memory = memory
        match joins:
            case "crossed":
                self._passes_off = (*DATA_BOUND_PASSES, "filter_pushdown")
            case "as written":
                self._passes_off = DATA_BOUND_PASSES
            case "by size":
                self._passes_off = tuple(p for p in DATA_BOUND_PASSES if p != "join_order")
            case _:
                assert_never(joins)
        self._inputs: dict[str, pa.Table] = {}
        self._names: dict[str, str] = {}
        self._connection = self._connected()

    def _connected(self) -> DuckDBConnection:
        return DuckDBConnection(threads=1, memory=self._memory, passes_off=self._passes_off)

    def fill(self, inputs: Mapping[str, pa.Table]) -> None:
        """Let queries read the rows of some inputs by their names."""
        tables = {**self._inputs, **inputs}
        too_large = sum(rows.num_columns for rows in tables.values()) * COLUMN_MEMORY > self._memory
        if too_large or len(self._names) >= PREPARED:
            self.forget()
        for name, rows in inputs.items():
            self._fill(name, rows)

    def _fill(self, name: str, rows: pa.Table) -> None:
        """Let queries read some rows under a name, unless these are there already."""
        present = self._inputs.pop(name, None)
        if present is not rows:
            whole = rows.combine_chunks()  # one chunk is read in half the time of many
            if present is None or present.schema != rows.schema:
                self._connection.fill(name, whole, anew=True)
            else:
                if present.num_rows:
                    self._connection.execute(f"TRUNCATE {name}")
                if rows.num_rows:
                    self._connection.fill(name, whole, anew=False)
        self._inputs[name] = rows

    def fetch(self, text: str, arguments: Mapping[str, str]) -> pa.Table:
        """The rows of a query; ``arguments`` are SQL for what is ``$name`` in it, of the same types each time."""
        if text not in self._names:
            if len(self._names) >= PREPARED and not self._inputs:
                self.forget()
            name = f"query_{len(self._names)}"
            self._connection.execute(f"PREPARE {name} AS {text}")
            self._names[text] = name
        values = ", ".join(f"{name} := {value}" for name, value in arguments.items())
        return self._connection.fetch(f"EXECUTE {self._names[text]}" + (f"({values})" if values else ""))

    def forget(self) -> None:
        """Drop all inputs and plans."""
        self._inputs.clear()
        self._names.clear()
        self._connection.inner.close()
        self._connection = self._connected()

    def close(self) -> None:
        self._connection.inner.close()
