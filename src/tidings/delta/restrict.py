"""Restriction: the passive side of a differential is cut down to the delta's keys before it is joined.

In a term ``ΔA ⋈ B ⋈ C`` only rows of B and C that meet the delta can contribute:

    ΔA ⋈_{a=b} B  =  ΔA ⋈_{a=b} (B ⋉_{b ∈ π_a ΔA} …)

Keys travel along equality classes: if ``a = b`` and ``b = c``, the delta's ``a`` restricts C directly.  An input the
delta does not reach so is restricted by the keys of one that it does reach (sideways information passing).  The
restriction sinks through projections, filters, unions and joins until it stands on a scan, where an engine can
turn it into a list of keys or a semi-join.

It never changes an answer; it changes which rows are read.  Withheld for equalities between unlike types, whose
keys do not compare as the values do (:func:`tidings.ir.types.comparable_as_keys`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import assert_never

from tidings.analysis.equality import EqualityClass, equality_classes
from tidings.ir.expression import Expression, Ref, aliases, ref, refs, substitute, window_call
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
    Version,
    Window,
)
from tidings.ir.traverse import rebuild, walk, with_children

LARGEST_KEYS = 12
"""Keys that take a plan of more nodes than this to find restrict nothing: they would cost more than they save."""


def restrict(plan: Relation) -> Relation:
    """Restrict the passive inputs of every join that has an active one."""
    return rebuild(plan, _restricted)


def _restricted(plan: Relation) -> Relation:
    if isinstance(plan, Restrict):
        return push(plan)
    if not isinstance(plan, Join):
        return plan
    active = next((n for n, i in enumerate(plan.inputs) if is_active(i)), None)
    return plan if active is None else _restrict_join(plan, active)


def is_active(plan: Relation) -> bool:
    """Whether the plan's size follows the delta's: it reads a delta and nothing beside it unrestricted."""
    match plan:
        case Scan():
            return plan.version is Version.DELTA
        case Join():
            return any(map(is_active, plan.inputs))
        case Union():
            return all(map(is_active, plan.inputs))
        case (
            Filter() | Project() | Aggregate() | Window() | Unnest() | During() | Repeat() | Consolidate() | Restrict()
        ):
            return is_active(plan.input)
        case OuterJoin() | SemiJoin() | SetOperation():
            return is_active(plan.left)
        case Values() | Fixpoint():
            return False
        case _:
            assert_never(plan)


def _restrict_join(join: Join, active: int) -> Join:
    """Restrict input after input, each by the keys of one that is active or restricted already."""
    types = {f.ref: f.type for f in join.fields}
    classes = equality_classes(join.conditions, types)
    inputs = list(join.inputs)
    reached = [active]
    while (step := _next_step(inputs, reached, classes)) is not None:
        target, expression, source, key, null_safe = step
        keys = _keys(inputs[source], key, types)
        inputs[target] = push(Restrict(inputs[target], expression, keys, null_safe))
        reached.append(target)
    return Join(tuple(inputs), join.conditions)


def alternatives(join: Join, restricted: Restrict) -> list[Restrict]:
    """An input of a join restricted by other columns: those it too has in common with the input that has the keys."""
    source = next((i for i in join.inputs if isinstance(restricted.keys, Project) and i is restricted.keys.input), None)
    if source is None:
        return []
    types = {f.ref: f.type for f in join.fields}
    restrictions = []
    for group in equality_classes(join.conditions, types):
        key, expression = _member(group, source), _member(group, restricted)
        if key is not None and expression is not None and expression != restricted.expression:
            keys = _keys(source, key, types)
            restrictions.append(Restrict(restricted.input, expression, keys, group.null_safe))
    return restrictions


def _next_step(
    inputs: list[Relation], reached: list[int], classes: list[EqualityClass]
) -> tuple[int, Expression, int, Expression, bool] | None:
    """An input not yet reached that shares a class with one that is; inputs reached earlier come first."""
    free = [n for n, i in enumerate(inputs) if n not in reached and not isinstance(i, Values) and not _is_restricted(i)]
    for source in reached:
        if not free or next(islice(walk(inputs[source]), LARGEST_KEYS, None), None) is not None:
            continue
        for target in free:
            for group in classes:
                key = _member(group, inputs[source])
                expression = _member(group, inputs[target])
                if key is not None and expression is not None:
                    return target, expression, source, key, group.null_safe
    return None


def _is_restricted(plan: Relation) -> bool:
    return any(isinstance(n, Restrict) for n in walk(plan))


def _member(group: EqualityClass, relation: Relation) -> Expression | None:
    relation_aliases = {f.alias for f in relation.fields}
    return next((m for m in group.members if aliases(m) <= relation_aliases), None)


def _keys(source: Relation, key: Expression, types: dict[Ref, str]) -> Project:
    """The keys a relation has in one column."""
    column = ref(key)
    assert column is not None, "equality classes hold columns only"
    return Project(source, "keys", (Item(column[1], types[column], key),))


def push(node: Restrict) -> Relation:
    """Move a restriction to the scans below it; where it cannot go further it is dropped, since it saves no reading."""
    inner = node.input
    match inner:
        case Project():
            by = {(inner.alias, i.name): i.expression for i in inner.items}
            pushed = push(Restrict(inner.input, substitute(node.expression, by), node.keys, node.null_safe))
            return Project(pushed, inner.alias, inner.items)
        case Filter():
            return Filter(push(Restrict(inner.input, node.expression, node.keys, node.null_safe)), inner.conditions)
        case Union():
            return Union(tuple(_push_branch(node, inner, b) for b in inner.inputs), inner.alias, inner.columns)
        case Join():
            return _push_join(node, inner)
        case Aggregate():
            return _push_aggregate(node, inner)
        case Window():
            return _push_window(node, inner)
        case Unnest():
            if not aliases(node.expression) <= {f.alias for f in inner.input.fields}:
                return inner
            return with_children(inner, (push(replace(node, input=inner.input)),))
        case During():
            return with_children(inner, (push(replace(node, input=inner.input)),))
        case OuterJoin() | SemiJoin():
            return _push_two_sided(node, inner)
        case SetOperation():
            sides = (_push_branch(node, inner, b) for b in (inner.left, inner.right))
            return with_children(inner, tuple(sides))
        case Repeat():
            return Repeat(push(Restrict(inner.input, node.expression, node.keys, node.null_safe)), inner.times)
        case Restrict():
            pushed = push(Restrict(inner.input, node.expression, node.keys, node.null_safe))
            return node if isinstance(pushed, Restrict) else push(replace(inner, input=pushed))
        case Values() | Consolidate() | Fixpoint():
            return inner
        case Scan():
            return node
        case _:
            assert_never(inner)


def _push_aggregate(node: Restrict, aggregate: Aggregate) -> Relation:
    """Into the groups, where the restricted expression is made of keys; never below an aggregated value."""
    by = {(aggregate.alias, i.name): i.expression for i in aggregate.keys}
    if not all(r in by for r in refs(node.expression)):
        return aggregate
    inner = push(Restrict(aggregate.input, substitute(node.expression, by), node.keys, node.null_safe))
    return replace(aggregate, input=inner)


def _push_window(node: Restrict, window: Window) -> Relation:
    """Below a window only by what partitions all its functions: other rows of a partition must stay."""
    partitions = [window_call(i.expression).args.get("partition_by") or [] for i in window.items]
    if not all(node.expression in p for p in partitions):
        return window
    return replace(window, input=push(Restrict(window.input, node.expression, node.keys, node.null_safe)))


def _push_two_sided(node: Restrict, join: OuterJoin | SemiJoin) -> Relation:
    """Into the left side; from there to the right one along an equality, for rows that can meet it."""
    if not aliases(node.expression) <= {f.alias for f in join.left.fields}:
        return join
    left = push(Restrict(join.left, node.expression, node.keys, node.null_safe))
    right = join.right
    types = {f.ref: f.type for f in (*join.left.fields, *join.right.fields)}
    right_aliases = {f.alias for f in right.fields}
    for group in equality_classes(join.conditions, types):
        across = next((m for m in group.members if aliases(m) <= right_aliases), None)
        if node.expression in group.members and across is not None:
            right = push(Restrict(right, across, node.keys, True))
            break
    return with_children(join, (left, right))


def _push_branch(node: Restrict, union: Union | SetOperation, branch: Relation) -> Relation:
    by = {(union.alias, c.name): f.expression for c, f in zip(union.columns, branch.fields, strict=True)}
    return push(Restrict(branch, substitute(node.expression, by), node.keys, node.null_safe))


def _push_join(node: Restrict, join: Join) -> Relation:
    """Restrict the input that owns the expression; from there the keys travel on inside the join."""
    mentioned = aliases(node.expression)
    owner = next((n for n, i in enumerate(join.inputs) if mentioned <= {f.alias for f in i.fields}), None)
    if owner is None:
        return join
    inputs = list(join.inputs)
    inputs[owner] = push(Restrict(inputs[owner], node.expression, node.keys, node.null_safe))
    return _restrict_join(Join(tuple(inputs), join.conditions), owner)


def restrictions(plan: Relation) -> list[Restrict]:
    """Every restriction in a plan, for explain."""
    return [n for n in walk(plan) if isinstance(n, Restrict)]
