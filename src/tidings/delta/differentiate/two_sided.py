"""Δ(A ⟕ B), Δ(A ⋉ B), Δ(A ▷ B): whether a row has a match depends on the rows with its key.

The key are the columns the condition sets equal; other conditions are judged among the rows with the same key.  Without
an equality every row may concern every other, and there is no key.  See :mod:`tidings.delta.keyed`.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidings.delta.keyed import SINCE, KeyedInput, Lifted
from tidings.ir import types
from tidings.ir.expression import Expression, cast, column, equality, ref
from tidings.ir.relation import Column, OuterJoin, Relation, Scan, SemiJoin


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
