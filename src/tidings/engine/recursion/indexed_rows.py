"""Rows as tuples, with an index per combination of columns, and what has been fetched of a relation by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.ir.relation import Column

FEW = 10
"""Where a key has so many rows on average, all of them are fetched even if a longer key is asked for."""

Row: TypeAlias = tuple[Any, ...]
Positions: TypeAlias = tuple[int, ...]
Fetch: TypeAlias = Callable[[str, Positions, "list[Row] | None"], Iterable[Row]]
"""The rows of a given predicate that have some keys at some positions; all of them for None."""


@dataclass(slots=True)
class IndexedRows:
    """Rows with an index for every combination of positions that was asked for."""

    rows: set[Row] = field(default_factory=set)
    _indexes: dict[Positions, dict[Row, list[Row]]] = field(default_factory=dict)

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if row not in self.rows:
                self.rows.add(row)
                for positions, index in self._indexes.items():
                    index.setdefault(tuple(row[p] for p in positions), []).append(row)

    def remove(self, row: Row) -> None:
        if row in self.rows:
            self.rows.remove(row)
            for positions, index in self._indexes.items():
                index[tuple(row[p] for p in positions)].remove(row)

    def having(self, positions: Positions, key: Row) -> Iterable[Row]:
        if not positions:
            return self.rows
        if positions not in self._indexes:
            index: dict[Row, list[Row]] = {}
            for row in self.rows:
                index.setdefault(tuple(row[p] for p in positions), []).append(row)
            self._indexes[positions] = index
        return self._indexes[positions].get(key, ())


@dataclass(slots=True)
class FetchedRows:
    """What has been fetched of a predicate that no rule defines."""

    name: str
    fetch: Fetch
    is_small: bool = False
    """Whether all rows are fetched as soon as some are asked for."""
    _fetched: IndexedRows = field(default_factory=IndexedRows)
    _known: dict[Positions, set[Row]] = field(default_factory=dict)
    """The keys whose rows are here."""
    _found: dict[Positions, int] = field(default_factory=dict)
    """How many rows were found by these."""
    _whole: bool = False

    def prepare(self, positions: Positions, keys: set[Row]) -> None:
        """Fetch the rows that have some keys, unless they are here."""
        if self._whole:
            return
        if not positions or self.is_small:
            self._fetched.add(self.fetch(self.name, (), None))
            self._whole = True
            return
        missing = keys - self._known.setdefault(positions, set())
        for fewer, known in self._known.items():
            if missing and set(fewer) < set(positions):
                places = [positions.index(p) for p in fewer]
                missing = {key for key in missing if tuple(key[n] for n in places) not in known}
                if missing and self._has_few(fewer):
                    positions, missing = fewer, {tuple(key[n] for n in places) for key in missing}
                    break
        if missing:
            rows = list(self.fetch(self.name, positions, sorted(missing, key=repr)))
            self._fetched.add(rows)
            self._known[positions] |= missing
            self._found[positions] = self._found.get(positions, 0) + len(rows)

    def _has_few(self, positions: Positions) -> bool:
        """Whether the keys at some positions have had few rows each: then their rows serve for longer keys too."""
        return len(self._known[positions]) > 0 and self._found.get(positions, 0) <= FEW * len(self._known[positions])

    def having(self, positions: Positions, key: Row) -> Iterable[Row]:
        return self._fetched.having(positions, key)


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table as tuples."""
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def table_of(columns: tuple[Column, ...], rows: Iterable[Row]) -> pa.Table:
    """Tuples as an Arrow table."""
    schema = arrow_schema(columns)
    values = list(rows)
    arrays = [pa.array([row[n] for row in values], field.type) for n, field in enumerate(schema)]
    return pa.Table.from_arrays(arrays, schema=schema)
