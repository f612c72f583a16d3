"""Which predicates depend on which, and in which order they can be computed.

Components are the predicates that depend on each other, lower ones first.  Within one nothing may be negated or
counted: a fact would then depend on its own absence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet


def components(edges: Mapping[str, AbstractSet[str]]) -> list[tuple[str, ...]]:
    """The strongly connected components of a graph, each after those it points to, in the order of the keys.

    >>> components({"p": {"q", "r"}, "q": {"p"}, "r": set()})
    [('r',), ('p', 'q')]
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result: list[tuple[str, ...]] = []
    order = {name: n for n, name in enumerate(edges)}

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for below in sorted(edges[name] & edges.keys(), key=order.__getitem__):
            if below not in index:
                visit(below)
                low[name] = min(low[name], low[below])
            elif below in stack:
                low[name] = min(low[name], index[below])
        if low[name] == index[name]:
            at = stack.index(name)
            result.append(tuple(sorted(stack[at:], key=order.__getitem__)))
            del stack[at:]

    for name in edges:
        if name not in index:
            visit(name)
    return result


def is_recursive(component: Sequence[str], edges: Mapping[str, AbstractSet[str]]) -> bool:
    """Whether the predicates of a component depend on themselves."""
    return len(component) > 1 or component[0] in edges[component[0]]


def cycle(start: str, end: str, edges: Mapping[str, AbstractSet[str]]) -> list[str]:
    """A shortest way from one predicate to another.

    >>> cycle("p", "r", {"p": {"q"}, "q": {"r"}, "r": {"p"}})
    ['p', 'q', 'r']
    """
    ways = {start: [start]}
    waiting = [start]
    while waiting and end not in ways:
        name = waiting.pop(0)
        for below in sorted(edges.get(name, frozenset())):
            if below not in ways:
                ways[below] = [*ways[name], below]
                waiting.append(below)
    return ways.get(end, [start, end])
