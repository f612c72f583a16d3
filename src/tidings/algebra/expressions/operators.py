"""Operators that users write: a function from relations to a relation, perhaps with an incremental form.

How the change of such an operator is found, in this order:

1. its registered incremental form, which is given the old inputs and their deltas;
2. if it declares a key: the function on the tuples of touched keys only, before and after;
3. the function on all of it, before and after.

A key is a promise: tuples of different keys do not influence each other, and the output has the key among its
attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tidings.algebra.delta_relations.instance import RelationInstance
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.errors import InvalidOperator

OperatorFunction: TypeAlias = Callable[..., RelationInstance]
IncrementalForm: TypeAlias = Callable[[tuple[RelationInstance, ...], tuple[DeltaPair, ...]], DeltaPair]


@dataclass(frozen=True, slots=True)
class UserOperator:
    """A function on relations by its name, with the attributes of what it gives."""

    name: str
    attributes: tuple[str, ...]
    function: OperatorFunction = field(compare=False)
    key: tuple[str, ...] = ()
    incremental: IncrementalForm | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for attribute in self.key:
            if attribute not in self.attributes:
                raise InvalidOperator(
                    name=self.name, reason=f"its output has no attribute {attribute}, which is its key"
                )

    @property
    def method(self) -> str:
        """How its changes are found, in words."""
        if self.incremental is not None:
            return "by its incremental form"
        return f"recomputed per touched {', '.join(self.key)}" if self.key else "recomputed whole"

    def apply(self, inputs: tuple[RelationInstance, ...]) -> RelationInstance:
        """The operator's value."""
        output = self.function(*inputs)
        if set(output.attributes) != set(self.attributes):
            reason = f"it gave the attributes {', '.join(output.attributes)} and declares {', '.join(self.attributes)}"
            raise InvalidOperator(name=self.name, reason=reason)
        return output.in_order_of(self.attributes)

    def changes(self, old: tuple[RelationInstance, ...], deltas: tuple[DeltaPair, ...]) -> DeltaPair:
        """The change of its value when its inputs change."""
        if not any(deltas):
            return DeltaPair.nothing(self.attributes)
        if self.incremental is not None:
            return self.incremental(old, deltas).in_order_of(self.attributes)
        new = tuple(delta.composed(relation) for relation, delta in zip(old, deltas, strict=True))
        if self.key:
            touched = self._touched(deltas)
            old, new = (tuple(self._restricted(side, touched) for side in inputs) for inputs in (old, new))
        return DeltaPair.between(self.apply(old), self.apply(new))

    def _touched(self, deltas: tuple[DeltaPair, ...]) -> set[tuple[object, ...]]:
        """The keys that occur in some delta."""
        keys = set()
        for part in (part for delta in deltas for part in (delta.removed, delta.added)):
            places = [part.place(attribute) for attribute in self.key]
            keys |= {tuple(row[p] for p in places) for row in part.tuples.values()}
        return keys

    def _restricted(self, relation: RelationInstance, touched: set[tuple[object, ...]]) -> RelationInstance:
        places = [relation.place(attribute) for attribute in self.key]
        return relation.filtered(lambda row: tuple(row[p] for p in places) in touched)
