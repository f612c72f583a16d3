"""Which keyed operator a plan is, ready to be evaluated per version."""

from __future__ import annotations

from typing import assert_never

from tidings.delta.differentiate import aggregate, set_operation, two_sided, window
from tidings.delta.keyed import VERSION, Lifted
from tidings.ir.expression import column
from tidings.ir.relation import (
    Aggregate,
    Column,
    Item,
    Keyed,
    OuterJoin,
    Project,
    Relation,
    SemiJoin,
    SetOperation,
    Window,
)


def keyed_operator(plan: Relation) -> Keyed | None:
    """The keyed operator a plan is, or is a projection of."""
    node = plan.input if isinstance(plan, Project) else plan
    return node if isinstance(node, Aggregate | Window | OuterJoin | SemiJoin | SetOperation) else None


def lift(plan: Relation) -> Lifted:
    """Lift a keyed operator, and the projection around it if there is one."""
    node = keyed_operator(plan)
    assert node is not None, "only keyed operators are lifted"
    operator = _lift(node)
    if not isinstance(plan, Project):
        return operator

    def apply(inputs: list[Relation], versions: Relation) -> Relation:
        version = tuple(Item(c.name, c.type, column(operator.alias, c.name)) for c in VERSION)
        return Project(operator.apply(inputs, versions), plan.alias, plan.items + version)

    columns = tuple(Column(i.name, i.type) for i in plan.items)
    return Lifted(operator.inputs, operator.key_types, columns, plan.alias, apply, operator.first_leads)


def without_key(plan: Relation) -> tuple[str, ...]:
    """The keyed operator a plan is, in words, if it has no key."""
    node = keyed_operator(plan)
    return () if node is None or _lift(node).key_types else (_described(node),)


def _described(node: Keyed) -> str:
    match node:
        case Aggregate():
            return "an aggregate without GROUP BY"
        case Window():
            return "a window or LIMIT without a common PARTITION BY"
        case OuterJoin():
            return "an outer join without an equality"
        case SemiJoin():
            return "NOT IN or an anti join without an equality" if node.anti else "a semi join without an equality"
        case SetOperation():
            return "a set operation"
        case _:
            assert_never(node)


def _lift(node: Keyed) -> Lifted:
    match node:
        case Aggregate():
            return aggregate.lift(node)
        case Window():
            return window.lift(node)
        case OuterJoin() | SemiJoin():
            return two_sided.lift(node)
        case SetOperation():
            return set_operation.lift(node)
        case _:
            assert_never(node)
