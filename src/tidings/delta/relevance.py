"""Which changes matter to a step: where no changed row meets any of some conditions, the step's delta is empty.

A condition on the columns of a delta alone can be judged before anything is looked up:

    σ_{q.qty < 5}(Δq ⋈ B)  is empty if  σ_{q.qty < 5}(Δq)  is

Most changes do not matter to most rules and views, so this saves more than it costs.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from sqlglot import exp

from tidings.ir.expression import WEIGHT, Expression, Ref, aliases, column, conjunction, refs, substitute
from tidings.ir.relation import (
    Aggregate,
    Column,
    Consolidate,
    Filter,
    Item,
    Join,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    Union,
    Unnest,
    Version,
    Window,
)

DELTA = "delta"
"""The alias of the delta in conditions."""


class DeltaCondition(NamedTuple):
    """What a change of a relation has to meet, all of it, to matter."""

    relation: str
    columns: tuple[Column, ...]
    """The columns that it mentions."""
    conditions: tuple[Expression, ...]


Relevance: TypeAlias = tuple[DeltaCondition, ...]
"""A batch matters if a change meets one of these."""


def relevance(plan: Relation) -> Relevance | None:
    """What has to be met by some change, or the plan has no rows; None if that cannot be told from the changes alone.

    It must not depend on what the states are: they may have changed.
    """
    return _relevance(plan, ())


def check_plan(relation: str, conditions: list[DeltaCondition]) -> Relation:
    """One row that says of each of some conditions on a relation whether a change of it meets them."""
    columns = {c.name: c for condition in conditions for c in condition.columns}
    scan = Scan(relation, DELTA, tuple(columns.values()), Version.DELTA)
    items = (
        Item(f"condition{n}", "boolean", exp.LogicalOr(this=conjunction(condition.conditions)))
        for n, condition in enumerate(conditions)
    )
    return Aggregate(scan, "checked", (), tuple(items))


def _relevance(node: Relation, above: tuple[Expression, ...]) -> Relevance | None:
    """The same for the rows of a plan that meet some conditions above it."""
    match node:
        case Scan(version=Version.DELTA):
            return _of_delta(node, above)
        case Filter():
            return _relevance(node.input, above + node.conditions)
        case Join():
            parts = (_relevance(child, above + node.conditions) for child in node.inputs)
            return next((part for part in parts if part is not None), None)
        case Project():
            return _relevance(node.input, _below(above, {(node.alias, i.name): i.expression for i in node.items}))
        case Consolidate():
            of_rows = tuple(c for c in above if (node.alias, WEIGHT) not in refs(c))
            return _relevance(node.input, _below(of_rows, _by_position(node, node.input)))
        case Union():
            branches = [_relevance(child, _below(above, _by_position(node, child))) for child in node.inputs]
            known = [branch for branch in branches if branch is not None]
            return tuple(c for branch in known for c in branch) if len(known) == len(branches) else None
        case Restrict() | Repeat() | Window() | Unnest():
            return _relevance(node.input, above)
        case SemiJoin():
            return _relevance(node.left, above)
        case Aggregate(keys=keys) if keys:
            return _relevance(node.input, ())
        case _:
            return None


def _of_delta(scan: Scan, above: tuple[Expression, ...]) -> Relevance | None:
    conditions = tuple(dict.fromkeys(c for c in above if aliases(c) == {scan.alias}))
    mentioned = {name for c in conditions for _, name in refs(c)}
    columns = tuple(c for c in scan.columns if c.name in mentioned)
    if not conditions or len(columns) < len(mentioned):
        return None
    as_delta = {(scan.alias, c.name): column(DELTA, c.name) for c in columns}
    return (DeltaCondition(scan.relation, columns, tuple(substitute(c, as_delta) for c in conditions)),)


def _below(conditions: tuple[Expression, ...], by: dict[Ref, Expression]) -> tuple[Expression, ...]:
    """Conditions on the columns of a node, as conditions on what these are computed from; others are left out."""
    return tuple(substitute(c, by) for c in conditions if refs(c) and all(ref in by for ref in refs(c)))


def _by_position(node: Consolidate | Union, child: Relation) -> dict[Ref, Expression]:
    return {(f.alias, f.name): g.expression for f, g in zip(node.fields, child.fields, strict=True)}
