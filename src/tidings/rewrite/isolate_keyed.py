"""Put a projection around every keyed operator and below it, so that each stands alone.

A keyed operator (aggregate, window, outer or semi join, set operation) is differentiated as a whole, from the deltas
and old states of its inputs.  For that its inputs and its result must each be one relation under one alias.  Joins and
windows pass the columns of several aliases through; a projection gives them a common one, and everything above is
told the new names.  The same goes for unnested arrays and conditions on time, which want an input under one alias.
Answers do not change.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count

from tidings.ir.expression import Expression, Ref, substitute
from tidings.ir.relation import (
    Aggregate,
    During,
    Filter,
    Fixpoint,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    Scan,
    SemiJoin,
    SetOperation,
    Union,
    Unnest,
    Values,
    Window,
)
from tidings.ir.traverse import children, walk, with_children

Names = dict[Ref, Expression]

_ISOLATED = (Aggregate, Window, OuterJoin, SemiJoin, SetOperation, Unnest, During)


def isolate_keyed(plan: Relation) -> Relation:
    """Isolate every keyed operator of the plan; the same object when there is none."""
    if not any(isinstance(n, _ISOLATED) for n in walk(plan)):
        return plan
    isolated, _ = _isolate(plan)
    return isolated


def _isolate(node: Relation) -> tuple[Relation, Names]:
    """The node isolated, and the new names of those of its columns that changed theirs."""
    match node:
        case Filter():
            inner, by = _isolate(node.input)
            return Filter(inner, _all(node.conditions, by)), by
        case Join():
            pairs = [_isolate(i) for i in node.inputs]
            by = {ref: e for _, names in pairs for ref, e in names.items()}
            return Join(tuple(i for i, _ in pairs), _all(node.conditions, by)), by
        case Project():
            inner, by = _isolate(node.input)
            return Project(inner, node.alias, _items(node.items, by)), {}
        case Aggregate():
            inner, by = _single(node.input)
            return Aggregate(inner, node.alias, _items(node.keys, by), _items(node.aggregates, by)), {}
        case Window():
            inner, by = _single(node.input)
            return _wrapped(node, Window(inner, node.alias, _items(node.items, by)), by)
        case Unnest():
            inner, by = _single(node.input)
            return _wrapped(node, Unnest(inner, node.alias, node.element, substitute(node.array, by)), by)
        case During():
            inner, by = _single(node.input)
            return During(inner, substitute(node.condition, by), _all(node.instants, by)), by
        case OuterJoin() | SemiJoin():
            left, by_left = _single(node.left)
            right, by_right = _single(node.right)
            conditions = _all(node.conditions, by_left | by_right)
            joined: OuterJoin | SemiJoin = replace(node, left=left, right=right, conditions=conditions)
            return _wrapped(node, joined, by_left | by_right)
        case Union() | SetOperation() | Fixpoint():
            inputs = (_in_order(i, *_single(i)) for i in children(node))
            return with_children(node, tuple(inputs)), {}
        case _:
            return node, {}


def _single(node: Relation) -> tuple[Relation, Names]:
    """The node isolated and under one alias."""
    inner, by = _isolate(node)
    if isinstance(inner, Scan | Values | Project | Union | Aggregate | SetOperation | During | Fixpoint):
        return inner, by
    return _wrapped(node, inner, by)


def _wrapped(before: Relation, after: Relation, by: Names) -> tuple[Project, Names]:
    """A projection that gives all columns one alias; ``by`` are names that changed inside already."""
    alias = f"{after.fields[0].alias}_rows"
    taken: set[str] = set()
    items = tuple(Item(_free(f.name, taken), f.type, f.expression) for f in after.fields)
    project = Project(after, alias, items)
    new = {f.ref: g.expression for f, g in zip(after.fields, project.fields, strict=True)}
    return project, {f.ref: substitute(by.get(f.ref, f.expression), new) for f in before.fields}


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it if it is taken; names that say nothing of aliases let equal parts be equal."""
    free = next(n for n in chain([name], (f"{name}_{i}" for i in count(2))) if n.lower() not in taken)
    taken.add(free.lower())
    return free


def _in_order(before: Relation, after: Relation, by: Names) -> Relation:
    """A branch whose columns correspond by position, in the order they had."""
    columns = [by.get(f.ref, f.expression) for f in before.fields]
    if [f.expression for f in after.fields] == columns:
        return after
    items = (Item(f.name, f.type, e) for f, e in zip(before.fields, columns, strict=True))
    return Project(after, f"{before.fields[0].alias}_branch", tuple(items))


def _all(expressions: tuple[Expression, ...], by: Names) -> tuple[Expression, ...]:
    return tuple(substitute(e, by) for e in expressions)


def _items(items: tuple[Item, ...], by: Names) -> tuple[Item, ...]:
    return tuple(Item(i.name, i.type, substitute(i.expression, by)) for i in items)
