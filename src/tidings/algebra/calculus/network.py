"""Propagation: delta-sets rise through a network of definitions, breadth first and from the bottom.

A node is a view and its expression; an edge leads from each relation the expression reads.  Nodes are taken level by
level.  For each changed influent of a node both partial differentials run, and their results are gathered into the
node's delta-set by delta-union.  When the last reader of a delta-set is done, the delta-set is released: at any time
only the wave front is held.

How coarse the nodes are is free.  One node with the whole condition is the flat network, one node per operator the
bushy one (:func:`split`).  Strict propagation gives both the same answer, which is the exact one.

Strict and nervous.  A projection claims too much (:mod:`tidings.algebra.calculus.partial`).  Strict propagation filters
each node's claims by the node's own old and new state before they rise.  Nervous propagation lets them rise: cheaper,
for no state of the node is derived, and it may report a tuple that was true already.  Trap: in a bushy network nervous
delta-sets also spoil the logical rollback of the nodes above, which can then miss changes too.

The old state of a node is rolled back from its influents' delta-sets, so it costs nothing to keep.  Its new state is
derived from its definition.  Recursive definitions have no levels and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidings.algebra.calculus.deltaset import DeltaSet, Row, RowSet, Sign, delta_union, net
from tidings.algebra.calculus.expression import NewState, SetExpression, children, with_children
from tidings.algebra.calculus.facts import Facts, evaluate
from tidings.algebra.calculus.partial import influents, old, partial
from tidings.errors import InvalidExpression


@dataclass(frozen=True, slots=True)
class PropagationStep:
    """What happened at one node: the edges whose differentials ran, and the delta-sets held once it was done."""

    node: str
    level: int
    edges: tuple[str, ...]
    unreleased: frozenset[str]


@dataclass(frozen=True, slots=True)
class Propagation:
    """The delta-sets of the nodes that no other node reads, and the way there."""

    deltas: Mapping[str, DeltaSet]
    steps: tuple[PropagationStep, ...]


def levels(definitions: Mapping[str, SetExpression]) -> dict[str, int]:
    """Each relation's level: stored relations are 0, a view is one above the highest relation it reads.

    >>> from tidings.algebra.calculus.expression import relation, select
    >>> levels({"low": select(relation("stock", "n"), "n < 9")})
    {'stock': 0, 'low': 1}
    """
    known: dict[str, int] = {}

    def visit(name: str, path: tuple[str, ...]) -> int:
        if name in path:
            raise InvalidExpression(reason=f"{name} is defined by itself: {' → '.join((*path, name))}")
        if name not in known:
            below = sorted(influents(definitions[name])) if name in definitions else []
            known[name] = 1 + max((visit(b, (*path, name)) for b in below), default=-1)
        return known[name]

    for name in definitions:
        visit(name, ())
    return known


def propagate(definitions: Mapping[str, SetExpression], facts: Facts, *, strict: bool = True) -> Propagation:
    """Carry the delta-sets of stored relations up to the views at the top."""
    level = levels(definitions)
    order = sorted(definitions, key=lambda name: level[name])
    readers = {name: {v for v in order if name in influents(definitions[v])} for name in level}
    unreleased = {name: d for name, d in facts.deltas.items() if d and readers.get(name)}
    top: dict[str, DeltaSet] = {}
    steps = []
    for name in order:
        body = definitions[name]
        edges = tuple(sorted(i for i in influents(body) if i in unreleased))
        near = Facts({i: _state(i, definitions, facts) for i in influents(body)}, {i: unreleased[i] for i in edges})
        node_delta = _delta(body, near, edges, strict)
        for influent in influents(body):
            readers[influent].discard(name)
            if not readers[influent]:
                unreleased.pop(influent, None)
        if not readers[name]:
            top[name] = node_delta
        elif node_delta:
            unreleased[name] = node_delta
        steps.append(PropagationStep(name, level[name], edges, frozenset(unreleased)))
    return Propagation(top, tuple(steps))


def delta(node: SetExpression, facts: Facts, *, strict: bool = True) -> DeltaSet:
    """The delta-set of an expression, propagated through one node per operator.

    >>> from tidings.algebra.calculus.expression import project, relation
    >>> who = project(relation("order", "who", "what"), "who")
    >>> facts = Facts.after({"order": {("ann", "ale")}}, {"order": DeltaSet.of(plus={("ann", "rum")})})
    >>> print(delta(who, facts), delta(who, facts, strict=False))
    ⟨{}, {}⟩ ⟨{⟨ann⟩}, {}⟩
    """
    if isinstance(node, NewState):
        facts.check_width(node)
        return facts.delta(node.name)
    return propagate(split("result", node), facts, strict=strict).deltas["result"]


def split(name: str, node: SetExpression) -> dict[str, SetExpression]:
    """A nested expression as definitions of one operator each; an operand that occurs twice is one node.

    >>> from tidings.algebra.calculus.expression import project, relation, select
    >>> from tidings.algebra.calculus.text import show
    >>> for view, body in split("low", project(select(relation("stock", "item", "n"), "n < 9"), "item")).items():
    ...     print(view, "=", show(body))
    low.1 = σ[n < 9] stock
    low = π[item] low.1
    """
    names: dict[SetExpression, str] = {}
    definitions: dict[str, SetExpression] = {}

    def leaf(operand: SetExpression) -> SetExpression:
        if not children(operand):
            return operand
        if operand not in names:
            body = with_children(operand, tuple(map(leaf, children(operand))))
            names[operand] = f"{name}.{len(names) + 1}"
            definitions[names[operand]] = body
        return NewState(names[operand], operand.attributes)

    definitions[name] = with_children(node, tuple(map(leaf, children(node))))
    return definitions


def _delta(body: SetExpression, near: Facts, edges: tuple[str, ...], strict: bool) -> DeltaSet:
    """The differentials of the changed influents, joined; nothing is evaluated when none changed."""
    if not edges:
        return DeltaSet()
    plus, minus = (_claims(body, near, edges, sign) for sign in Sign)
    if strict:
        return net(plus, minus, old=evaluate(old(body), near), new=evaluate(body, near))
    return delta_union(DeltaSet(plus=plus), DeltaSet(minus=minus))


def _claims(body: SetExpression, near: Facts, edges: tuple[str, ...], sign: Sign) -> RowSet:
    terms = (partial(body, influent, sign) for influent in edges)
    return frozenset[Row]().union(*(evaluate(t, near) for t in terms if t is not None))


def _state(name: str, definitions: Mapping[str, SetExpression], facts: Facts) -> RowSet:
    """A relation's new state: that of a view is derived."""
    if name not in definitions:
        return facts.new(name)
    body = definitions[name]
    return evaluate(body, Facts({i: _state(i, definitions, facts) for i in influents(body)}, {}))
