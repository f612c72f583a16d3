"""Skewness and kurtosis, correlations and regressions: folds over the sorted values, as on Spark.

DuckDB has functions of these names, and other answers: its skewness is that of a sample, and the correlation of
constants is not NULL.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tidings.engine.agreed.arithmetic import typed
from tidings.engine.agreed.expression import Translator
from tidings.engine.agreed.term import NotAgreed, TypedExpression, words
from tidings.engine.sql.ordered_fold import by_folding
from tidings.ir.expression import Expression

_OF_ONE = (exp.Skewness, exp.Kurtosis)
_REGRESSIONS = (exp.RegrIntercept, exp.RegrR2, exp.RegrSlope, exp.RegrSxx, exp.RegrSxy)
_OF_PAIRS = (exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSyy, *_REGRESSIONS)
FUNCTIONS = (*_OF_ONE, *_OF_PAIRS, exp.RegrCount)


def said(
    translator: Translator, call: Expression, over: Callable[[Expression], Expression], *, only_type: bool
) -> TypedExpression:
    """An aggregate of numbers taken as floats; with ``only_type`` before it is given its order."""
    if isinstance(call, exp.RegrCount):
        text = "count(CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL ELSE 1 END)"
        return TypedExpression(over(words(text, *_numbers(translator, call))), "bigint")
    folded = by_folding(call)
    if folded is not None:
        return translator.term(folded)
    if not only_type:
        raise NotAgreed(call)
    values = _numbers(translator, call)
    return TypedExpression(
        over(words("sum(" + " + ".join(f"{{{n}}}" for n, _ in enumerate(values)) + ")", *values)), "double"
    )


def _numbers(translator: Translator, call: Expression) -> list[TypedExpression]:
    """The arguments as floats."""
    parts = [call.this] if isinstance(call, _OF_ONE) else [call.this, call.args.get("expression")]
    if any(part is None or isinstance(part, exp.Distinct) for part in parts):
        raise NotAgreed(call)
    values = [translator.term(part) for part in parts]
    if not all(v.is_exact or v.type in ("float", "double", "void") for v in values):
        raise NotAgreed(call)
    return [typed(v, "double") for v in values]
