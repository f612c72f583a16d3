"""The operator graph of an expression: shared parts once, nodes numbered from the leaves up.

A leaf is active if it stands for what an event brings: a delta, or a relation that is said to change.  Whatever is
above an active node is active; the rest is passive, and need not be computed as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidings.algebra.changes.nodes import Changes, DeltaExpression, StoredDelta
from tidings.algebra.changes.text import AnyExpression, any_inputs, any_label
from tidings.algebra.expressions.nodes import AlgebraExpression, Stored, stored_relations
from tidings.algebra.graphs.drawing import svg


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node: its number, what it does, the numbers of its inputs, and whether it is active."""

    number: int
    label: str
    inputs: tuple[int, ...]
    active: bool


@dataclass(frozen=True, slots=True)
class SignalGraph:
    """The nodes in an order in which inputs come first; the last one is the root."""

    nodes: tuple[GraphNode, ...]

    @property
    def root(self) -> GraphNode:
        return self.nodes[-1]

    def text(self) -> str:
        """A tree of lines; ``*`` stands before what is active.

        >>> from tidings.algebra.expressions.sources import relation
        >>> emp, dept = relation("emp", "name", "dept"), relation("dept", "dept", "floor")
        >>> print(signal_graph(emp.select("name <> 'Joe'").join(dept), changed={"emp"}).text())
        * ⋈
          * σ[name <> 'Joe']
            * emp
          · dept
        """
        return "\n".join(self._lines(self.root, 0))

    def dot(self) -> str:
        """The graph for Graphviz: what is passive is dashed."""
        lines = ["digraph changes {", "  rankdir=BT;", "  node [shape=box];"]
        for node in self.nodes:
            label = node.label.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'  n{node.number} [label="{label}"{_dashed(node)}];')
        for node in self.nodes:
            for below in node.inputs:
                style = " [style=dashed]" if not self.nodes[below].active else ""
                lines.append(f"  n{below} -> n{node.number}{style};")
        return "\n".join([*lines, "}"])

    def mermaid(self) -> str:
        """The graph for Mermaid: what is passive is dashed."""
        lines = ["flowchart BT"]
        for node in self.nodes:
            label = node.label.replace('"', "#quot;")
            lines.append(f'  n{node.number}["{label}"]{"" if node.active else ":::passive"}')
        for node in self.nodes:
            for below in node.inputs:
                lines.append(f"  n{below} {'-->' if self.nodes[below].active else '-.->'} n{node.number}")
        return "\n".join([*lines, "  classDef passive stroke-dasharray: 4 4"])

    def svg(self) -> str:
        """The graph as a drawing: what is passive is dashed."""
        return svg(self.nodes)

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg()

    def _lines(self, node: GraphNode, depth: int) -> Iterable[str]:
        yield f"{'  ' * depth}{'*' if node.active else '·'} {node.label}"
        for below in node.inputs:
            yield from self._lines(self.nodes[below], depth + 1)


def signal_graph(expression: AlgebraExpression | DeltaExpression, changed: Iterable[str] = ()) -> SignalGraph:
    """The graph of an expression; ``changed`` names the stored relations that events bring."""
    names = frozenset(changed)
    nodes: dict[AnyExpression, GraphNode] = {}

    def placed(part: AnyExpression) -> GraphNode:
        if part not in nodes:
            below = [placed(i) for i in _inputs(part)]
            is_event = isinstance(part, StoredDelta) or (isinstance(part, Stored) and part.name in names)
            active = is_event or any(node.active for node in below)
            nodes[part] = GraphNode(len(nodes), any_label(part), tuple(node.number for node in below), active)
        return nodes[part]

    placed(expression)
    return SignalGraph(tuple(nodes.values()))


def _inputs(part: AnyExpression) -> tuple[AnyExpression, ...]:
    """What stands below a node; Changes reads the deltas of what its expression reads, too."""
    if isinstance(part, Changes):
        return part.expression, *map(StoredDelta, stored_relations(part.expression))
    return any_inputs(part)


def _dashed(node: GraphNode) -> str:
    return "" if node.active else ", style=dashed"
