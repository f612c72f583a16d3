"""A substitution list: the old states of stored relations and what changed of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidings.algebra.delta_relations.instance import RelationInstance
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.delta_relations.single import DeltaRelation
from tidings.algebra.expressions.nodes import AlgebraExpression, Stored, stored_relations
from tidings.algebra.expressions.sources import DatabaseRelation, instance_of
from tidings.errors import UnknownRelation


@dataclass(frozen=True, slots=True)
class SubstitutionList:
    """Relations by name, and their deltas by name; one without a delta did not change.

    A delta may be given in either form.  It is refused if it does not fit: see :class:`DeltaPair`.
    """

    relations: Mapping[str, RelationInstance]
    deltas: Mapping[str, DeltaPair]

    def __post_init__(self) -> None:
        for name, delta in self.deltas.items():
            if name not in self.relations:
                raise UnknownRelation(name=name)
            delta.require_fits(self.relations[name].require_set(name), name)

    @staticmethod
    def of(
        relations: Mapping[str, RelationInstance], deltas: Mapping[str, DeltaPair | DeltaRelation]
    ) -> SubstitutionList:
        pairs = {name: d.pair() if isinstance(d, DeltaRelation) else d for name, d in deltas.items()}
        return SubstitutionList(relations, pairs)

    @staticmethod
    def between(old: Mapping[str, RelationInstance], new: Mapping[str, RelationInstance]) -> SubstitutionList:
        """The list for two states."""
        return SubstitutionList(old, {name: DeltaPair.between(old[name], new[name]) for name in old if name in new})

    @staticmethod
    def of_database(expression: AlgebraExpression, since: Any, until: Any = None) -> SubstitutionList:
        """The list for what happened in a database between two instants to the relations of an expression."""
        leaves = [leaf for leaf in stored_relations(expression) if isinstance(leaf.data, DatabaseRelation)]
        old = {leaf.name: leaf.data.instance(since) for leaf in leaves}
        return SubstitutionList(old, {leaf.name: leaf.data.delta(since, until) for leaf in leaves})

    @property
    def changed(self) -> frozenset[str]:
        """The names of what changed."""
        return frozenset(name for name, delta in self.deltas.items() if delta)

    def old(self, leaf: Stored) -> RelationInstance:
        """R"""
        if leaf.name in self.relations:
            return self.relations[leaf.name]
        if leaf.data is None:
            raise UnknownRelation(name=leaf.name)
        return instance_of(leaf.data, name=leaf.name)

    def new(self, leaf: Stored) -> RelationInstance:
        """R'"""
        delta = self.deltas.get(leaf.name)
        return self.old(leaf) if delta is None else delta.composed(self.old(leaf))

    def delta(self, leaf: Stored) -> DeltaPair:
        """ΔR"""
        delta = self.deltas.get(leaf.name)
        return DeltaPair.nothing(leaf.attributes) if delta is None else delta.in_order_of(leaf.attributes)
