"""Replace the scan of a view by the view's query.

``scan v`` becomes ``π(query of v)``.  What follows can then treat a query over views as one query over tables:
AMOS calls the result a flat propagation network.  Views named in ``keep`` stay scans; their delta is computed
once by a step of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.ir.relation import Item, Project, Relation, Scan
from tidings.ir.rename import rename
from tidings.ir.traverse import rebuild


def expand_views(plan: Relation, definitions: Mapping[str, Relation], keep: frozenset[str] = frozenset()) -> Relation:
    """Inline views, and the views they read, down to tables."""

    def expand(node: Relation) -> Relation:
        if not isinstance(node, Scan) or node.relation not in definitions or node.relation in keep:
            return node
        prefix = node.alias
        query = rename(definitions[node.relation], lambda alias: f"{prefix}_{alias}")
        by_name = {f.name: f for f in query.fields}
        items = (Item(c.name, c.type, by_name[c.name].expression) for c in node.columns)
        return Project(rebuild(query, expand), prefix, tuple(items))

    return rebuild(plan, expand)
