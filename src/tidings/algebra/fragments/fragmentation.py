"""How a relation is cut into fragments, and the way there and back for changes.

    horizontal   R = R1 ∪ R2     each fragment has the tuples for which its condition is true
    vertical     R = R1 ⋈ R2     each fragment has some attributes and the key

A part of a fragmentation may be one itself, which makes it hybrid.  The delta of the whole follows from the deltas of
the fragments by the two lemmas: ΔR = IncrUnion(R1, R2, ΔR1, ΔR2), ΔR = IncrJoin(R1, R2, ΔR1, ΔR2).  Nothing is put
together for it.  A change of the whole is routed to fragments by their conditions or by their attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from tidings.algebra.changes.chain_rule import chain_rule
from tidings.algebra.changes.incremental import delta_of
from tidings.algebra.changes.substitution import SubstitutionList
from tidings.algebra.delta_relations.instance import RelationInstance
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.evaluate import row_of
from tidings.algebra.expressions.nodes import AlgebraExpression, Joined, Stored, United, require_known, require_same
from tidings.errors import InvalidFragmentation, NoFragment


@dataclass(frozen=True, slots=True)
class Fragment:
    """A stored relation at a site; ``condition`` says which tuples it has, None that it may have all."""

    relation: Stored
    site: str = "local"
    condition: Condition | None = None

    def __post_init__(self) -> None:
        if self.condition is not None:
            require_known(self.condition.attributes, self.relation.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.relation.attributes


@dataclass(frozen=True, slots=True)
class Horizontal:
    """R = R1 ∪ R2 ∪ …"""

    parts: tuple[Fragmentation, ...]

    def __post_init__(self) -> None:
        _require_several(self.parts)
        for part in self.parts[1:]:
            require_same(self.parts[0].attributes, part.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.parts[0].attributes


@dataclass(frozen=True, slots=True)
class Vertical:
    """R = R1 ⋈ R2 ⋈ … by a key that every part has, and nothing else that two have."""

    parts: tuple[Fragmentation, ...]
    key: tuple[str, ...]

    def __post_init__(self) -> None:
        _require_several(self.parts)
        seen: set[str] = set()
        for part in self.parts:
            require_known(self.key, part.attributes)
            own = set(part.attributes) - set(self.key)
            if own & seen:
                raise InvalidFragmentation(
                    reason=f"two parts have {', '.join(sorted(own & seen))}, which is not the key"
                )
            seen |= own

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.attributes))


Fragmentation: TypeAlias = Fragment | Horizontal | Vertical


def whole(fragmentation: Fragmentation) -> AlgebraExpression:
    """The expression that puts the relation together."""
    match fragmentation:
        case Fragment():
            return fragmentation.relation
        case Horizontal():
            return reduce(United, map(whole, fragmentation.parts))
        case Vertical():
            return reduce(Joined, map(whole, fragmentation.parts))


def fragments(fragmentation: Fragmentation) -> tuple[Fragment, ...]:
    """The fragments, from left to right."""
    if isinstance(fragmentation, Fragment):
        return (fragmentation,)
    return tuple(fragment for part in fragmentation.parts for fragment in fragments(part))


def delta_of_whole(fragmentation: Fragmentation, substitutions: SubstitutionList) -> DeltaPair:
    """The delta of the relation from the deltas of its fragments, by the two lemmas."""
    return delta_of(chain_rule(whole(fragmentation)), substitutions)


def routed(fragmentation: Fragmentation, delta: DeltaPair) -> Mapping[str, DeltaPair]:
    """A change of the relation as changes of its fragments, by the names of their relations.

    What an update does not touch in a vertical fragment is no change there.  A tuple that belongs to no horizontal
    part, or to several, is refused.
    """
    shares: dict[str, DeltaPair] = {}
    removed, added = (_routed(fragmentation, side) for side in (delta.removed, delta.added))
    for fragment in fragments(fragmentation):
        name, nothing = fragment.relation.name, RelationInstance(fragment.attributes, {})
        gone, come = removed.get(name, nothing), added.get(name, nothing)
        shares[name] = DeltaPair(gone.without(come), come.without(gone))
    return shares


def _routed(fragmentation: Fragmentation, tuples: RelationInstance) -> dict[str, RelationInstance]:
    match fragmentation:
        case Fragment():
            return {fragmentation.relation.name: tuples.in_order_of(fragmentation.attributes)}
        case Vertical():
            shares: dict[str, RelationInstance] = {}
            for part in fragmentation.parts:
                shares |= _routed(part, _cut(tuples, part.attributes))
            return shares
        case Horizontal():
            shares = {}
            homes = {tid: _home(fragmentation, row_of(tuples, row)) for tid, row in tuples.tuples.items()}
            for place, part in enumerate(fragmentation.parts):
                own = {tid: row for tid, row in tuples.tuples.items() if homes[tid] == place}
                shares |= _routed(part, RelationInstance(tuples.attributes, own))
            return shares


def _cut(tuples: RelationInstance, attributes: tuple[str, ...]) -> RelationInstance:
    """Tuples with some of their attributes, under the tids they have."""
    places = [tuples.place(name) for name in attributes]
    return tuples.mapped(attributes, lambda row: tuple(row[place] for place in places))


def _home(fragmentation: Horizontal, row: Mapping[str, object]) -> int:
    """Which part a tuple belongs to."""
    homes = [place for place, part in enumerate(fragmentation.parts) if _takes(part, row)]
    if len(homes) != 1:
        reason = "no fragment takes it" if not homes else "several fragments take it"
        raise NoFragment(row=dict(row), reason=reason)
    return homes[0]


def _takes(fragmentation: Fragmentation, row: Mapping[str, object]) -> bool:
    match fragmentation:
        case Fragment():
            return fragmentation.condition is None or fragmentation.condition.holds(row)
        case Horizontal():
            return any(_takes(part, row) for part in fragmentation.parts)
        case Vertical():
            return all(_takes(part, row) for part in fragmentation.parts)


def _require_several(parts: tuple[Fragmentation, ...]) -> None:
    if len(parts) < 2:
        raise InvalidFragmentation(reason="there are fewer than two parts")
    names = [fragment.relation.name for part in parts for fragment in fragments(part)]
    if len(set(names)) < len(names):
        raise InvalidFragmentation(reason="a relation is two of its fragments")
