"""Δ(A - B), Δ(A ∩ B) as bags or sets: the key is the whole row; see :mod:`tidings.delta.keyed`."""

from __future__ import annotations

from dataclasses import replace

from tidings.delta.keyed import VERSION, KeyedInput, Lifted
from tidings.ir.expression import column
from tidings.ir.relation import Item, Project, Relation, Scan, SetOperation


def lift(node: SetOperation) -> Lifted:
    left, right = node.left, node.right
    assert isinstance(left, Scan)
    assert isinstance(right, Scan)
    columns = node.columns + VERSION

    def apply(inputs: list[Relation], versions: Relation) -> Relation:
        sides = []
        for scan, rows in zip((left, right), inputs, strict=True):
            row = (*(column(scan.alias, c.name) for c in scan.columns), *(column(scan.alias, c.name) for c in VERSION))
            items = (Item(c.name, c.type, e) for c, e in zip(columns, row, strict=True))
            sides.append(Project(rows, f"{scan.alias}_side", tuple(items)))
        return replace(node, left=sides[0], right=sides[1], columns=columns)

    keyed = (KeyedInput(s, tuple(column(s.alias, c.name) for c in s.columns)) for s in (left, right))
    return Lifted(tuple(keyed), tuple(c.type for c in node.columns), node.columns, node.alias, apply, first_leads=True)
