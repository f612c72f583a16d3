"""Cutting a plan into parts at its keyed operators and its conditions on time.

A keyed operator needs the delta of its input several times (for the touched keys, and as part of the input at every
version), so that delta is a step of its own; and what stands above it reads its result's delta like a table's.  A
condition on time has a delta of its own even where no table changes.  Each part is a relation with a definition, as if
it were a view.

Parts that differ in nothing but their aliases are one: a subquery that was made a join brings the rows around it along,
and all their operators would be there twice.
"""

from __future__ import annotations

from tidings.delta.differentiate.lift import keyed_operator
from tidings.ir.relation import Column, During, Fixpoint, Project, Relation, Scan
from tidings.ir.rename import rename
from tidings.ir.traverse import children, with_children


def split_parts(name: str, plan: Relation) -> tuple[Relation, dict[str, Relation]]:
    """The plan over the parts it was cut into, and the parts' definitions, lower ones first."""
    parts: dict[str, Relation] = {}
    known: dict[Relation, str] = {}

    def part(node: Relation) -> Scan:
        """A scan of the node, which becomes a part unless it is a scan already."""
        if isinstance(node, Scan):
            return node
        relation = known.setdefault(_anonymous(node), f"{name}#{len(parts) + 1}")
        parts.setdefault(relation, node)
        return Scan(relation, node.fields[0].alias, tuple(Column(f.name, f.type) for f in node.fields))

    def go(node: Relation, root: bool) -> Relation:
        operator = keyed_operator(node)
        if isinstance(node, Fixpoint):
            parts.setdefault(node.name, node)
            return Scan(node.name, node.alias, node.columns)
        if isinstance(node, During):
            timed = with_children(node, (go(node.input, False),))
            return timed if root else part(timed)
        if operator is None:
            return with_children(node, tuple(go(c, False) for c in children(node)))
        inputs = tuple(part(go(c, False)) for c in children(operator))
        whole: Relation = with_children(operator, inputs)
        if isinstance(node, Project):
            whole = with_children(node, (whole,))
        return whole if root else part(whole)

    return go(plan, True), parts


def _anonymous(plan: Relation) -> Relation:
    """The plan with its aliases numbered, equal for plans that differ in them alone."""
    numbers: dict[str, str] = {}
    return rename(plan, lambda alias: numbers.setdefault(alias, f"a{len(numbers)}"))
