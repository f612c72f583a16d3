"""HiPAC's incremental operators, on its single delta relation, where a tuple is told from another by its tid.

Its ``IncrJoin`` is wrong when both sides change and one of them loses tuples: the three parts overlap, and one joined
tuple is told to have become three different ones.  :func:`published_incr_join` gives these rows as published;
:func:`hipac_incr_join` is right: each side of the delta is made once, of what was and of what is.
"""

from __future__ import annotations

from tidings.algebra.changes.incremental import incr_join
from tidings.algebra.delta_relations.compose import additions, compose, delta_difference, removals
from tidings.algebra.delta_relations.instance import RelationInstance
from tidings.algebra.delta_relations.single import DeltaRelation, DeltaRow, outer_join
from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.evaluate import join, projected_values, selection
from tidings.algebra.expressions.operators import UserOperator


def hipac_incr_select(delta: DeltaRelation, condition: str | Condition) -> DeltaRelation:
    """Outerjoin_tid(σ(Removals~), σ(Additions~)): one pass over the delta."""
    condition = Condition.of(condition)
    old, new = selection(removals(delta), condition), selection(additions(delta), condition)
    return DeltaRelation(delta.attributes, frozenset(outer_join(old.tuples.items(), new.tuples.items())))


def hipac_incr_project(delta: DeltaRelation, attributes: tuple[str, ...]) -> DeltaRelation:
    """Select_differ[Project(ΔR, ~A ∪ A~)]: the projected tuples keep their tids, so equal ones stay apart."""
    old, new = _projected(removals(delta), attributes), _projected(additions(delta), attributes)
    rows = outer_join(old.tuples.items(), new.tuples.items())
    return DeltaRelation(attributes, frozenset(row for row in rows if row.old != row.new))


def left_incr_join(delta: DeltaRelation, right: RelationInstance, on: Condition | None = None) -> tuple[DeltaRow, ...]:
    """The rows for the case that only the left side changes."""
    old, new = join(removals(delta), right, on), join(additions(delta), right, on)
    return tuple(outer_join(old.tuples.items(), new.tuples.items()))


def right_incr_join(left: RelationInstance, delta: DeltaRelation, on: Condition | None = None) -> tuple[DeltaRow, ...]:
    """The rows for the case that only the right side changes."""
    old, new = join(left, removals(delta), on), join(left, additions(delta), on)
    return tuple(outer_join(old.tuples.items(), new.tuples.items()))


def both_incr_join(left: DeltaRelation, right: DeltaRelation, on: Condition | None = None) -> tuple[DeltaRow, ...]:
    """The rows for tuples that changed on both sides."""
    old, new = join(removals(left), removals(right), on), join(additions(left), additions(right), on)
    return tuple(outer_join(old.tuples.items(), new.tuples.items()))


def published_incr_join(
    left: RelationInstance,
    right: RelationInstance,
    left_delta: DeltaRelation,
    right_delta: DeltaRelation,
    on: Condition | None = None,
) -> tuple[DeltaRow, ...]:
    """LeftIncrJoin ∪ RightIncrJoin ∪ Both, as published: rows that need not be a delta relation."""
    parts = (
        *left_incr_join(left_delta, right, on),
        *right_incr_join(left, right_delta, on),
        *both_incr_join(left_delta, right_delta, on),
    )
    return tuple(dict.fromkeys(parts))


def hipac_incr_join(
    left: RelationInstance,
    right: RelationInstance,
    left_delta: DeltaRelation,
    right_delta: DeltaRelation,
    on: Condition | None = None,
) -> DeltaRelation:
    """The changes of a join when both sides may change, as a delta relation."""
    return DeltaRelation.of_pair(incr_join(left, right, left_delta.pair(), right_delta.pair(), on))


def hipac_changes(
    operator: UserOperator, relations: tuple[RelationInstance, ...], deltas: tuple[DeltaRelation, ...]
) -> DeltaRelation:
    """Changes(F; L) by definition: Δdifference(F(R1, …), F(R1', …))."""
    new = tuple(compose(relation, delta) for relation, delta in zip(relations, deltas, strict=True))
    return delta_difference(operator.apply(relations), operator.apply(new))


def _projected(relation: RelationInstance, attributes: tuple[str, ...]) -> RelationInstance:
    """Π with the tid among the attributes."""
    rows = projected_values(relation, attributes)
    return RelationInstance(attributes, dict(zip(relation.tuples, rows, strict=True)))
