"""Drop columns nobody above asks for: ``π_a(R(a, b)) = π_a(R(a))``.

Scans then read fewer columns, and an update of a column a view does not use is no change to the view's input.
Bags keep their multiplicities: a column goes, its rows stay.  A relation keeps at least one column, so
that it still has something to be named by.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from tidings.ir.expression import Expression, Ref, refs
from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
    Fixpoint,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetOperation,
    Union,
    Unnest,
    Values,
    Window,
)
from tidings.ir.traverse import children, with_children


def prune_columns(plan: Relation) -> Relation:
    """Keep the columns of the plan itself, and below it only what it needs."""
    return _prune(plan, frozenset(f.ref for f in plan.fields))


def _prune(node: Relation, needed: frozenset[Ref]) -> Relation:
    match node:
        case Scan():
            columns = tuple(c for c in node.columns if (node.alias, c.name) in needed) or node.columns[:1]
            return node if columns == node.columns else replace(node, columns=columns)
        case Values():
            return node
        case Filter():
            inner = _prune(node.input, needed | _mentioned(node.conditions))
            return node if inner is node.input else Filter(inner, node.conditions)
        case Project():
            items = tuple(i for i in node.items if (node.alias, i.name) in needed) or node.items[:1]
            inner = _prune(node.input, _mentioned(i.expression for i in items))
            unchanged = inner is node.input and items == node.items
            return node if unchanged else Project(inner, node.alias, items)
        case Join():
            below = needed | _mentioned(node.conditions)
            inputs = tuple(_prune(i, below) for i in node.inputs)
            unchanged = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            return node if unchanged else Join(inputs, node.conditions)
        case Union():
            places = [n for n, c in enumerate(node.columns) if (node.alias, c.name) in needed] or [0]
            inputs = tuple(_positions(i, places) for i in node.inputs)
            unchanged = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            return node if unchanged else Union(inputs, node.alias, tuple(node.columns[n] for n in places))
        case Aggregate():
            return _prune_aggregate(node, needed)
        case Window():
            items = tuple(i for i in node.items if (node.alias, i.name) in needed)
            if not items:
                return _prune(node.input, needed)
            inner = _prune(node.input, needed | _mentioned(i.expression for i in items))
            return node if inner is node.input and items == node.items else Window(inner, node.alias, items)
        case Unnest():
            inner = _prune(node.input, needed | _mentioned((node.array,)))
            return with_children(node, (inner,))
        case During():
            inner = _prune(node.input, needed | _mentioned((node.condition, *node.instants)))
            return with_children(node, (inner,))
        case OuterJoin() | SemiJoin():
            below = needed | _mentioned(node.conditions)
            return with_children(node, (_prune(node.left, below), _prune(node.right, below)))
        case SetOperation():
            return with_children(node, tuple(map(prune_columns, children(node))))
        case Fixpoint():
            return with_children(node, tuple(_positions(i, list(range(len(i.fields)))) for i in node.inputs))
        case Repeat() | Restrict() | Consolidate():
            return node
        case _:
            assert_never(node)


def _prune_aggregate(node: Aggregate, needed: frozenset[Ref]) -> Relation:
    """Keys stay, since they make the groups; aggregates go when nobody asks for them."""
    aggregates = tuple(i for i in node.aggregates if (node.alias, i.name) in needed)
    if not node.keys and not aggregates:
        aggregates = node.aggregates[:1]
    inner = _prune(node.input, _mentioned(i.expression for i in (*node.keys, *aggregates)))
    unchanged = inner is node.input and aggregates == node.aggregates
    return node if unchanged else Aggregate(inner, node.alias, node.keys, aggregates)


def _positions(branch: Relation, places: list[int]) -> Relation:
    """A union branch with only the columns at these positions."""
    fields = [branch.fields[n] for n in places]
    pruned = _prune(branch, frozenset(f.ref for f in fields))
    if [f.ref for f in pruned.fields] == [f.ref for f in fields]:
        return pruned
    items = tuple(Item(f.name, f.type, f.expression) for f in fields)
    return Project(pruned, f"{fields[0].alias if fields else 'none'}_kept", items)


def _mentioned(expressions: Iterable[Expression]) -> frozenset[Ref]:
    return frozenset(r for e in expressions for r in refs(e))
