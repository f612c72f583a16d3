"""Aggregates whose answer would depend on the order of rows, written so that it does not.

=========================================  ====================================================================
``collect_list``, ``array_agg``            the array sorted; NULLs are left out, of no rows it is empty
``collect_set``                            the same, each value once
``listagg``, ``string_agg``                in the order of WITHIN GROUP, ties by the text itself; else sorted
``max_by(x, y)``, ``min_by(x, y)``         of several rows with the extreme ``y`` the greatest, or least, ``x``
``mode(x)``                                of several most frequent values the least
``percentile``, ``median`` and their like  of the sorted values; the same arithmetic on every engine
``regr_avgx``, ``regr_avgy``               the average of that argument, where both are there
``any``, ``some``, ``every``               under the names all engines know
=========================================  ====================================================================

The translation is from tree to tree, before names are resolved, so that the analyzer and the plan see the same.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, filled, template
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.arguments import check_arguments
from tidings.lang.sql.query.select.stages import by_rows

_COLLECTS = exp.ArrayAgg | exp.ArrayUniqueAgg
_PERCENTILES = exp.Quantile | exp.Median | exp.PercentileCont | exp.PercentileDisc
_AVERAGES_OF_PAIRS = exp.RegrAvgx | exp.RegrAvgy
_TRANSLATED = _COLLECTS | _PERCENTILES | exp.GroupConcat | exp.ArgMax | exp.ArgMin | exp.Mode | _AVERAGES_OF_PAIRS
_WRAPPERS = exp.WithinGroup | exp.Filter | exp.Window


def in_canonical_order(ctx: Context, node: exp.Select) -> exp.Select:
    """A SELECT whose aggregates do not depend on the order of rows; without subqueries in its expressions."""
    clauses = ("where", "having", "qualify", "order")  # those in WHERE are of the query around
    parts = [*node.expressions, *(c for a in clauses if (c := node.args.get(a)) is not None)]
    if not any(_is_translated(n) for p in parts for n in p.walk()):
        return node
    tree = node.copy()
    tree.set("expressions", [_item(ctx, e) for e in tree.expressions])
    for arg in clauses:
        if tree.args.get(arg) is not None:
            tree.set(arg, canonical(ctx, tree.args[arg]))
    return tree


def _is_translated(node: Expression) -> bool:
    if isinstance(node, _TRANSLATED):
        return not isinstance(node, exp.ApproxQuantile)
    return _quantifier(node) is not None


def _quantifier(node: Expression) -> type[exp.AggFunc] | None:
    """What ``any``, ``some`` or ``every`` is as an aggregate; not the ANY of a comparison."""
    if isinstance(node, exp.Any):
        return None if isinstance(node.parent, exp.Binary) and node.arg_key == "expression" else exp.LogicalOr
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) and len(node.expressions) == 1 else ""
    return {"some": exp.LogicalOr, "every": exp.LogicalAnd}.get(name)


def _item(ctx: Context, item: Expression) -> Expression:
    """An item of the list under the name it has as it is written."""
    settled = canonical(ctx, item)
    if settled is item or isinstance(item, exp.Alias | exp.Aliases) or functions.is_generator(item):
        return settled
    return settled.as_(item.sql(DIALECT, normalize_functions="lower"), quoted=True)


def canonical(ctx: Context, expression: Expression) -> Expression:
    """An expression whose aggregates do not depend on the order of rows."""
    if not any(_is_translated(n) for n in expression.walk()):
        return expression
    whole = exp.Tuple(expressions=[expression.copy()])
    for call in [n for n in whole.walk() if _is_translated(n)]:
        top: Expression = call
        while isinstance(top.parent, _WRAPPERS) and top.arg_key == "this":
            top = top.parent
        top.replace(_translated(ctx, call, top))
    settled: Expression = whole.expressions[0]
    return settled.pop()


def _translated(ctx: Context, call: Expression, top: Expression) -> Expression:
    """One call; ``top`` is the call with its WITHIN GROUP, FILTER and OVER."""

    def over(aggregate: Expression) -> Expression:
        """Another aggregate with the same FILTER and OVER."""
        return _rewrapped(top, call, aggregate)

    check_arguments(ctx, call)
    if call.this is None and not isinstance(call.parent, exp.WithinGroup):
        reason = f"{functions.function_name(call)}() has no argument"
        raise InvalidExpression(ctx.place(call) or ctx.place(top), reason=reason)
    in_group = isinstance(call.parent, exp.WithinGroup) and not isinstance(call, exp.Mode | _PERCENTILES)
    if in_group or (isinstance(call, _COLLECTS) and isinstance(_argument(call)[0], exp.Order)):
        hint = "its array is sorted; array_sort(…) gives it another order, and listagg a text of it"
        reason = f"{functions.function_name(call)}() has no ORDER BY"
        raise InvalidExpression(
            ctx.place(call) or ctx.place(top), hint if isinstance(call, _COLLECTS) else None, reason=reason
        )
    match call:
        case exp.ArrayAgg() | exp.ArrayUniqueAgg():
            return _collected(call, over, top)
        case exp.GroupConcat():
            return over(_listed(call))
        case exp.ArgMax() | exp.ArgMin():
            return _extreme(ctx, call, over)
        case exp.Mode():
            return over(_mode(call)) if not isinstance(call.parent, exp.WithinGroup) else top.copy()
        case exp.RegrAvgx() | exp.RegrAvgy():
            return over(_average_of_pairs(call))
        case exp.Any() | exp.Anonymous():
            kind = _quantifier(call)
            assert kind is not None
            return over(kind(this=(call.this.unnest() if isinstance(call, exp.Any) else call.expressions[0]).copy()))
        case _:
            return _percentiles(ctx, call, over)


def _rewrapped(top: Expression, call: Expression, aggregate: Expression) -> Expression:
    if top is call:
        return aggregate
    inner = _rewrapped(top.this, call, aggregate)
    if isinstance(top, exp.WithinGroup):
        return inner
    wrapped = top.copy()
    wrapped.set("this", inner)
    return wrapped


def _argument(call: Expression) -> tuple[Expression, bool]:
    """What a call aggregates, and whether each value counts once."""
    argument = call.this
    return (argument.expressions[0], True) if isinstance(argument, exp.Distinct) else (argument, False)


def _collected(call: Expression, over: Callable[[Expression], Expression], top: Expression) -> Expression:
    value, distinct = _argument(call)
    rows = over(exp.ArrayAgg(this=value.copy(), nulls_excluded=True))
    if distinct or isinstance(call, exp.ArrayUniqueAgg):
        rows = exp.ArrayDistinct(this=rows)
    ordered = isinstance(top, exp.Window) and top.args.get("order") is not None and by_rows(top)
    if not ordered:
        rows = filled("SORT_ARRAY(x)", x=rows)
    return filled("COALESCE(x, ARRAY())", x=rows)


def _listed(call: exp.GroupConcat) -> Expression:
    argument = call.this
    order = argument.expressions if isinstance(argument, exp.Order) else []
    value = argument.this if isinstance(argument, exp.Order) else argument
    distinct = isinstance(value, exp.Distinct)
    value = value.expressions[0] if distinct else value
    if not order:
        value = filled("CAST(x AS STRING)", x=value)
    if not any(o.this == value for o in order):
        order = [*order, exp.Ordered(this=value.copy(), nulls_first=True)]
    listed = exp.Distinct(expressions=[value.copy()]) if distinct else value.copy()
    separator = call.args.get("separator") or exp.Literal.string("")
    return exp.GroupConcat(this=exp.Order(this=listed, expressions=order), separator=separator.copy())


def _extreme(ctx: Context, call: exp.ArgMax | exp.ArgMin, over: Callable[[Expression], Expression]) -> Expression:
    """The value in the row that is greatest or least in an order; the value breaks ties, and NULL is the least."""
    value, _ = _argument(call)
    function = "MAX" if isinstance(call, exp.ArgMax) else "MIN"
    several = call.args.get("count")
    if several is not None:
        return _extremes(ctx, call, several, over)
    row = f"{function}({_RANKED})"
    best = over(filled(row, x=value, y=call.expression))
    return exp.Dot(this=exp.Paren(this=best), expression=exp.to_identifier("x"))


_RANKED = "CASE WHEN NOT y IS NULL THEN STRUCT(y AS y, NOT x IS NULL AS there, x AS x) END"


def _extremes(
    ctx: Context, call: Expression, several: Expression, over: Callable[[Expression], Expression]
) -> Expression:
    """The values in the first rows of an order, as an array; NULL where there are no rows."""
    if not isinstance(several, exp.Literal) or not several.name.isdigit() or not 1 <= int(several.name) <= 100_000:
        raise InvalidExpression(ctx.place(call), reason="max_by and min_by are of 1 to 100000 rows")
    value, _ = _argument(call)
    rows = over(exp.ArrayAgg(this=filled(_RANKED, x=value, y=call.expression), nulls_excluded=True))
    down = "TRUE" if isinstance(call, exp.ArgMin) else "FALSE"
    ranked = filled(f"SORT_ARRAY(x, {down})", x=rows)
    text = f"CASE WHEN SIZE(x) > 0 THEN TRANSFORM(SLICE(x, 1, {several.name}), r -> r.x) END"
    tree = template(text)
    for name in [c for c in tree.find_all(exp.Column) if c.name == "x" and not c.table]:
        name.replace(ranked.copy())
    return tree


def _average_of_pairs(call: Expression) -> Expression:
    y, x = call.this, call.expression
    averaged = x if isinstance(call, exp.RegrAvgx) else y
    return filled("AVG(CASE WHEN NOT y IS NULL AND NOT x IS NULL THEN v END)", y=y, x=x, v=averaged)


def _mode(call: exp.Mode) -> Expression:
    value, _ = _argument(call)
    order = exp.Order(expressions=[exp.Ordered(this=value.copy(), nulls_first=True)])
    return exp.WithinGroup(this=exp.Mode(), expression=order)


def _percentiles(ctx: Context, call: Expression, over: Callable[[Expression], Expression]) -> Expression:
    value, distinct = _argument(call)
    at: Expression | None = call.args.get("quantile")
    descending = False
    if isinstance(call, exp.Median):
        at = exp.Literal.number("0.5")
    elif isinstance(call, exp.PercentileCont | exp.PercentileDisc):
        at = call.this
        if not isinstance(call.parent, exp.WithinGroup):
            raise InvalidExpression(ctx.place(call), reason="a percentile needs WITHIN GROUP (ORDER BY …)")
        ordered = call.parent.expression.expressions[0]
        value, descending = ordered.this, bool(ordered.args.get("desc"))
    shares = at.expressions if isinstance(at, exp.Array) else [at]
    if not all(isinstance(s, exp.Literal) and s.is_number for s in shares):
        raise ctx.unsupported("a percentile that is not a number", call)
    if not all(0 <= float(s.name) <= 1 for s in shares if s is not None):
        raise InvalidExpression(ctx.place(call), reason="a percentile lies between 0 and 1")
    values = over(exp.ArrayAgg(this=filled("CAST(x AS DOUBLE)", x=value), nulls_excluded=True))
    if distinct:
        values = exp.ArrayDistinct(this=values)
    values = filled("SORT_ARRAY(x, FALSE)" if descending else "SORT_ARRAY(x)", x=values)
    template = _DISCRETE if isinstance(call, exp.PercentileDisc) else _CONTINUOUS
    percentiles = [filled(template, x=values, p=s) for s in shares if s is not None]
    if not isinstance(at, exp.Array):
        return percentiles[0]
    there = exp.If(this=filled("SIZE(x) > 0", x=values), true=exp.Array(expressions=percentiles))
    return exp.Case(ifs=[there])


# DuckDB takes an item of a list that is the constant NULL for a text: hence the casts.
_PLACE = "(SIZE(x) - 1) * CAST(p AS DOUBLE)"
_LOWER, _UPPER = (f"CAST(ELEMENT_AT(x, CAST({round}({_PLACE}) AS INT) + 1) AS DOUBLE)" for round in ("FLOOR", "CEIL"))
_CONTINUOUS = (
    f"CASE WHEN SIZE(x) > 0 THEN CASE WHEN {_LOWER} = {_UPPER} THEN {_LOWER} "
    f"ELSE (CEIL({_PLACE}) - {_PLACE}) * {_LOWER} + ({_PLACE} - FLOOR({_PLACE})) * {_UPPER} END END"
)
_DISCRETE = "CASE WHEN SIZE(x) > 0 THEN CAST(ELEMENT_AT(x, GREATEST(CAST(CEIL(SIZE(x) * p) AS INT), 1)) AS DOUBLE) END"
