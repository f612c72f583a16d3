"""Walking and rebuilding plans: the only place that knows which fields of a node are relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
    Fixpoint,
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


def children(node: Relation) -> tuple[Relation, ...]:
    """The relations a node reads, in order."""
    match node:
        case Scan() | Values():
            return ()
        case Filter() | Project() | Aggregate() | Window() | Unnest() | During() | Repeat() | Consolidate():
            return (node.input,)
        case OuterJoin() | SemiJoin() | SetOperation():
            return (node.left, node.right)
        case Restrict():
            return (node.input, node.keys)
        case Join() | Union() | Fixpoint():
            return node.inputs
        case _:
            assert_never(node)


def with_children(node: Relation, new: tuple[Relation, ...]) -> Relation:
    """The node over other inputs; the same object when they are the ones it has."""
    if all(a is b for a, b in zip(children(node), new, strict=True)):
        return node
    match node:
        case Scan() | Values():
            return node
        case Filter() | Project() | Aggregate() | Window() | Unnest() | During() | Repeat() | Consolidate():
            return replace(node, input=new[0])
        case OuterJoin() | SemiJoin() | SetOperation():
            return replace(node, left=new[0], right=new[1])
        case Restrict():
            return replace(node, input=new[0], keys=new[1])
        case Join() | Union() | Fixpoint():
            return replace(node, inputs=new)
        case _:
            assert_never(node)


def walk(node: Relation) -> Iterator[Relation]:
    """The node and everything below it, parents first."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def rebuild(node: Relation, rule: Callable[[Relation], Relation]) -> Relation:
    """Apply a rule to every node, inputs first; the same object when the rule changed nothing.

    A node that stands in several places is rebuilt once and stays one object.
    """
    done: dict[int, Relation] = {}

    def go(n: Relation) -> Relation:
        if id(n) not in done:
            done[id(n)] = rule(with_children(n, tuple(map(go, children(n)))))
        return done[id(n)]

    return go(node)
