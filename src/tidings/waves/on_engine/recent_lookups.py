"""Rows that were looked up in the engine a short while ago, for the next waves that ask for the same.

Views over the same tables look up much the same rows of a batch: the orders of the items that changed, say.  Each
lookup takes a query, so what one wave has fetched serves the others.  A lookup that is made fetches all columns that
any wave has asked for with the same key, so that the first wave of a batch fetches for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.lookups import Lookup
from tidings.engine.base_lookup import BaseLookup
from tidings.store.relation.table import Table
from tidings.waves.step_inputs import having_keys


class _Answer(NamedTuple):
    """The rows of a base that have some keys in a column."""

    base_token: object
    column: str
    nulls: bool
    keys: pa.Array
    rows: pa.Table

    @property
    def nbytes(self) -> int:
        return int(self.rows.nbytes + self.keys.nbytes)


@dataclass(slots=True)
class RecentLookups:
    """The answers of recent lookups, as far as they fit."""

    limit: int
    """So many bytes are cached; what was used longest ago gives way."""
    _answers: list[_Answer] = field(init=False, default_factory=list)
    """The one used last stands last."""
    _columns: dict[tuple[str, str], set[str]] = field(init=False, default_factory=dict)
    """The columns that were asked for of a table, by the table and the column of the keys."""

    def forget(self) -> None:
        """Drop all answers."""
        self._answers.clear()
        self._columns.clear()

    def rows(self, table: Table, lookup: Lookup, keys: pa.Array) -> pa.Table | None:
        """The base rows that a lookup asks for, if they are cached."""
        assert lookup.column is not None
        for place, answer in enumerate(self._answers):
            if (
                answer.base_token == table.base_token
                and answer.column == lookup.column.name
                and (answer.nulls or not lookup.nulls)
                and {c.name for c in lookup.columns}.issubset(answer.rows.column_names)
                and _are_among(keys, answer.keys)
            ):
                self._answers.append(self._answers.pop(place))
                return having_keys(answer.rows, lookup, keys)
        return None

    def lookup(self, table: Table, lookup: Lookup, keys: pa.Array) -> BaseLookup:
        """The lookup that fetches what is asked for, and the columns that others asked for before."""
        assert table.base is not None
        assert lookup.column is not None
        names = self._columns.setdefault((table.name, lookup.column.name), set())
        names |= {lookup.column.name, *(c.name for c in lookup.columns)}
        columns = tuple(c for c in table.columns if c.name in names)
        in_order = lookup.column.name == table.sort_column
        return BaseLookup(table.base, columns, lookup.column, keys, lookup.nulls, in_order)

    def add(self, table: Table, lookup: Lookup, keys: pa.Array, rows: pa.Table) -> None:
        """Cache the rows of a lookup."""
        assert lookup.column is not None
        self._answers.append(_Answer(table.base_token, lookup.column.name, lookup.nulls, keys, rows))
        while sum(answer.nbytes for answer in self._answers) > self.limit:
            del self._answers[0]


def _are_among(keys: pa.Array, others: pa.Array) -> bool:
    """Whether others have all keys; NULL is none."""
    some = keys.drop_null()
    return len(some) <= len(others) and bool(pc.all(pc.is_in(some, value_set=others), min_count=0).as_py())
