"""``sum(x ORDER BY x)`` and its like for engines whose aggregates know no order: fold the sorted array of the values.

The arithmetic is that of engines that have the order: a sum from zero, a mean as sum over count, a variance by adding
one value after the other to a running mean and a running sum of squares.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression, template

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


def by_folding(call: Expression) -> Expression | None:
    """An aggregate in an order as a fold; None if the node is something else."""
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
