"""Which views are worth a step of their own although nobody asked for one.

A view that is read twice and put in place twice brings all its steps twice.  For a linear view that is well: it is no
more than a part of a join, and merges with what stands around it.  A view with keyed operators below it is shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tidings.delta.differentiate.lift import keyed_operator
from tidings.ir.relation import Relation, Scan
from tidings.ir.traverse import walk


def shared_views(query: Relation, definitions: Mapping[str, Relation]) -> frozenset[str]:
    """The views with keyed operators that a query reads more than once, itself or through other views."""
    uses: Counter[str] = Counter()

    def is_keyed(plan: Relation) -> bool:
        """Whether there is a keyed operator in a plan or below it; every view is looked into once."""
        any_keyed = False
        for node in walk(plan):
            any_keyed = any_keyed or keyed_operator(node) is not None
            if isinstance(node, Scan) and node.relation in definitions:
                uses[node.relation] += 1
                if uses[node.relation] == 1:
                    keyed[node.relation] = is_keyed(definitions[node.relation])
                any_keyed = any_keyed or keyed[node.relation]
        return any_keyed

    keyed: dict[str, bool] = {}
    is_keyed(query)
    return frozenset(view for view, times in uses.items() if times > 1 and keyed[view])
