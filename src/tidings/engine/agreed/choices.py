"""Values that are chosen among several: CASE, IF, COALESCE, the greatest and the least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from tidings.engine.agreed.alike import side, widened
from tidings.engine.agreed.numeric import common_type
from tidings.engine.agreed.term import NotAgreed, TypedExpression, words
from tidings.ir.expression import Expression
from tidings.ir.types import is_nested

if TYPE_CHECKING:
    from tidings.engine.agreed.expression import Translator


def case(translator: Translator, node: exp.Case) -> TypedExpression:
    conditions = [_when(translator, node, i.this) for i in node.args["ifs"]]
    default = node.args.get("default")
    return _chosen(translator, node, conditions, [i.args["true"] for i in node.args["ifs"]], default)


def _when(translator: Translator, node: exp.Case, when: Expression) -> Expression:
    if node.this is None:
        return side(translator.of(when, "boolean"))
    return side(translator.compared(exp.EQ(this=node.this.copy(), expression=when.copy())))


def if_(translator: Translator, node: exp.If) -> TypedExpression:
    if node.args.get("false") is None:
        raise NotAgreed(node)
    condition = side(translator.of(node.this, "boolean"))
    return _chosen(translator, node, [condition], [node.args["true"]], node.args.get("false"))


def _chosen(
    translator: Translator,
    node: Expression,
    conditions: list[Expression],
    outcomes: list[Expression],
    default: Expression | None,
) -> TypedExpression:
    """The outcome of the first condition that holds, in the type that all outcomes have in common."""
    terms = [translator.term(o) for o in (*outcomes, *([default] if default is not None else []))]
    type_ = common_type([t.type for t in terms])
    if type_ is None:
        raise NotAgreed(node)
    values = [side(widened(node, t, type_)) for t in terms]
    ifs = [exp.If(this=c, true=v) for c, v in zip(conditions, values, strict=False)]
    last = values[-1] if default is not None else None
    return TypedExpression(exp.Case(ifs=ifs, default=last), type_)


def coalesce(translator: Translator, node: Expression) -> TypedExpression:
    return _first_of(translator, node, "COALESCE", [node.this, *node.expressions])


def extreme(translator: Translator, node: Expression) -> TypedExpression:
    """The greatest or least of several values; NULLs are passed over."""
    if not node.expressions:
        raise NotAgreed(node)
    greatest = isinstance(node, exp.Greatest)
    term = _first_of(translator, node, "GREATEST" if greatest else "LEAST", [node.this, *node.expressions])
    if not is_nested(term.type):
        return term
    end = exp.false() if greatest else exp.true()  # DuckDB's own would take a NULL inside for the greatest value
    listed = exp.ArrayCompact(this=exp.Array(expressions=[node.this.copy(), *(e.copy() for e in node.expressions)]))
    first = exp.Bracket(this=exp.ArraySort(this=listed, asc=end), expressions=[exp.Literal.number(1)], offset=1)
    first.set("safe", True)
    return translator.term(first)


def _first_of(translator: Translator, node: Expression, function: str, parts: list[Expression]) -> TypedExpression:
    terms = [translator.term(p) for p in parts]
    type_ = common_type([t.type for t in terms])
    if type_ is None:
        raise NotAgreed(node)
    values = [widened(node, t, type_) for t in terms]
    places = ", ".join(f"{{{n}}}" for n in range(len(values)))
    return TypedExpression(words(f"{function}({places})", *values), type_)


def nullif(translator: Translator, node: Expression) -> TypedExpression:
    value, equal = (
        translator.term(node.this),
        translator.compared(exp.EQ(this=node.this.copy(), expression=node.expression.copy())),
    )
    return TypedExpression(words("CASE WHEN {0} THEN NULL ELSE {1} END", equal, value), value.type)


def nvl2(translator: Translator, node: Expression) -> TypedExpression:
    if node.args.get("false") is None:
        raise NotAgreed(node)
    there = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.Null()))
    return translator.term(exp.If(this=there, true=node.args["true"].copy(), false=node.args["false"].copy()))
