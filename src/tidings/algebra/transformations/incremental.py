"""The ten transformations of incremental operators, numbered as in Sentinel's list.

Each goes both ways: ``down`` moves the outer incremental operator towards the leaves, ``up`` away from them.  The
commutative law is its own inverse.

The ninth needs more than the list says.  For Π_A(R1 ⋈ R2) = Π_B(R1) ⋈ Π_C(R2) the attributes by which the sides are
joined must be in A; with A = {a, b} over R1(k, a) ⋈ R2(k, b) the right side would be a product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidings.algebra.changes.nodes import DeltaExpression, IncrDiff, IncrJoin, IncrProject, IncrSelect, IncrUnion
from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.nodes import Joined, Projected, Selected, Subtracted, United
from tidings.algebra.transformations.join_order import reassociated
from tidings.algebra.transformations.refusal import refused, require_within


@dataclass(frozen=True, slots=True)
class Transformation:
    """One equivalence: its number in the list, its name, and both directions."""

    number: int
    name: str
    down: Callable[[DeltaExpression], DeltaExpression]
    up: Callable[[DeltaExpression], DeltaExpression]


def commute_join(node: DeltaExpression) -> DeltaExpression:
    """1: IncrJoin(R1, R2, Δ1, Δ2) = IncrJoin(R2, R1, Δ2, Δ1)"""
    match node:
        case IncrJoin(left, right, left_delta, right_delta, on):
            return IncrJoin(right, left, right_delta, left_delta, on)
    raise refused(1, node, "it is not an IncrJoin")


def associate_join_left(node: DeltaExpression) -> DeltaExpression:
    """2: IncrJoin(R1, R2⋈R3, Δ1, IncrJoin(…)) = IncrJoin(R1⋈R2, R3, IncrJoin(…), Δ3)"""
    match node:
        case IncrJoin(r1, Joined(r2, r3, inner), d1, IncrJoin(s2, s3, d2, d3, inner_delta), outer):
            if (r2, r3, inner) == (s2, s3, inner_delta):
                low, high = reassociated((inner, outer), (*r1.attributes, *r2.attributes))
                return IncrJoin(Joined(r1, r2, low), r3, IncrJoin(r1, r2, d1, d2, low), d3, high)
    raise refused(2, node, "its right side is not a join with the IncrJoin of the same inputs")


def associate_join_right(node: DeltaExpression) -> DeltaExpression:
    """2, the other way."""
    match node:
        case IncrJoin(Joined(r1, r2, inner), r3, IncrJoin(s1, s2, d1, d2, inner_delta), d3, outer):
            if (r1, r2, inner) == (s1, s2, inner_delta):
                low, high = reassociated((inner, outer), (*r2.attributes, *r3.attributes))
                return IncrJoin(r1, Joined(r2, r3, low), d1, IncrJoin(r2, r3, d2, d3, low), high)
    raise refused(2, node, "its left side is not a join with the IncrJoin of the same inputs")


def merge_projects(node: DeltaExpression) -> DeltaExpression:
    """3: IncrProject_A(Π_B(R), IncrProject_B(R, Δ)) = IncrProject_A(R, Δ), if A ⊆ B"""
    match node:
        case IncrProject(Projected(base, b), IncrProject(inner, delta, c), a):
            if base == inner and set(b) == set(c):
                require_within(3, node, a, b, "the attributes of the inner projection")
                return IncrProject(base, delta, a)
    raise refused(3, node, "it is not an IncrProject of a projection and its IncrProject")


def split_project(node: DeltaExpression, through: tuple[str, ...] | None = None) -> DeltaExpression:
    """3, the other way, through a projection to B; without B there is nothing between A and all attributes."""
    match node:
        case IncrProject(base, delta, a):
            b = base.attributes if through is None else through
            require_within(3, node, a, b, "the attributes to project to first")
            return IncrProject(Projected(base, b), IncrProject(base, delta, b), a)
    raise refused(3, node, "it is not an IncrProject")


def merge_selects(node: DeltaExpression) -> DeltaExpression:
    """4: IncrSelect_p(IncrSelect_q(Δ)) = IncrSelect_{p ∧ q}(Δ)"""
    match node:
        case IncrSelect(IncrSelect(delta, inner), outer):
            merged = Condition.all_of((inner, outer))
            assert merged is not None
            return IncrSelect(delta, merged)
    raise refused(4, node, "it is not an IncrSelect of an IncrSelect")


def split_select(node: DeltaExpression) -> DeltaExpression:
    """4, the other way: the first part of the condition outside, the others inside."""
    match node:
        case IncrSelect(delta, condition) if len(condition.parts) > 1:
            first, *others = condition.parts
            rest = Condition.all_of(others)
            assert rest is not None
            return IncrSelect(IncrSelect(delta, rest), first)
    raise refused(4, node, "its condition does not have several parts")


def select_below_project(node: DeltaExpression) -> DeltaExpression:
    """5: IncrSelect_p(IncrProject_A(R, Δ)) = IncrProject_A(σ_p(R), IncrSelect_p(Δ))"""
    match node:
        case IncrSelect(IncrProject(base, delta, a), condition):
            return IncrProject(Selected(base, condition), IncrSelect(delta, condition), a)
    raise refused(5, node, "it is not an IncrSelect of an IncrProject")


def select_above_project(node: DeltaExpression) -> DeltaExpression:
    """5, the other way, if the condition reads attributes of A only."""
    match node:
        case IncrProject(Selected(base, p), IncrSelect(delta, q), a) if p == q:
            require_within(5, node, p.attributes, a, "the projected attributes")
            return IncrSelect(IncrProject(base, delta, a), p)
    raise refused(5, node, "it is not an IncrProject of a selection and its IncrSelect")


def select_below_join(node: DeltaExpression) -> DeltaExpression:
    """6: IncrSelect_{p1 ∧ p2}(IncrJoin(R1, R2, …)) = IncrJoin(σ_p1(R1), σ_p2(R2), …)

    p1 reads attributes of R1 only and p2 those of R2 only.  A part that reads both stays above.
    """
    match node:
        case IncrSelect(IncrJoin(left, right, left_delta, right_delta, on), condition):
            of_left = [p for p in condition.parts if p.attributes <= set(left.attributes)]
            of_right = [p for p in condition.parts if p not in of_left and p.attributes <= set(right.attributes)]
            rest = [p for p in condition.parts if p not in of_left and p not in of_right]
            if not of_left and not of_right:
                raise refused(6, node, "every part of the condition reads attributes of both sides")
            p1, p2 = Condition.all_of(of_left), Condition.all_of(of_right)
            if p1 is not None:
                left, left_delta = Selected(left, p1), IncrSelect(left_delta, p1)
            if p2 is not None:
                right, right_delta = Selected(right, p2), IncrSelect(right_delta, p2)
            joined = IncrJoin(left, right, left_delta, right_delta, on)
            above = Condition.all_of(rest)
            return joined if above is None else IncrSelect(joined, above)
    raise refused(6, node, "it is not an IncrSelect of an IncrJoin")


def select_above_join(node: DeltaExpression) -> DeltaExpression:
    """6, the other way: what is selected on each side of a join."""
    match node:
        case IncrJoin(Selected(left, p), Selected(right, q), IncrSelect(d1, p2), IncrSelect(d2, q2), on):
            if (p, q) == (p2, q2):
                condition = Condition.all_of((p, q))
                assert condition is not None
                return IncrSelect(IncrJoin(left, right, d1, d2, on), condition)
    raise refused(6, node, "it is not an IncrJoin of two selections and their IncrSelects")


def select_below_union(node: DeltaExpression) -> DeltaExpression:
    """7: IncrSelect_p(IncrUnion(R1, R2, …)) = IncrUnion(σ_p(R1), σ_p(R2), …)"""
    match node:
        case IncrSelect(IncrUnion(left, right, d1, d2), p):
            return IncrUnion(Selected(left, p), Selected(right, p), IncrSelect(d1, p), IncrSelect(d2, p))
    raise refused(7, node, "it is not an IncrSelect of an IncrUnion")


def select_above_union(node: DeltaExpression) -> DeltaExpression:
    """7, the other way, if both sides are selected by the same condition."""
    match node:
        case IncrUnion(Selected(left, p), Selected(right, q), IncrSelect(d1, p2), IncrSelect(d2, q2)):
            if p == q == p2 == q2:
                return IncrSelect(IncrUnion(left, right, d1, d2), p)
            raise refused(7, node, "its sides are selected by different conditions")
    raise refused(7, node, "it is not an IncrUnion of two selections and their IncrSelects")


def select_below_difference(node: DeltaExpression) -> DeltaExpression:
    """8: IncrSelect_p(IncrDiff(R1, R2, …)) = IncrDiff(σ_p(R1), σ_p(R2), …)"""
    match node:
        case IncrSelect(IncrDiff(left, right, d1, d2), p):
            return IncrDiff(Selected(left, p), Selected(right, p), IncrSelect(d1, p), IncrSelect(d2, p))
    raise refused(8, node, "it is not an IncrSelect of an IncrDiff")


def select_above_difference(node: DeltaExpression) -> DeltaExpression:
    """8, the other way, if both sides are selected by the same condition."""
    match node:
        case IncrDiff(Selected(left, p), Selected(right, q), IncrSelect(d1, p2), IncrSelect(d2, q2)):
            if p == q == p2 == q2:
                return IncrSelect(IncrDiff(left, right, d1, d2), p)
            raise refused(8, node, "its sides are selected by different conditions")
    raise refused(8, node, "it is not an IncrDiff of two selections and their IncrSelects")


def project_below_join(node: DeltaExpression) -> DeltaExpression:
    """9: IncrProject_A(R1⋈R2, IncrJoin(…)) = IncrJoin(Π_B(R1), Π_C(R2), …), if A has what the sides are joined by

    B and C are the parts of A on either side.
    """
    match node:
        case IncrProject(Joined(r1, r2, p), IncrJoin(s1, s2, d1, d2, q), a) if (r1, r2, p) == (s1, s2, q):
            joined_by = {*Joined(r1, r2).shared, *(p.attributes if p is not None else ())}
            require_within(9, node, joined_by, a, "the projected attributes, and the sides are joined by it")
            b, c = (tuple(name for name in a if name in side.attributes) for side in (r1, r2))
            if set(b) == set(r1.attributes) and set(c) == set(r2.attributes):
                raise refused(9, node, "it projects nothing away")
            if not b or not c:
                raise refused(9, node, "nothing is kept of one side")
            left, right = Projected(r1, b), Projected(r2, c)
            return IncrJoin(left, right, IncrProject(r1, d1, b), IncrProject(r2, d2, c), p)
    raise refused(9, node, "it is not an IncrProject of a join and its IncrJoin")


def project_above_join(node: DeltaExpression) -> DeltaExpression:
    """9, the other way, if the projections do not keep the sides from being joined by all they share."""
    match node:
        case IncrJoin(Projected(r1, b), Projected(r2, c), IncrProject(s1, d1, b2), IncrProject(s2, d2, c2), p):
            if (r1, r2, b, c) == (s1, s2, b2, c2):
                require_within(9, node, Joined(r1, r2).shared, {*b} & {*c}, "what both projections keep")
                a = (*b, *(name for name in c if name not in b))
                return IncrProject(Joined(r1, r2, p), IncrJoin(r1, r2, d1, d2, p), a)
    raise refused(9, node, "it is not an IncrJoin of two projections and their IncrProjects")


def project_below_union(node: DeltaExpression) -> DeltaExpression:
    """10: IncrProject_A(R1∪R2, IncrUnion(…)) = IncrUnion(Π_A(R1), Π_A(R2), …); there is none for differences"""
    match node:
        case IncrProject(United(r1, r2), IncrUnion(s1, s2, d1, d2), a) if (r1, r2) == (s1, s2):
            left, right = IncrProject(r1, d1, a), IncrProject(r2, d2, a)
            return IncrUnion(Projected(r1, a), Projected(r2, a), left, right)
        case IncrProject(Subtracted(), _, _):
            raise refused(10, node, "a tuple that the difference drops may have the same projection as one it keeps")
    raise refused(10, node, "it is not an IncrProject of a union and its IncrUnion")


def project_above_union(node: DeltaExpression) -> DeltaExpression:
    """10, the other way, if both sides are projected to the same attributes."""
    match node:
        case IncrUnion(Projected(r1, b), Projected(r2, c), IncrProject(s1, d1, b2), IncrProject(s2, d2, c2)):
            if (r1, r2, b, c) == (s1, s2, b2, c2) and set(r1.attributes) == set(r2.attributes):
                return IncrProject(United(r1, r2), IncrUnion(r1, r2, d1, d2), b)
    raise refused(10, node, "it is not an IncrUnion of two projections of like relations and their IncrProjects")


TRANSFORMATIONS = (
    Transformation(1, "the commutative law of IncrJoin", commute_join, commute_join),
    Transformation(2, "the associative law of IncrJoin", associate_join_left, associate_join_right),
    Transformation(3, "a cascade of IncrProjects", merge_projects, split_project),
    Transformation(4, "a cascade of IncrSelects", merge_selects, split_select),
    Transformation(5, "IncrSelect and IncrProject", select_below_project, select_above_project),
    Transformation(6, "IncrSelect and IncrJoin", select_below_join, select_above_join),
    Transformation(7, "IncrSelect and IncrUnion", select_below_union, select_above_union),
    Transformation(8, "IncrSelect and IncrDiff", select_below_difference, select_above_difference),
    Transformation(9, "IncrProject and IncrJoin", project_below_join, project_above_join),
    Transformation(10, "IncrProject and IncrUnion", project_below_union, project_above_union),
)
"""All of them, in the order of the list."""
