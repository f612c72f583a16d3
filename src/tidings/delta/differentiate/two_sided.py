"""Δ(A ⟕ B), Δ(A ⋉ B), Δ(A ▷ B): whether a row has a match depends on the rows with its key.

The key are the columns the condition sets equal; other conditions are judged among the rows with the same key.  Without
an equality every row may concern every other, and there is no key.  See :mod:`tidings.delta.keyed`.

Where only A changes, the rows of B that a row of A matches stay what they are, and each row of A is judged by itself:

    Δ(A ⟕ B) = ΔA ⟕ B,   Δ(A ⋉ B) = ΔA ⋉ B,   Δ(A ▷ B) = ΔA ▷ B        if ΔB is empty

No state of A is read then, and of B the rows with the keys of ΔA.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidings.delta.keyed import SINCE, KeyedInput, Lifted, touched
from tidings.delta.versioned import Versioned, plain
from tidings.ir import types
from tidings.ir.expression import WEIGHT, Expression, cast, column, equality, ref
from tidings.ir.relation import Column, OuterJoin, Relation, Restrict, Scan, SemiJoin, Version


def lift(node: OuterJoin | SemiJoin) -> Lifted:
    left, right = node.left, node.right
    assert isinstance(left, Scan)
    assert isinstance(right, Scan)
    pairs = _pairs(node, left, right)
    columns = tuple(Column(f.name, f.type) for f in node.fields)

    def apply(inputs: list[Relation], versions: Relation) -> Relation:
        same = exp.EQ(this=column(left.alias, SINCE), expression=column(right.alias, SINCE))
        return replace(node, left=inputs[0], right=inputs[1], conditions=(same, *node.conditions))

    sides = (KeyedInput(left, tuple(p[0] for p in pairs)), KeyedInput(right, tuple(p[1] for p in pairs)))
    return Lifted(sides, tuple(p[2] for p in pairs), columns, left.alias, apply, first_leads=True)


def is_linear(node: Relation, changed: frozenset[str]) -> bool:
    """Whether only the left side of an outer or semi join changes."""
    return (
        isinstance(node, OuterJoin | SemiJoin) and isinstance(node.right, Scan) and node.right.relation not in changed
    )


def apply(node: OuterJoin | SemiJoin, delta: Versioned) -> Versioned:
    """The delta of the left side, joined with a right side that does not change."""
    left, right = node.left, node.right
    assert isinstance(left, Scan)
    assert isinstance(right, Scan)
    changes = replace(left, version=Version.DELTA)
    old: Relation = replace(right, version=Version.OLD)
    for left_side, right_side, type in _pairs(node, left, right):
        old = Restrict(old, right_side, touched(type, [(changes, left_side)]), null_safe=True)
    rows = Versioned(old, None, column(right.alias, WEIGHT))
    unchanged = plain(right, rows, distinct=isinstance(node, SemiJoin))
    return delta.over(replace(node, left=delta.plan, right=unchanged))


def _pairs(node: OuterJoin | SemiJoin, left: Scan, right: Scan) -> list[tuple[Expression, Expression, str]]:
    """The columns set equal, left and right, with the type in which they compare."""
    of = {f.ref: f.type for f in (*left.fields, *right.fields)}
    pairs = []
    for condition in node.conditions:
        sides = equality(condition)
        if sides is None:
            continue
        left_side, right_side = sides[:2]
        if ref(left_side) in of and ref(left_side)[0] == right.alias:  # type: ignore[index]
            left_side, right_side = right_side, left_side
        first, second = ref(left_side), ref(right_side)
        if first is None or second is None or first[0] != left.alias or second[0] != right.alias:
            continue
        if types.comparable_as_keys(of[first], of[second]):
            pairs.append(
                (left_side, right_side, of[first])
                if of[first] == of[second]
                else (_wide(left_side), _wide(right_side), "bigint")
            )
    return pairs


def _wide(column: Expression) -> Expression:
    return cast(column, "bigint")
