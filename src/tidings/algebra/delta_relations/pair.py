"""Sentinel's delta: two relations on the schema of R, ``d_R`` with what went and ``i_R`` with what came.

The old and the new value of an updated tuple have the same tid.  A delta fits R if it is net:

    d_R ⊆ R        i_R ∩ R = ∅        hence d_R ∩ i_R = ∅
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from tidings.algebra.delta_relations.instance import RelationInstance, Values, order, show_tid
from tidings.algebra.delta_relations.table_text import table_text
from tidings.errors import NotComposable


@dataclass(frozen=True, slots=True)
class DeltaPair:
    """What a relation lost and what it gained.

    >>> old = RelationInstance.of(("value",), ("@01", 799), ("@03", 179))
    >>> new = RelationInstance.of(("value",), ("@03", 700), ("@04", 98))
    >>> print(DeltaPair.between(old, new))
    d: tid | value | i: tid | value
    -------+-------+--------+------
    @01    | 799   | -      | -
    @03    | 179   | @03    | 700
    -      | -     | @04    | 98
    """

    removed: RelationInstance
    added: RelationInstance

    def __post_init__(self) -> None:
        object.__setattr__(self, "added", self.added.in_order_of(self.removed.attributes))

    @staticmethod
    def nothing(attributes: tuple[str, ...]) -> DeltaPair:
        """The delta of a relation that did not change."""
        empty = RelationInstance(attributes, {})
        return DeltaPair(empty, empty)

    @staticmethod
    def between(old: RelationInstance, new: RelationInstance) -> DeltaPair:
        """The difference of two states, by values: the first principle."""
        return DeltaPair(old.without(new), new.in_order_of(old.attributes).without(old))

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.removed.attributes

    @property
    def rows(self) -> tuple[Set[Values], Set[Values]]:
        """The tuples of both parts without tids."""
        return self.removed.rows, self.added.rows

    def in_order_of(self, attributes: tuple[str, ...]) -> DeltaPair:
        """The same changes with the attributes in another order."""
        return DeltaPair(self.removed.in_order_of(attributes), self.added.in_order_of(attributes))

    def require_fits(self, relation: RelationInstance, name: str) -> None:
        """Refuse a delta that is not net for a relation; the error names the tuple that is wrong."""
        for tid, row in self.removed.in_order_of(relation.attributes):
            if relation.tuples.get(tid) != row:
                reason = f"with the tid {show_tid(tid)} is removed, and it is not there"
                raise NotComposable(relation=name, row=row, reason=reason)
        for tid, row in self.added.in_order_of(relation.attributes):
            if row in relation.tids:
                reason = f"with the tid {show_tid(tid)} is added, and it is there already"
                raise NotComposable(relation=name, row=row, reason=reason)
            if tid in relation.tuples and tid not in self.removed.tuples:
                reason = f"is added with the tid {show_tid(tid)}, which is that of {relation.tuples[tid]}"
                raise NotComposable(relation=name, row=row, reason=reason)

    def composed(self, relation: RelationInstance) -> RelationInstance:
        """R' = (R - d_R) ∪ i_R."""
        kept = relation.without(self.removed)
        added = self.added.in_order_of(relation.attributes)
        return RelationInstance.of_pairs(relation.attributes, [*kept.tuples.items(), *added.tuples.items()])

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)

    def __str__(self) -> str:
        header = ["d: tid", *self.attributes, "i: tid", *self.attributes]
        lines: list[list[object]] = []
        for tid in sorted({*self.removed.tuples, *self.added.tuples}, key=order):
            line: list[object] = []
            for part in (self.removed, self.added):
                row = part.tuples.get(tid)
                line += [None] * (1 + len(self.attributes)) if row is None else [show_tid(tid), *row]
            lines.append(line)
        return table_text(header, lines)
