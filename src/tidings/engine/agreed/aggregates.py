"""Aggregates and window functions in DuckDB's words.

Sums of floats depend on the order in which they are added.  Groups add them in the order of the numbers (see
``lang/sql/query/floating.py``), on both engines, and so are agreed upon; frames of windows are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from tidings.analysis.functions import function_name, is_aggregate
from tidings.engine.agreed import statistics
from tidings.engine.agreed.alike import side
from tidings.engine.agreed.arithmetic import quotient, typed
from tidings.engine.agreed.expression import Translator
from tidings.engine.agreed.nested import order_key
from tidings.engine.agreed.nested import ordered as ranked
from tidings.engine.agreed.numeric import MOST_DIGITS, decimal_type
from tidings.engine.agreed.signature import fitted
from tidings.engine.agreed.term import NotAgreed, TypedExpression, converted, is_known, is_plain, words
from tidings.ir import types
from tidings.ir.expression import AVERAGE, Expression

_FLOATING = (exp.Sum, exp.Avg, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevSamp, exp.StddevPop)
_OF_LISTS: dict[type[Expression], str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
}
_NUMBERING = (exp.RowNumber, exp.Rank, exp.DenseRank)
_SHARES = (exp.PercentRank, exp.CumeDist)
_ENDS = ("UNBOUNDED", "CURRENT ROW")
_RANKED = ["y", "there", "x"]
_SLOTS = frozenset({"__since", "__until", "__now"})
_CLOCK = {
    **dict.fromkeys(("now", "current_timestamp"), ("now()", "timestamp")),
    **dict.fromkeys(("current_date", "curdate"), ("current_date", "date")),
    "localtimestamp": ("CAST(now() AS TIMESTAMP)", "timestamp_ntz"),
}
"""Functions that read the clock; a plan has none of them."""

Over: TypeAlias = Callable[[Expression], Expression]


def is_ranked(type: str) -> bool:
    """Whether values of a type are the rows of which ``max_by`` and ``min_by`` take the first or last.

    They have the order, whether there is a value, and the value; so none of these three is ever a NULL that is
    compared.  What is inside of them may be one.
    """
    fields = types.fields(type) if type.startswith("struct<") else ()
    return [name for name, _ in fields] == _RANKED and all(is_known(t) for _, t in fields)


def _is_flat(type: str) -> bool:
    """Whether the fields of a struct hold no other values."""
    return all(is_plain(kind) for _, kind in types.fields(type))


def _alone(call: Expression) -> Expression:
    return call


def _direction(ordered: exp.Ordered) -> str:
    """How values are put in order; NULLs are the least."""
    descending, first = bool(ordered.args.get("desc")), ordered.args.get("nulls_first")
    first = not descending if first is None else first
    return f"{'DESC' if descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"


def _is_in_order_of_values(window: exp.Window) -> bool:
    """Whether a window adds all numbers of a partition in their order (:mod:`tidings.lang.sql.query.floating`)."""
    order, spec = window.args.get("order"), window.args.get("spec")
    if order is None or spec is None or order.expressions[0].this != window.this.this:
        return False
    ends = spec.args.get("start"), spec.args.get("end")
    return spec.text("kind").upper() == "ROWS" and all(str(e).upper() == "UNBOUNDED" for e in ends)


def _is_of_rows(window: exp.Window) -> bool:
    """Whether a window's frames are of rows, which its order tells apart."""
    spec = window.args.get("spec")
    return window.args.get("order") is not None and spec is not None and spec.text("kind").upper() == "ROWS"


