"""Whether both engines agree on all that a plan computes; see :mod:`tidings.analysis.agreement`.

Joins, unions, groups and the like are the same for both, as the laws show on random plans.  What can differ is the
expressions in them, and the types of the columns that are compared, grouped and sorted by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from sqlglot import exp

from tidings.analysis.agreement import Judge, kind_of
from tidings.ir.expression import AVERAGE, WEIGHT, Expression, Ref, show
from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
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
from tidings.ir.traverse import children, walk

_NUMBERING = (exp.RowNumber, exp.Rank, exp.DenseRank)
_KEPT_PLACES = 6
"""Where a number may have more than 38 digits, Spark keeps up to six places after the point, as DuckDB keeps all."""
_SLOTS = frozenset({"__since", "__until"})


def disagreement(plan: Relation) -> str | None:
    """The first thing in a plan on which the engines may not agree; None if there is nothing."""
    seen: set[int] = set()
    for node in walk(plan):
        if id(node) in seen:
            continue
        seen.add(id(node))
        for field in node.fields:
            if kind_of(field.type) is None:
                return f"{field.name} of type {field.type}"
        judge = _PlanJudge({f.ref: f.type for c in children(node) for f in c.fields})
        for expression in _expressions(node):
            if judge.kind(expression) is None or judge.ascii:
                return show(expression)
    return None


def _expressions(node: Relation) -> Iterator[Expression]:
    match node:
        case Scan() | Union() | SetOperation() | Consolidate():
            pass
        case Values():
            yield from (e for row in node.rows for e in row)
        case Filter() | Join() | OuterJoin() | SemiJoin():
            yield from node.conditions
        case Project() | Window():
            yield from (i.expression for i in node.items)
        case Aggregate():
            yield from (i.expression for i in (*node.keys, *node.aggregates))
        case Repeat():
            yield node.times
        case Restrict():
            yield node.expression
        case During():
            yield node.condition
        case Unnest():
            yield node.array
        case _:
            assert_never(node)


class _PlanJudge(Judge):
    """Judges the bound expressions of a plan, its aggregates and window functions among them."""

    def __init__(self, known: dict[Ref, str]) -> None:
        super().__init__(lambda node: known.get((node.table, node.name)), places=_KEPT_PLACES)

    def kind(self, node: Expression) -> str | None:
        match node:
            case exp.Filter():
                return self.kind(node.this) if self.kind(node.expression.this) == "boolean" else None
            case exp.Count():
                return "number" if isinstance(node.this, exp.Star) else self._counted(node.this)
            case exp.Sum():
                return "number" if self._is_summed(_value(node.this)) else None
            case exp.Min() | exp.Max() if not node.expressions:
                return self.kind(node.this)
            case exp.LogicalAnd() | exp.LogicalOr():
                return self._only("boolean", node.this)
            case exp.Abs() if isinstance(node.this, exp.Column) and node.this.name == WEIGHT:
                return "number"
            case exp.Greatest():
                return self._alike(None, node.this, *node.expressions)
            case exp.Window():
                return self._window(node)
            case exp.Anonymous() if str(node.this).lower() in _SLOTS:
                return "number"
            case exp.Anonymous() if str(node.this).lower() == "timestamp_micros":
                (micros,) = node.expressions
                return "timestamp" if self.kind(micros) == "number" and self.whole(micros) else None
            case exp.Cast(this=exp.Anonymous(this=name) as average) if name == AVERAGE:
                return self._only("number", *average.expressions)
            case exp.ArrayDistinct(this=exp.Array(expressions=values)):
                return self._only("number", *values)
            case _:
                return super().kind(node)

    def _counted(self, node: Expression) -> str | None:
        if not isinstance(node, exp.Distinct):
            return "number" if self.kind(node) is not None else None
        return "number" if all(self.kind(e) is not None for e in node.expressions) else None

    def _is_summed(self, value: Expression) -> bool:
        return self.kind(value) == "number"

    def _window(self, node: exp.Window) -> str | None:
        ordered = node.args["order"].expressions if node.args.get("order") is not None else []
        by = [*(node.args.get("partition_by") or []), *(o.this for o in ordered)]
        if any(self.kind(e) is None for e in by):
            return None
        if isinstance(node.this, _NUMBERING):
            return "number"
        if isinstance(node.this, exp.Lead | exp.Lag):
            plain = node.this.args.get("default") is None
            return self.kind(node.this.this) if plain else None
        return self.kind(node.this) if isinstance(node.this, exp.AggFunc) else None


def _value(argument: Expression) -> Expression:
    """What an aggregate is of."""
    return argument.expressions[0] if isinstance(argument, exp.Distinct) else argument
