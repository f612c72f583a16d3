"""Arithmetic that has no errors: ``try_add`` and its like are NULL where there is no number.

Whole numbers are computed with more room than they need, and kept if they fit.  Decimals are Spark's alone.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.engine.agreed.arithmetic import typed
from tidings.engine.agreed.numeric import common_type
from tidings.engine.agreed.term import NotAgreed, TypedExpression, duckdb_type, words
from tidings.ir import types
from tidings.ir.expression import Expression

_OPERATORS: dict[type[Expression], str] = {exp.SafeAdd: "+", exp.SafeSubtract: "-", exp.SafeMultiply: "*"}


def binary(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Two numbers added, subtracted, multiplied or divided."""
    kind = common_type([left.type, right.type])
    if kind not in types.INTEGRAL and kind != "double":
        raise NotAgreed(node)
    if isinstance(node, exp.SafeDivide):
        text = "CASE WHEN {1} = 0 THEN NULL ELSE {0} / {1} END"
        return TypedExpression(words(text, typed(left, "double"), typed(right, "double")), "double")
    operator = _OPERATORS[type(node)]
    if kind == "double":
        return TypedExpression(words(f"{{0}} {operator} {{1}}", typed(left, kind), typed(right, kind)), kind)
    text = f"TRY_CAST(CAST({{0}} AS HUGEINT) {operator} CAST({{1}} AS HUGEINT) AS {duckdb_type(kind)})"
    return TypedExpression(words(text, left, right), kind)


def remainder(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """``try_mod``: NULL where the divisor is zero."""
    kind = common_type([left.type, right.type])
    if kind not in types.INTEGRAL and kind != "double":
        raise NotAgreed(node)
    text = "CASE WHEN {1} = 0 THEN NULL ELSE {0} % {1} END"
    return TypedExpression(words(text, typed(left, kind), typed(right, kind)), kind)
