"""Checks that rows do not come before those that they name (``CONSTRAINT name (columns) AFTER table (columns)``).

What a row names must be there when it comes: in its table, or among the rows that come with it, at the same instant or
an earlier one.  A row with a NULL among the columns names nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tidings.engine.row_values import row_keys
from tidings.errors import CheckViolated
from tidings.ir.standard_form import After
from tidings.lang.sql.definition_text import after_text
from tidings.store.key_lookup import KeyLookup
from tidings.store.relation.net import Key
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class Arrival:
    """Rows that come into a table, each at its instant."""

    table: Table
    rows: pa.Table
    times: Sequence[int]

    def keys(self, columns: tuple[str, ...]) -> list[Key]:
        return row_keys(self.rows.select(list(columns)))


def check_after(finder: KeyLookup, relations: Relations, arrivals: Sequence[Arrival]) -> None:
    """Refuse rows that name something that is not there yet."""
    for arrival in arrivals:
        for fact in arrival.table.constraints.after:
            if fact.enforced:
                _check(finder, relations.table(fact.relation), fact, arrival, arrivals)


def _check(finder: KeyLookup, named: Table, fact: After, arrival: Arrival, arrivals: Sequence[Arrival]) -> None:
    came: dict[Key, int] = {}
    for other in arrivals:
        if other.table is named:
            for key, time in zip(other.keys(fact.named), other.times, strict=True):
                came[key] = min(time, came.get(key, time))
    keys = arrival.keys(fact.columns)
    early = [
        n
        for n, (key, time) in enumerate(zip(keys, arrival.times, strict=True))
        if None not in key and not (key in came and came[key] <= time)
    ]
    present = finder.by_key(named, {keys[n] for n in early}) if early else {}
    for n in early:
        if not present[keys[n]]:
            (values,) = arrival.rows.slice(n, 1).to_pylist()
            found = " and ".join(f"{c} is {values[c]!r}" for c in fact.columns)
            raise CheckViolated(
                row=n + 1,
                table=arrival.table.name,
                check=after_text(fact),
                column=", ".join(fact.columns),
                found=f"{found}, which {named.name} does not have yet",
                values=values,
            )
