"""Knows which rows a continuous query has delivered.

They are in the table of its answers: the older ones in its base, where they are looked up, the others in its log, whose
rows are kept here as a set.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from tidings.engine.row_values import row_keys
from tidings.ir.relation import Version
from tidings.store.key_lookup import KeyLookup
from tidings.store.relation.net import Row
from tidings.store.relation.table import Table


@dataclass(slots=True)
class _LoggedRows:
    """The rows of a log that the base does not have."""

    base: object
    """Stands for the base."""
    until: int
    """The last instant whose rows are there."""
    rows: set[Row] = field(default_factory=set)


@dataclass(slots=True)
class DeliveredRows:
    """Knows what the continuous queries of one database have delivered."""

    lookup: KeyLookup
    _logged: dict[int, _LoggedRows] = field(init=False, default_factory=dict)
    """By the number of the table."""

    def new(self, answers: Table, matches: pa.Table, columns: list[str]) -> pa.Table:
        """Those of some matches whose rows, the values of some columns, have not been delivered."""
        if not matches.num_rows:
            return matches
        sought = matches.select(columns)
        logged = self._rows_in_log(answers, columns)
        in_base = set(row_keys(self.lookup.base_rows(answers, sought).select(columns)))
        is_new = [row not in logged and row not in in_base for row in row_keys(sought)]
        return matches.filter(pa.array(is_new, pa.bool_()))

    def _rows_in_log(self, answers: Table, columns: list[str]) -> set[Row]:
        known = self._logged.get(answers.id)
        if known is None or known.base is not answers.base_token or known.until > answers.last:
            known = self._logged[answers.id] = _LoggedRows(answers.base_token, answers.base_time)
        if known.until < answers.last:
            changes = answers.source(Version.DELTA, known.until, answers.last).changes
            assert isinstance(changes, pa.Table)
            known.rows.update(row_keys(changes.select(columns)))
            known.until = answers.last
        return known.rows
