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
    """Restrict input after input, each by the keys of one that is active or restricted already.

    Inputs are taken in the order in which they were reached; what they cannot restrict at once they never can.
    """
    types = {f.ref: f.type for f in join.fields}
    classes = equality_classes(join.conditions, types)
    members = _members(join, classes)
    inputs, reached = list(join.inputs), [active]
    free = [n for n, i in enumerate(inputs) if n != active and not isinstance(i, Values) and not _is_restricted(i)]
    for source in reached:
        if not free or next(islice(walk(inputs[source]), LARGEST_KEYS, None), None) is not None:
            continue
        for target in list(free):
            group = next((g for g in members[source] if g in members[target]), None)
            if group is None:
                continue
            keys = _keys(inputs[source], members[source][group], types)
            restriction = Restrict(inputs[target], members[target][group], keys, classes[group].null_safe)
            inputs[target] = push(restriction)
            free.remove(target)
            reached.append(target)
    return Join(tuple(inputs), join.conditions)


def _members(join: Join, classes: list[EqualityClass]) -> list[dict[int, Expression]]:
    """For every input of a join, the first expression over it in each class that has one, by the class's place."""
    owners = {alias: n for n, i in enumerate(join.inputs) for alias in {f.alias for f in i.fields}}
    members: list[dict[int, Expression]] = [{} for _ in join.inputs]
    for place, group in enumerate(classes):
        for member in group.members:
            mentioned = {owners[alias] for alias in aliases(member)}
            if len(mentioned) == 1:
                members[mentioned.pop()].setdefault(place, member)
    return members


def alternatives(join: Join) -> dict[int, list[Restrict]]:
    """The inputs of a join restricted by other columns, by the identity of the restriction each has.

    Those are columns that an input too has in common with the one that has the keys.
    """
    types = {f.ref: f.type for f in join.fields}
    classes = equality_classes(join.conditions, types)
    members = _members(join, classes)
    places = {id(i): n for n, i in enumerate(join.inputs)}
    found: dict[int, list[Restrict]] = {}
    for place, restricted in enumerate(join.inputs):
        if not isinstance(restricted, Restrict) or not isinstance(restricted.keys, Project):
            continue
        source = places.get(id(restricted.keys.input))
        shared = [g for g in members[place] if source is not None and g in members[source]]
        for group in (g for g in shared if members[place][g] != restricted.expression):
            assert source is not None
            keys = _keys(join.inputs[source], members[source][group], types)
            other = Restrict(restricted.input, members[place][group], keys, classes[group].null_safe)
            found.setdefault(id(restricted), []).append(other)
    return found


def _is_restricted(plan: Relation) -> bool:
    return any(isinstance(n, Restrict) for n in walk(plan))


def _keys(source: Relation, key: Expression, types: dict[Ref, str]) -> Project:
    """The keys a relation has in one column."""
    column = ref(key)
    assert column is not None, "equality classes hold columns only"
    return Project(source, "keys", (Item(column[1], types[column], key),))


def push(node: Restrict) -> Relation:
    """Move a restriction to the scans below it; where it cannot go further it is dropped, since it saves no reading.

    On a recursion it stays too: only what is asked for is derived then (:mod:`tidings.delta.recursion.magic`).
    """
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
        case Values() | Consolidate():
            return inner
        case Fixpoint():
            return inner if ref(node.expression) is None else node
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
