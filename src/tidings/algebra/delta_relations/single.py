"""HiPAC's delta: one relation on the schema ``~tid, ~A…, tid~, A~…``, with what a tuple was and what it is.

An insertion has NULL for what was, a deletion for what is.  A tid stands in one row only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tidings.algebra.delta_relations.instance import RelationInstance, Tid, Values, order, show_tid
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.delta_relations.table_text import table_text
from tidings.algebra.delta_relations.tilde import posttilde, pretilde
from tidings.errors import InvalidDeltaRelation


class DeltaRow(NamedTuple):
    """One row: the tids and the tuples before and after; None where there was or is no tuple."""

    old_tid: Tid | None
    old: Values | None
    new_tid: Tid | None
    new: Values | None

    @property
    def tid(self) -> Tid:
        tid = self.old_tid if self.old_tid is not None else self.new_tid
        assert tid is not None
        return tid


@dataclass(frozen=True, slots=True)
class DeltaRelation:
    """The rows of a delta relation, checked to be one.

    >>> joe = DeltaRow(("0123",), ("Joe", 30), ("0123",), ("Joe", 33))
    >>> print(DeltaRelation(("Name", "Salary"), frozenset({joe})))
    ~tid | ~Name | ~Salary | tid~ | Name~ | Salary~
    -----+-------+---------+------+-------+--------
    0123 | Joe   | 30      | 0123 | Joe   | 33
    """

    attributes: tuple[str, ...]
    rows: frozenset[DeltaRow]

    def __post_init__(self) -> None:
        seen: set[Tid] = set()
        for row in self.rows:
            if reason := _mistake(row, len(self.attributes)):
                raise InvalidDeltaRelation(row=tuple(row), reason=reason)
            if row.tid in seen:
                reason = f"another row has the tid {show_tid(row.tid)}"
                raise InvalidDeltaRelation(row=tuple(row), reason=reason)
            seen.add(row.tid)

    @staticmethod
    def of_pair(pair: DeltaPair) -> DeltaRelation:
        """The outer join of d_R and i_R by tid."""
        rows = outer_join(pair.removed.tuples.items(), pair.added.tuples.items())
        return DeltaRelation(pair.attributes, frozenset(rows))

    def pair(self) -> DeltaPair:
        """The same changes as d_R and i_R."""
        removed = {row.old_tid: row.old for row in self.rows if row.old_tid is not None and row.old is not None}
        added = {row.new_tid: row.new for row in self.rows if row.new_tid is not None and row.new is not None}
        return DeltaPair(RelationInstance(self.attributes, removed), RelationInstance(self.attributes, added))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, with tildes."""
        names = ("tid", *self.attributes)
        return (*map(pretilde, names), *map(posttilde, names))

    @property
    def inserted(self) -> frozenset[DeltaRow]:
        return frozenset(row for row in self.rows if row.old_tid is None)

    @property
    def deleted(self) -> frozenset[DeltaRow]:
        return frozenset(row for row in self.rows if row.new_tid is None)

    @property
    def modified(self) -> frozenset[DeltaRow]:
        return self.rows - self.inserted - self.deleted

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __str__(self) -> str:
        return table_text(self.columns, delta_lines(self.rows, len(self.attributes)))


def outer_join(old: Iterable[tuple[Tid, Values]], new: Iterable[tuple[Tid, Values]]) -> list[DeltaRow]:
    """Outerjoin_tid: tuples with the same tid side by side, the others beside NULL."""
    before, after = dict(old), dict(new)
    rows = [DeltaRow(tid, row, tid if tid in after else None, after.get(tid)) for tid, row in before.items()]
    return rows + [DeltaRow(None, None, tid, row) for tid, row in after.items() if tid not in before]


def delta_lines(rows: Iterable[DeltaRow], width: int) -> list[list[object]]:
    """Rows as lines of a table, in the order of tids."""
    lines: list[list[object]] = []
    for row in sorted(rows, key=lambda row: (order(row.tid), order(row.old or ()), order(row.new or ()))):
        line: list[object] = []
        for tid, values in ((row.old_tid, row.old), (row.new_tid, row.new)):
            line += [None if tid is None else show_tid(tid), *(values if values is not None else [None] * width)]
        lines.append(line)
    return lines


def _mistake(row: DeltaRow, width: int) -> str | None:
    """Why a row is none of a delta relation."""
    if row.old_tid is None and row.new_tid is None:
        return "~tid and tid~ are both NULL"
    if row.old_tid is not None and row.new_tid is not None and row.old_tid != row.new_tid:
        return f"~tid is {show_tid(row.old_tid)}, and tid~ is {show_tid(row.new_tid)}"
    for tid, values, side in ((row.old_tid, row.old, "~tid"), (row.new_tid, row.new, "tid~")):
        if tid is None and values is not None:
            return f"{side} is NULL, and other values on its side are not"
        if values is not None and len(values) != width:
            return f"it has {len(values)} values for {width} attributes"
        if tid is not None and values is None:
            return f"{side} is {show_tid(tid)}, and there is no tuple"
    return None
