"""``sum(x ORDER BY x)`` and its like for engines whose aggregates know no order: fold the sorted array of the values.

The arithmetic is that of engines that have the order: a sum from zero, a mean as sum over count, a variance by adding
one value after the other to a running mean and a running sum of squares.  So are covariances and what is made of them,
over pairs, and skewness and kurtosis.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression, filled, template

_SUM = "AGGREGATE(SORT_ARRAY(xs), CAST(0 AS DOUBLE), (total, x) -> total + x)"
_MEAN = "(b.m + (x - b.m) / (b.n + 1))"
_SQUARES = (
    "AGGREGATE(SORT_ARRAY(xs), STRUCT(CAST(0 AS DOUBLE) AS n, CAST(0 AS DOUBLE) AS m, CAST(0 AS DOUBLE) AS s), "
    f"(b, x) -> STRUCT(b.n + 1 AS n, {_MEAN} AS m, b.s + (x - b.m) * (x - {_MEAN}) AS s), b -> IF(least, answer, NULL))"
)


def _squares(least: str, answer: str) -> str:
    return _SQUARES.replace("least", least).replace("answer", answer)


_TEMPLATES: dict[type[Expression], str] = {
    exp.Sum: f"CASE WHEN SIZE(xs) > 0 THEN {_SUM} END",
    exp.Avg: f"CASE WHEN SIZE(xs) > 0 THEN {_SUM} / SIZE(xs) END",
    exp.Variance: _squares("b.n > 1", "b.s / (b.n - 1)"),
    exp.VariancePop: _squares("b.n > 0", "b.s / b.n"),
    exp.Stddev: _squares("b.n > 1", "SQRT(b.s / (b.n - 1))"),
    exp.StddevSamp: _squares("b.n > 1", "SQRT(b.s / (b.n - 1))"),
    exp.StddevPop: _squares("b.n > 0", "SQRT(b.s / b.n)"),
}


_ZERO = "CAST(0 AS DOUBLE)"
_MX, _MY = (f"(b.m{v} + (p.{v} - b.m{v}) / (b.n + 1))" for v in "xy")
_PAIRS = (
    f"AGGREGATE(SORT_ARRAY(xs), STRUCT({_ZERO} AS n, {_ZERO} AS mx, {_ZERO} AS my, {_ZERO} AS xy, {_ZERO} AS xx, "
    f"{_ZERO} AS yy), (b, p) -> STRUCT(b.n + 1 AS n, {_MX} AS mx, {_MY} AS my, "
    f"b.xy + (p.x - b.mx) * (p.y - {_MY}) AS xy, "
    f"b.xx + (p.x - b.mx) * (p.x - {_MX}) AS xx, b.yy + (p.y - b.my) * (p.y - {_MY}) AS yy), b -> answer)"
)
_ANSWERS: dict[type[Expression], str] = {
    exp.CovarPop: "IF(b.n > 0, b.xy / b.n, NULL)",
    exp.CovarSamp: "IF(b.n > 1, b.xy / (b.n - 1), NULL)",
    exp.Corr: "IF(b.n > 1, TRY_DIVIDE(b.xy, SQRT(b.xx * b.yy)), NULL)",
    exp.RegrSxx: "IF(b.n > 0, b.xx, NULL)",
    exp.RegrSyy: "IF(b.n > 0, b.yy, NULL)",
    exp.RegrSxy: "IF(b.n > 0, b.xy, NULL)",
    exp.RegrSlope: "TRY_DIVIDE(b.xy, b.xx)",
    exp.RegrIntercept: "b.my - TRY_DIVIDE(b.xy, b.xx) * b.mx",
    exp.RegrR2: "CASE WHEN b.n = 0 OR b.xx = 0 THEN NULL WHEN b.yy = 0 THEN 1D ELSE b.xy * b.xy / (b.xx * b.yy) END",
}
"""Of pairs ``y`` and ``x`` in this order, as the functions have them."""

_FAR, _STEP = "(x - b.m)", "((x - b.m) / (b.n + 1))"
_SECOND = f"(b.p + {_FAR} * ({_FAR} - {_STEP}))"
_THIRD = f"(b.q - 3 * {_STEP} * {_SECOND} + {_FAR} * ({_FAR} * {_FAR} - {_STEP} * {_STEP}))"
_FOURTH = (
    f"(b.r - 4 * {_STEP} * {_THIRD} - 6 * {_STEP} * {_STEP} * {_SECOND} "
    f"+ {_FAR} * ({_FAR} * {_FAR} * {_FAR} - {_STEP} * {_STEP} * {_STEP}))"
)
_MOMENTS = (
    f"AGGREGATE(SORT_ARRAY(xs), STRUCT({_ZERO} AS n, {_ZERO} AS m, {_ZERO} AS p, {_ZERO} AS q, {_ZERO} AS r), "
    f"(b, x) -> STRUCT(b.n + 1 AS n, {_MEAN} AS m, {_SECOND} AS p, {_THIRD} AS q, {_FOURTH} AS r), b -> answer)"
)
_TEMPLATES |= {
    exp.Skewness: _MOMENTS.replace("answer", "TRY_DIVIDE(SQRT(b.n) * b.q, SQRT(b.p * b.p * b.p))"),
    exp.Kurtosis: _MOMENTS.replace("answer", "TRY_DIVIDE(b.n * b.r, b.p * b.p) - 3"),
}


def by_folding(call: Expression) -> Expression | None:
    """An aggregate in an order as a fold; None if the node is something else."""
    if type(call) in _ANSWERS and isinstance(call.expression, exp.Order):
        return _of_pairs(call)
    if type(call) not in _TEMPLATES or not isinstance(call.this, exp.Order):
        return None
    value = call.this.this
    once = isinstance(value, exp.Distinct)
    value = exp.Cast(this=(value.expressions[0] if once else value).copy(), to=exp.DataType.build("double"))
    values: Expression = exp.ArrayAgg(this=value, nulls_excluded=True)
    if once:
        values = exp.ArrayDistinct(this=values)
    tree = template(_TEMPLATES[type(call)])
    for name in [c for c in tree.find_all(exp.Column) if c.name == "xs" and not c.table]:
        name.replace(values.copy())
    return tree


def _of_pairs(call: Expression) -> Expression:
    """An aggregate of two arguments, over the pairs in which both are there."""
    y, x = call.this, call.expression.this
    pair = filled(
        "CASE WHEN NOT y IS NULL AND NOT x IS NULL THEN STRUCT(CAST(y AS DOUBLE) AS y, CAST(x AS DOUBLE) AS x) END",
        x=x,
        y=y,
    )
    tree = template(_PAIRS.replace("answer", _ANSWERS[type(call)]))
    for name in [c for c in tree.find_all(exp.Column) if c.name == "xs" and not c.table]:
        name.replace(exp.ArrayAgg(this=pair.copy(), nulls_excluded=True))
    return tree
