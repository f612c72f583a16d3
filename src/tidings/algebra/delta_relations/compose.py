"""HiPAC's basic operators: the two sides of a delta relation, what it makes of a relation, and where it comes from.

    Removals~(ΔR) = Project[ΔR, pretilde(R)]        Additions~(ΔR) = Project[ΔR, posttilde(R)]
    Compose(R, ΔR) = (R - Removals(ΔR)) ∪ Additions(ΔR)
    Δdifference(R1, R2) = Outerjoin_tid[pretilde(R1 - R2), posttilde(R2 - R1)]

Here a tuple is told from another by its tid too, so that two tuples of equal values may be different objects.
(R, ΔR) is composable if ΔR is on the schema of R, Removals(ΔR) ⊆ R, and Additions(ΔR) ∩ R = ∅.
"""

from __future__ import annotations

from tidings.algebra.delta_relations.instance import RelationInstance, show_tid
from tidings.algebra.delta_relations.single import DeltaRelation, outer_join
from tidings.algebra.delta_relations.tilde import posttilde, pretilde
from tidings.errors import InvalidExpression, NotComposable


def removals(delta: DeltaRelation, *, tilde: bool = False) -> RelationInstance:
    """The tuples that were deleted or modified, as they were; with ``tilde`` under the names ``~A``."""
    removed = delta.pair().removed
    return pretilde(removed) if tilde else removed


def additions(delta: DeltaRelation, *, tilde: bool = False) -> RelationInstance:
    """The tuples that were inserted or modified, as they are; with ``tilde`` under the names ``A~``."""
    added = delta.pair().added
    return posttilde(added) if tilde else added


def require_composable(relation: RelationInstance, delta: DeltaRelation, name: str = "the relation") -> None:
    """Refuse a delta that is not net for the relation; the error names the tuple."""
    if delta.attributes != relation.attributes:
        ours, theirs = ", ".join(relation.attributes), ", ".join(delta.attributes)
        raise InvalidExpression(reason=f"{name} has the attributes {ours}, and the delta has {theirs}")
    removed = removals(delta)
    for tid, row in removed:
        if relation.tuples.get(tid) != row:
            reason = f"with the tid {show_tid(tid)} is removed, and it is not there"
            raise NotComposable(relation=name, row=row, reason=reason)
    for tid, row in additions(delta):
        if relation.tuples.get(tid) == row:
            reason = f"with the tid {show_tid(tid)} is added, and it is there already"
            raise NotComposable(relation=name, row=row, reason=reason)
        if tid in relation.tuples and tid not in removed.tuples:
            reason = f"is added with the tid {show_tid(tid)}, which is that of {relation.tuples[tid]}"
            raise NotComposable(relation=name, row=row, reason=reason)


def compose(relation: RelationInstance, delta: DeltaRelation, name: str = "the relation") -> RelationInstance:
    """The relation after the changes.

    >>> emp = RelationInstance.of(("Name", "Salary"), ("0123", "Joe", 30), ("0321", "Ann", 28))
    >>> paid = RelationInstance.of(("Name", "Salary"), ("0123", "Joe", 33), ("0321", "Ann", 28))
    >>> compose(emp, delta_difference(emp, paid)) == paid
    True
    """
    require_composable(relation, delta, name)
    gone = removals(delta).tuples
    kept = {tid: row for tid, row in relation.tuples.items() if tid not in gone}
    return RelationInstance(relation.attributes, {**kept, **additions(delta).tuples}, relation.tid)


def delta_difference(old: RelationInstance, new: RelationInstance) -> DeltaRelation:
    """The delta relation that describes how two relations on the same schema differ."""
    new = new.in_order_of(old.attributes)
    gone = [(tid, row) for tid, row in old.tuples.items() if new.tuples.get(tid) != row]
    came = [(tid, row) for tid, row in new.tuples.items() if old.tuples.get(tid) != row]
    return DeltaRelation(old.attributes, frozenset(outer_join(gone, came)))
