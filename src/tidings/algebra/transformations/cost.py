"""How many tuples the active nodes of an expression handle, estimated: what all of them give, added up.

Passive nodes are not computed as a whole, so they do not count; what they leave out matters where a delta meets them.
A selection keeps a tenth.  Each tuple of a delta finds one in an unselected other side of a join.  A delta has ten
tuples unless sizes, by the name of the relation, say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.algebra.changes.nodes import DeltaExpression, IncrJoin, IncrSelect, StoredDelta
from tidings.algebra.changes.text import delta_inputs
from tidings.algebra.expressions.nodes import AlgebraExpression, Selected, inputs_of

DELTA, KEPT = 10, 0.1


def cost(node: DeltaExpression, sizes: Mapping[str, int] | None = None) -> float:
    """The estimated number of tuples that all active nodes of an expression give, each node counted once."""
    nodes: dict[DeltaExpression, None] = {}
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if part not in nodes:
            nodes[part] = None
            waiting += _deltas(part)
    return sum(_size(part, sizes or {}) for part in nodes)


def _size(node: DeltaExpression, sizes: Mapping[str, int]) -> float:
    match node:
        case StoredDelta():
            return sizes.get(node.relation.name, DELTA)
        case IncrSelect():
            return _size(node.delta, sizes) * KEPT ** len(node.condition.parts)
        case IncrJoin():
            left, right = _size(node.left_delta, sizes), _size(node.right_delta, sizes)
            return left * _share(node.right) + right * _share(node.left)
        case _:
            return sum(_size(part, sizes) for part in _deltas(node))


def _share(node: AlgebraExpression) -> float:
    """What selections leave of a passive side."""
    own = KEPT ** len(node.condition.parts) if isinstance(node, Selected) else 1.0
    return own * max((_share(part) for part in inputs_of(node)), default=1.0)


def _deltas(node: DeltaExpression) -> list[DeltaExpression]:
    return [part for part in delta_inputs(node) if not isinstance(part, AlgebraExpression)]
