"""Make nested unions one: ``(A ⊎ B) ⊎ C = A ⊎ B ⊎ C``."""

from __future__ import annotations

from dataclasses import replace

from tidings.ir.relation import Relation, Union
from tidings.ir.traverse import rebuild


def flatten_unions(plan: Relation) -> Relation:
    """Lift the branches of a union's union branches; withheld nowhere, the columns correspond by position."""

    def flatten(node: Relation) -> Relation:
        if not isinstance(node, Union) or not any(isinstance(i, Union) for i in node.inputs):
            return node
        branches = (i.inputs if isinstance(i, Union) else (i,) for i in node.inputs)
        return replace(node, inputs=tuple(b for group in branches for b in group))

    return rebuild(plan, flatten)