@dataclass(slots=True)
class PlanTranslator(Translator):
    """Says the bound expressions of a plan, its aggregates and window functions among them."""

    only_types: bool = False
    """Whether nothing but types is asked for: what depends on an order gets it later."""

    def term(self, node: Expression) -> TypedExpression:
        if self.only_types and isinstance(node, exp.Func) and (clock := _CLOCK.get(function_name(node) or "")):
            return TypedExpression(words(clock[0]), clock[1])
        match node:
            case exp.Filter():
                return self._filtered(node)
            case exp.Window():
                return self._window(node)
            case exp.AggFunc():
                return self._aggregate(node, node, _alone)
            case exp.Anonymous(this=str(name)) if name.lower() in _SLOTS:
                return TypedExpression(node.copy(), "bigint")
            case exp.Anonymous(this=str(name)) if name.lower() in ("try_sum", "try_avg"):
                return self._aggregate(node, node, _alone)
            case exp.Anonymous(this=str(name)) if name.lower() == "raise_error":
                return TypedExpression(words("error({0})", self.of(node.expressions[0], "string")), "void")
            case exp.Cast(this=exp.Anonymous(this=name) as average) if name == AVERAGE:
                return self._kept_average(node, average)
            case exp.ArrayDistinct(this=exp.Array(expressions=values)):
                numbers = [side(converted(self.term(v), "bigint")) for v in values]
                return TypedExpression(exp.ArrayDistinct(this=exp.Array(expressions=numbers)), "array<bigint>")
            case exp.ArrayDistinct():
                return self._distinct(node)
            case exp.WithinGroup():
                return self._aggregate(node, node, _alone)
            case _:
                return Translator.term(self, node)

    def _kept_average(self, node: exp.Cast, average: exp.Anonymous) -> TypedExpression:
        """An average of a kept sum and count; see :func:`tidings.ir.expression.average`."""
        total, count, places = average.expressions
        call = exp.Anonymous(this=AVERAGE, expressions=[self.term(total).sql, self.term(count).sql, places.copy()])
        return TypedExpression(exp.Cast(this=call, to=node.args["to"].copy()), types.canonical(node.args["to"]))

    # aggregates

    def _filtered(self, node: exp.Filter) -> TypedExpression:
        where = exp.Where(this=self.of(node.expression.this, "boolean").sql)
        return self._aggregate(node.this, node, lambda call: exp.Filter(this=call, expression=where.copy()))

    def _aggregate(self, call: Expression, node: Expression, over: Over) -> TypedExpression:
        """An aggregate; ``over`` puts its FILTER and OVER around it."""
        argument = call.this
        if self.only_types and isinstance(call, _FLOATING) and not isinstance(argument, exp.Order):
            of_floats = self._float_aggregate(call, over)
            if of_floats is not None:
                return of_floats
        if isinstance(call, statistics.FUNCTIONS):
            return statistics.said(self, call, over, only_type=self.only_types)
        if isinstance(argument, exp.Order):
            return self._listed(call, over) if isinstance(call, exp.GroupConcat) else self._in_order(call, over)
        return self._of_values(call, node, over)

    def _of_values(self, call: Expression, node: Expression, over: Over) -> TypedExpression:
        """An aggregate that takes values as they come."""
        argument = call.this
        match call:
            case exp.Count():
                return self._count(call, over)
            case exp.CountIf():
                counted = exp.Case(ifs=[exp.If(this=self.of(argument, "boolean").sql, true=exp.Literal.number(1))])
                return TypedExpression(over(exp.Count(this=counted)), "bigint")
            case exp.LogicalAnd() | exp.LogicalOr():
                return TypedExpression(over(type(call)(this=self.of(argument, "boolean").sql)), "boolean")
            case exp.Min() | exp.Max() if not call.expressions:
                value = self.term(argument)
                if is_plain(value.type) or (is_ranked(value.type) and _is_flat(value.type)):
                    return TypedExpression(over(type(call)(this=value.sql)), value.type)
                function = "arg_max" if isinstance(call, exp.Max) else "arg_min"
                key = order_key(node, value)
                return TypedExpression(over(words(f"{function}({{0}}, {{1}})", value, key)), value.type)
            case exp.Anonymous(expressions=[summed]):
                return self._tried_sum(call, summed, over)
            case exp.Sum():
                return self._sum(call, over)
            case exp.Avg():
                return self._average(call, over)
            case exp.ArrayAgg():
                return self._collected(call, over)
            case exp.WithinGroup(this=exp.Mode()):
                return self._mode(call, over)
            case exp.BitwiseAndAgg() | exp.BitwiseOrAgg() | exp.BitwiseXorAgg():
                value = self.of(argument, *sorted(types.INTEGRAL))
                return TypedExpression(over(type(call)(this=value.sql)), value.type)
            case _:
                raise NotAgreed(node)

    def _float_aggregate(self, call: Expression, over: Over) -> TypedExpression | None:
        """An aggregate of floats, or of numbers as floats, that will be given an order."""
        once = isinstance(call.this, exp.Distinct)
        value = self.term(call.this.expressions[0] if once else call.this)
        exact = isinstance(call, exp.Sum) or (isinstance(call, exp.Avg) and value.type != "bigint")
        if value.type not in ("float", "double") and (exact or not value.is_exact):
            return None
        floats = typed(value, "double").sql
        return TypedExpression(over(type(call)(this=exp.Distinct(expressions=[floats]) if once else floats)), "double")

    def _collected(self, call: exp.ArrayAgg, over: Over) -> TypedExpression:
        """An array of the values that are not NULL."""
        value = self.term(call.this)
        if not call.args.get("nulls_excluded"):
            raise NotAgreed(call)
        rows = TypedExpression(over(words("list({0})", value)), "")
        type = f"array<{value.type}>"
        return TypedExpression(words("list_filter({0}, lambda element: element IS NOT NULL)", rows), type)

    def _distinct(self, node: exp.ArrayDistinct) -> TypedExpression:
        """Each element of an array once, in an order that is to be given to them."""
        values = self.term(node.this)
        if not isinstance(node.parent, exp.ArraySort) or not values.type.startswith("array<"):
            raise NotAgreed(node)
        return TypedExpression(words("list_distinct({0})", values), values.type)

    def _mode(self, call: exp.WithinGroup, over: Over) -> TypedExpression:
        """The most frequent value; of several the first in the order."""
        (ordered,) = call.expression.expressions
        value = self.term(ordered.this)
        order = "DESC" if ordered.args.get("desc") else "ASC"
        return TypedExpression(
            over(words(f"mode({{0}} ORDER BY {{1}} {order})", value, ranked(call, value))), value.type
        )

    def _listed(self, call: exp.GroupConcat, over: Over) -> TypedExpression:
        """Texts one after the other, in an order."""
        listed, separator = call.this.this, call.args.get("separator") or exp.Literal.string("")
        once = isinstance(listed, exp.Distinct)
        value = fitted(call, self.term(listed.expressions[0] if once else listed), "string")
        if value is None:
            raise NotAgreed(call)
        between = self.of(separator, "string") if not isinstance(separator, exp.Null) else None
        if once and all(o.this == listed.expressions[0] for o in call.this.expressions):
            # DuckDB wants the order of distinct values to be one of the arguments, and may not see that it is
            rows = TypedExpression(over(words("list(DISTINCT {0})", value)), "array<string>")
            first = _direction(call.this.expressions[0]).replace(" NULLS", "', 'NULLS")
            text = f"list_aggregate(list_sort({{0}}, '{first}'), 'string_agg', {{1}})"
            between = between or TypedExpression(exp.Literal.string(""), "string")
            return TypedExpression(words(text, rows, between), "string")
        keys = [ranked(call, self.term(o.this)) for o in call.this.expressions]
        order = ", ".join(f"{{{n}}} {_direction(o)}" for n, o in enumerate(call.this.expressions, 2))
        text = f"string_agg({'DISTINCT ' if once else ''}{{0}}, {{1}} ORDER BY {order})"
        empty = TypedExpression(exp.Literal.string(""), "string")
        return TypedExpression(over(words(text, value, between or empty, *keys)), "string")

    def _count(self, call: exp.Count, over: Over) -> TypedExpression:
        if isinstance(call.this, exp.Star):
            return TypedExpression(over(call.copy()), "bigint")
        if call.expressions:
            there = [self.term(e) for e in (call.this, *call.expressions)]
            nulls = " OR ".join(f"{{{n}}} IS NULL" for n, _ in enumerate(there))
            return TypedExpression(over(words(f"count(CASE WHEN {nulls} THEN NULL ELSE 1 END)", *there)), "bigint")
        if not isinstance(call.this, exp.Distinct):
            return TypedExpression(over(exp.Count(this=self.term(call.this).sql)), "bigint")
        once = exp.Distinct(expressions=[self.term(e).sql for e in call.this.expressions])
        return TypedExpression(over(exp.Count(this=once)), "bigint")

    def _sum(self, call: Expression, over: Over) -> TypedExpression:
        """A sum of exact numbers."""
        value, argument = self._summed(call)
        total = TypedExpression(over(exp.Sum(this=argument)), "")
        if value.decimal is None:
            return converted(total, "bigint")
        precision, scale = value.decimal
        return converted(total, decimal_type((min(precision + 10, MOST_DIGITS), scale)))

    def _tried_sum(self, call: exp.Anonymous, summed: Expression, over: Over) -> TypedExpression:
        """``try_sum`` and ``try_avg`` of whole numbers: NULL if the sum is too large."""
        value = self.term(summed.expressions[0] if isinstance(summed, exp.Distinct) else summed)
        if value.type not in types.INTEGRAL or str(call.this).lower() not in ("try_sum", "try_avg"):
            raise NotAgreed(call)
        if str(call.this).lower() == "try_avg":
            return self._aggregate(exp.Avg(this=summed.copy()), call, over)
        total = TypedExpression(over(exp.Sum(this=self._summed(exp.Sum(this=summed.copy()))[1])), "")
        return TypedExpression(words("TRY_CAST({0} AS BIGINT)", total), "bigint")

    def _average(self, call: Expression, over: Over) -> TypedExpression:
        """An average of exact numbers: of decimals with four places more, of small whole numbers as a float."""
        value, argument = self._summed(call)
        total, count = over(exp.Sum(this=argument)), TypedExpression(over(exp.Count(this=argument.copy())), "bigint")
        if value.decimal is None:
            if value.type == "bigint":
                raise NotAgreed(call)
            return TypedExpression(
                words("CAST({0} AS DOUBLE) / NULLIF({1}, 0)", TypedExpression(total, ""), count), "double"
            )
        precision, scale = value.decimal
        summed = TypedExpression(total, decimal_type((MOST_DIGITS, scale)))
        some = TypedExpression(words("NULLIF({0}, 0)", count), "bigint")
        digits = min(precision + 4, MOST_DIGITS), min(scale + 4, MOST_DIGITS)
        if digits[0] - digits[1] < precision - scale:
            raise NotAgreed(call)
        return quotient(call, summed, some, digits)

    def _summed(self, call: Expression) -> tuple[TypedExpression, Expression]:
        """What is added, and that as the argument of an aggregate."""
        once = isinstance(call.this, exp.Distinct)
        value = self.term(call.this.expressions[0] if once else call.this)
        if not value.is_exact:
            raise NotAgreed(call)
        return value, exp.Distinct(expressions=[value.sql]) if once else value.sql

    def _in_order(self, call: Expression, over: Over) -> TypedExpression:
        """An aggregate of floats in the order of the numbers; others become floats first."""
        once = isinstance(call.this.this, exp.Distinct)
        value = self.term(call.this.this.expressions[0] if once else call.this.this)
        if not isinstance(call, _FLOATING) or not (value.is_exact or value.type in ("float", "double")):
            raise NotAgreed(call)
        floats = typed(value, "double")
        if once:  # DuckDB wants the order of distinct values to be one of the arguments, and may not see that it is
            rows = TypedExpression(over(words("list(DISTINCT {0})", floats)), "array<double>")
            text = f"list_aggregate(list_sort({{0}}), '{_OF_LISTS[type(call)]}')"
            return TypedExpression(words(text, rows), "double")
        order = [exp.Ordered(this=floats.sql.copy(), nulls_first=True)]
        return TypedExpression(over(type(call)(this=exp.Order(this=floats.sql, expressions=order))), "double")

    # windows

    def _window(self, node: exp.Window) -> TypedExpression:
        call, nulls = node.this, type(node.this) if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls) else None
        call = call if nulls is None else call.this
        parts = [self.term(e).sql for e in node.args.get("partition_by") or []]
        ordered = [self._ordered(o) for o in node.args["order"].expressions] if node.args.get("order") else []
        self._check_frame(node)

        def over(inner: Expression) -> Expression:
            window = node.copy()
            window.set("this", inner if nulls is None else nulls(this=inner))
            window.set("partition_by", [p.copy() for p in parts] or None)
            if ordered:
                window.set("order", exp.Order(expressions=[o.copy() for o in ordered]))
            return window

        if isinstance(call, _NUMBERING) or (isinstance(call, exp.Ntile) and isinstance(call.this, exp.Literal)):
            return TypedExpression(words("CAST({0} AS INTEGER)", TypedExpression(over(call.copy()), "")), "int")
        if isinstance(call, _SHARES):
            return TypedExpression(over(call.copy()), "double")
        if isinstance(call, exp.First | exp.Last | exp.AnyValue):  # names of the functions over a frame
            call = (exp.LastValue if isinstance(call, exp.Last) else exp.FirstValue)(this=call.this.copy())
        if isinstance(call, exp.Lead | exp.Lag | exp.FirstValue | exp.LastValue | exp.NthValue):
            return self._neighbour(call, over)
        if isinstance(call, exp.Filter):
            where = exp.Where(this=self.of(call.expression.this, "boolean").sql)
            return self._aggregate(call.this, node, lambda c: over(exp.Filter(this=c, expression=where.copy())))
        if not is_aggregate(call) or isinstance(call.this, exp.Distinct):
            raise NotAgreed(node)
        if isinstance(call, _FLOATING) and _is_in_order_of_values(node):
            value = self.term(call.this)
            if value.type == "double":
                return TypedExpression(over(type(call)(this=value.sql)), "double")
        if isinstance(call, _FLOATING) and not self.only_types and _is_of_rows(node):
            return self._in_frame(call, node, over)
        return self._aggregate(call, node, over)

    def _in_frame(self, call: Expression, node: Expression, over: Over) -> TypedExpression:
        """An aggregate of the rows of a frame; floats are added one after the other, as Spark does it."""
        value = self.term(call.this)
        is_average = isinstance(call, exp.Sum | exp.Avg) and value.is_exact and value.type != "bigint"
        if is_average or (isinstance(call, exp.Sum) and value.is_exact):
            return self._aggregate(call, node, over)
        if not value.is_exact and value.type not in ("float", "double"):
            raise NotAgreed(node)
        rows = TypedExpression(over(words("list({0})", typed(value, "double"))), "array<double>")
        return TypedExpression(words(f"list_aggregate({{0}}, '{_OF_LISTS[type(call)]}')", rows), "double")

    def _neighbour(self, call: Expression, over: Over) -> TypedExpression:
        """The value of another row of a window."""
        value, inner = self.term(call.this), call.copy()
        if call.args.get("default") is not None:
            default = self.term(call.args["default"])
            if default.type not in (value.type, "void"):
                raise NotAgreed(call)
            inner.set("default", default.sql)
        inner.set("this", value.sql)
        return TypedExpression(over(inner), value.type)

    def _ordered(self, node: exp.Ordered) -> exp.Ordered:
        ordered = node.copy()
        ordered.set("this", ranked(node, self.term(node.this)).sql)
        return ordered

    def _check_frame(self, node: exp.Window) -> None:
        """Frames are of rows, or of values without a distance."""
        spec = node.args.get("spec")
        if spec is None:
            return
        ends = [spec.args.get("start"), spec.args.get("end")]
        plain = all(e is None or (isinstance(e, str) and e.upper() in _ENDS) for e in ends)
        if not plain and spec.text("kind").upper() != "ROWS" and not self._has_distances(node):
            raise NotAgreed(node)

    def _has_distances(self, node: exp.Window) -> bool:
        """Whether a window is ordered by one value that both engines move by a distance alike."""
        order = node.args.get("order")
        if order is None or len(order.expressions) != 1:
            return False
        return self.term(order.expressions[0].this).type in (*types.INTEGRAL, "date", "timestamp", "timestamp_ntz")
