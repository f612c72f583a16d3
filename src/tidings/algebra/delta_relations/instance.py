"""A relation's tuples at one instant, each with its tid: a unique identifier that never changes.

A tid is a tuple of values.  Tables have tids of one part, or of one per column of their key.  Derived relations get
theirs as the papers define it: a selection and the left side of a difference keep them, a join puts those of both
tuples together, a union does so where both sides have the tuple.  A projection has no identity to pass on, as
several tuples may become one: the system gives the tuple's own values for a tid.

Trap: the tid of a union's tuple changes when one side loses the tuple and the other keeps it, without any change
of the union.  So tids tell tuples apart at one instant; changes are found by values, except where HiPAC says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tidings.algebra.delta_relations.table_text import table_text
from tidings.errors import DuplicateColumn, DuplicateTid, DuplicateTuple, InvalidExpression, UnknownColumn, closest

Tid: TypeAlias = tuple[Hashable, ...]
Values: TypeAlias = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class RelationInstance:
    """Tuples by tid, and the names of their attributes.

    >>> emp = RelationInstance.of(("Name", "Salary"), ("0123", "Joe", 30), ("0456", "Lynn", 40))
    >>> print(emp)
    tid  | Name | Salary
    -----+------+-------
    0123 | Joe  | 30
    0456 | Lynn | 40
    """

    attributes: tuple[str, ...]
    tuples: Mapping[Tid, Values]
    tid: str = "tid"
    """What the column of the tid is called."""
    tids: Mapping[Values, Tid] = field(init=False, repr=False, compare=False)
    """A tid of each tuple."""

    def __post_init__(self) -> None:
        twice = next((a for n, a in enumerate(self.attributes) if a in self.attributes[:n]), None)
        if twice is not None:
            raise DuplicateColumn(name=twice)
        object.__setattr__(self, "tids", {row: tid for tid, row in self.tuples.items()})

    @staticmethod
    def of(attributes: Sequence[str], *tuples: Sequence[Any], name: str = "the relation") -> RelationInstance:
        """A relation of tuples that begin with their tids; a tid of several parts is a tuple."""
        pairs = [(row[0] if isinstance(row[0], tuple) else (row[0],), tuple(map(hashable, row[1:]))) for row in tuples]
        return RelationInstance.of_pairs(attributes, pairs, name)

    @staticmethod
    def of_pairs(
        attributes: Sequence[str], pairs: Iterable[tuple[Tid, Values]], name: str = "the relation"
    ) -> RelationInstance:
        """A relation of tids and tuples; refused if a tid stands for two of them."""
        tuples: dict[Tid, Values] = {}
        for tid, row in pairs:
            if len(row) != len(attributes):
                raise InvalidExpression(reason=f"{row} of {name} does not have one value for each of {attributes}")
            if tuples.setdefault(tid, row) != row:
                raise DuplicateTid(tid=show_tid(tid), relation=name, first=tuples[tid], second=row)
        return RelationInstance(tuple(attributes), tuples)

    @staticmethod
    def by_value(attributes: Sequence[str], rows: Iterable[Values]) -> RelationInstance:
        """The set of some tuples, whose tids the system gives: their values."""
        return RelationInstance(tuple(attributes), {row: row for row in rows})

    def require_set(self, name: str) -> RelationInstance:
        """The same relation; refused if two tids stand for equal tuples."""
        if len(self.tids) < len(self.tuples):
            twice = next((tid, row) for tid, row in self.tuples.items() if self.tids[row] != tid)
            tids = show_tid(twice[0]), show_tid(self.tids[twice[1]])
            raise DuplicateTuple(relation=name, row=twice[1], first=tids[0], second=tids[1])
        return self

    def place(self, attribute: str) -> int:
        """Where an attribute stands."""
        if attribute not in self.attributes:
            raise UnknownColumn(None, closest(attribute, self.attributes), name=attribute)
        return self.attributes.index(attribute)

    def in_order_of(self, attributes: Sequence[str]) -> RelationInstance:
        """The same tuples with their attributes in another order."""
        if tuple(attributes) == self.attributes:
            return self
        if set(attributes) != set(self.attributes):
            theirs, ours = ", ".join(attributes), ", ".join(self.attributes)
            raise InvalidExpression(reason=f"one side has the attributes {theirs}, the other {ours}")
        places = [self.attributes.index(a) for a in attributes]
        return self.mapped(tuple(attributes), lambda row: tuple(row[p] for p in places))

    def mapped(self, attributes: tuple[str, ...], change: Callable[[Values], Values]) -> RelationInstance:
        """Other tuples under the same tids."""
        return RelationInstance(attributes, {tid: change(row) for tid, row in self.tuples.items()}, self.tid)

    def filtered(self, keep: Callable[[Values], bool]) -> RelationInstance:
        """The tuples that are to be kept."""
        kept = {tid: row for tid, row in self.tuples.items() if keep(row)}
        return RelationInstance(self.attributes, kept, self.tid)

    def without(self, other: RelationInstance) -> RelationInstance:
        """R - S by values."""
        gone = other.in_order_of(self.attributes).tids
        return self.filtered(lambda row: row not in gone)

    def common(self, other: RelationInstance) -> RelationInstance:
        """R ∩ S by values, with the tids of R."""
        kept = other.in_order_of(self.attributes).tids
        return self.filtered(lambda row: row in kept)

    @property
    def rows(self) -> frozenset[Values]:
        """The tuples without their tids."""
        return frozenset(self.tids)

    def dicts(self) -> list[dict[str, Any]]:
        """The tuples as dictionaries, in the order of their tids."""
        return [dict(zip(self.attributes, row, strict=True)) for _, row in self]

    def __iter__(self) -> Iterator[tuple[Tid, Values]]:
        """Tids and tuples, in the order of tids."""
        return iter(sorted(self.tuples.items(), key=lambda pair: order(pair[0])))

    def __len__(self) -> int:
        return len(self.tuples)

    def __bool__(self) -> bool:
        return bool(self.tuples)

    def __str__(self) -> str:
        return table_text([self.tid, *self.attributes], ([show_tid(tid), *row] for tid, row in self))


def show_tid(tid: Tid) -> str:
    """A tid as text: its parts with commas between them.

    >>> show_tid(("03", "20"))
    '03,20'
    """
    return ",".join("-" if part is None else str(part) for part in tid)


def order(values: Iterable[object]) -> list[tuple[str, Any]]:
    """What values that may be of unlike types are sorted by."""
    return [("", v) if isinstance(v, int | float) else (type(v).__name__, str(v)) for v in values]


def hashable(value: Any) -> Hashable:
    """A value that can stand in a set: lists become tuples."""
    if isinstance(value, list):
        return tuple(map(hashable, value))
    if isinstance(value, dict):
        return tuple((key, hashable(part)) for key, part in value.items())
    return value  # type: ignore[no-any-return]
