"""Signal graphs as drawings: SVG, for notebooks and pages, without any other program.

A node stands above all that it reads, inputs of one height side by side.  What is passive is dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

_WIDTH, _GAP, _HEIGHT, _RISE = 8, 24, 30, 64
"""Of a character, between boxes, of a box, and from one row to the next, in pixels."""

_DASHED = ' stroke-dasharray="4 4"'


class DrawnNode(Protocol):
    """What is drawn of a node."""

    @property
    def number(self) -> int: ...
    @property
    def label(self) -> str: ...
    @property
    def inputs(self) -> tuple[int, ...]: ...
    @property
    def active(self) -> bool: ...


def svg(nodes: Sequence[DrawnNode]) -> str:
    """A drawing of nodes that come after their inputs."""
    rows = _rows(nodes)
    widths = {node.number: _WIDTH * len(node.label) + 2 * _WIDTH for node in nodes}
    spans = [sum(widths[number] + _GAP for number in row) for row in rows]
    middle: dict[int, tuple[float, float]] = {}
    for height, (row, span) in enumerate(zip(rows, spans, strict=True)):
        left = (max(spans) - span) / 2
        for number in row:
            middle[number] = (left + (widths[number] + _GAP) / 2, (len(rows) - height - 0.5) * _RISE)
            left += widths[number] + _GAP
    lines = [line for node in nodes for line in _edges(node, nodes, middle)]
    boxes = [part for node in nodes for part in _box(node, widths[node.number], *middle[node.number])]
    size = f'width="{max(spans)}" height="{len(rows) * _RISE}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="13" stroke="currentColor">'
    )
    return "\n".join([head, *lines, *boxes, "</svg>"])


def _rows(nodes: Sequence[DrawnNode]) -> list[list[int]]:
    """The nodes by their height above the leaves."""
    height: dict[int, int] = {}
    for node in nodes:
        height[node.number] = max((height[below] + 1 for below in node.inputs), default=0)
    rows: list[list[int]] = [[] for _ in range(max(height.values()) + 1)]
    for number, row in height.items():
        rows[row].append(number)
    return rows


def _edges(node: DrawnNode, nodes: Sequence[DrawnNode], middle: dict[int, tuple[float, float]]) -> list[str]:
    x, y = middle[node.number]
    lines = []
    for below in node.inputs:
        from_x, from_y = middle[below]
        ends = f'x1="{from_x}" y1="{from_y - _HEIGHT / 2}" x2="{x}" y2="{y + _HEIGHT / 2}"'
        lines.append(f"<line {ends}{'' if nodes[below].active else _DASHED}/>")
    return lines


def _box(node: DrawnNode, width: int, x: float, y: float) -> list[str]:
    place = f'x="{x - width / 2}" y="{y - _HEIGHT / 2}" width="{width}" height="{_HEIGHT}"'
    return [
        f'<rect {place} rx="4" fill="none"{"" if node.active else _DASHED}/>',
        f'<text x="{x}" y="{y + 4}" text-anchor="middle" fill="currentColor" stroke="none">{escape(node.label)}</text>',
    ]
