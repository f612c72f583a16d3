"""Plans in DuckDB's words, where both engines agree on all that they compute.

Joins, unions, groups and the like are the same for both, as the laws show on random plans.  What can differ is the
expressions in them, and the types of the columns that are compared, grouped and sorted by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from sqlglot import exp

from tidings.engine.agreed.aggregates import PlanTranslator, is_ranked
from tidings.engine.agreed.numeric import common_type
from tidings.engine.agreed.spans import INTERVALS
from tidings.engine.agreed.term import NotAgreed, TypedExpression, converted, is_known
from tidings.engine.sql.dialect import Dialect
from tidings.errors import SparkNeeded
from tidings.ir import types
from tidings.ir.expression import Expression
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
from tidings.ir.traverse import children, rebuild


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The first thing in a plan on which the engines may not agree."""

    what: str


def agreed_plan(plan: Relation, *, alone: Dialect | None = None) -> Relation | Disagreement:
    """The plan in DuckDB's words; ``alone`` is its dialect where no other engine evaluates it too."""
    try:
        return rebuild(plan, lambda node: _agreed(node, alone))
    except NotAgreed as difference:
        return Disagreement(str(difference))


def in_words(plan: Relation, dialect: Dialect) -> Relation:
    """The plan as an engine is to print it.

    Raises :class:`tidings.errors.SparkNeeded` for what only Spark evaluates.
    """
    if not dialect.in_words:
        return plan
    said = agreed_plan(plan, alone=dialect)
    if isinstance(said, Disagreement):
        raise SparkNeeded(expression=said.what)
    return said


def _agreed(node: Relation, alone: Dialect | None) -> Relation:
    for field in node.fields:
        if (
            not is_known(field.type)
            and not is_ranked(field.type)
            and not (alone is not None and field.type in INTERVALS)
        ):
            raise NotAgreed(exp.var(f"{field.name} of type {field.type}"))
    known = {f.ref: f.type for c in children(node) for f in c.fields}
    own = {} if alone is None else alone.own
    translator = PlanTranslator(lambda column: known.get((column.table, column.name)), alone is not None, own)
    match node:
        case Scan() | Union() | SetOperation() | Consolidate():
            return node
        case Values():
            return replace(node, rows=tuple(_row(translator, node, row) for row in node.rows))
        case Filter() | Join() | OuterJoin() | SemiJoin():
            return replace(node, conditions=tuple(_condition(translator, c) for c in node.conditions))
        case Project() | Window():
            return replace(node, items=_items(translator, node.items))
        case Aggregate():
            keys, aggregates = _items(translator, node.keys), _items(translator, node.aggregates)
            return replace(node, keys=keys, aggregates=aggregates)
        case Repeat():
            return replace(node, times=translator.term(node.times).sql)
        case Restrict():
            return replace(node, expression=translator.term(node.expression).sql)
        case During():
            return replace(node, condition=_condition(translator, node.condition))
        case Unnest():
            return replace(node, array=translator.term(node.array).sql)
        case Fixpoint():
            raise NotAgreed(exp.var("a recursive query"))
        case _:
            assert_never(node)


def _row(translator: PlanTranslator, node: Values, row: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return tuple(_value(translator, e, c.type) for e, c in zip(row, node.columns, strict=True))


def _items(translator: PlanTranslator, items: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(replace(i, expression=_value(translator, i.expression, i.type)) for i in items)


def _value(translator: PlanTranslator, expression: Expression, type: str) -> Expression:
    """An expression whose values have a type, which Spark gave it; if it seems to be another, it was misunderstood."""
    if is_ranked(type) and isinstance(expression, exp.Column):
        return expression
    term = translator.term(expression)
    if types.has_void(term.type) and term.type != "void" and common_type([term.type, type]) == type:
        return converted(term, type).sql
    if term.type not in (type, "void") and not _has_room(term, type):
        raise NotAgreed(exp.Paren(this=expression.copy()))
    return term.sql


def _has_room(term: TypedExpression, type: str) -> bool:
    """Whether the cast to a column's type keeps all digits of an exact number, or fails."""
    places = (types.decimal(type) or (0, 0))[1]
    is_exact = type in types.INTEGRAL or types.decimal(type) is not None
    return term.is_exact and is_exact and (term.decimal or (0, 0))[1] <= places


def _condition(translator: PlanTranslator, condition: Expression) -> Expression:
    term = translator.term(condition)
    if term.type not in ("boolean", "void"):
        raise NotAgreed(condition)
    return term.sql
