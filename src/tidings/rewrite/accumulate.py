"""Split aggregates into accumulators: ``γ_{k; avg(x)} = π_{k, sum/count}(γ_{k; sum(x), count(x), count(*)})``.

An accumulator can be carried on from its old value and the changes alone: counts and exact sums always, least and
greatest values while rows only come.  A group's row count is always among them, since a group goes when it is empty.

Withheld, so that the groups are read again instead, for

- floating sums, whose value depends on the order of addition: ``1e20 + 1 - 1e20`` is 0 or 1;
- sums of decimals of more than 28 digits, which may have no room for what comes and what goes together: from ``-9e37``
  to ``9e37`` is ``1.8e38``, which is no ``decimal(38,0)``; of more than 34 where groups are stored and can begin anew;
- averages of 64-bit integers and of wide decimals, which engines round on the way;
- DISTINCT inside an aggregate: whether a value is new cannot be told from a count of all;
- least and greatest values of nested types, and every other aggregate.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import Expression, Ref, average, cast, column, operand, ref, refs
from tidings.ir.relation import Aggregate, Item, Project

ROWS = "rows"
"""The accumulator that counts a group's rows."""

_WIDEST_SUM = 28
"""Sums have ten digits more than what they add up, as far as 38 allows."""
_WIDEST_STORED = 34
"""Sums that are stored may do with four digits more: should one not fit on the way, the view begins anew."""
_NARROW = ("tinyint", "smallint", "int")
_WIDEST_AVERAGE = 15
"""Decimals of more digits than this have averages that are rounded twice when divided here.

Spark divides a sum of ``p + 10`` digits to ``28 - p + s`` places, and an average has ``s + 4``.  A quotient of a number
with ``s`` places by ``n`` that is not half-way between two averages is at least ``1 / (2 n 10^(s + 4))`` away from it,
so for ``p = 15`` rounding twice is rounding once in groups of up to ``10^9`` rows.
"""


def accumulate(node: Aggregate, *, stored: bool = False) -> tuple[Aggregate, Project] | None:
    """The accumulators of an aggregate, and the aggregate as a projection of them; None where one cannot be split.

    ``stored`` says that they are stored.
    """
    if not node.aggregates:
        return None
    split = _Split(node, stored, {ROWS: Item(ROWS, "bigint", exp.Count(this=exp.Star(), big_int=True))})
    finished = [split.finished(item) for item in node.aggregates]
    if None in finished:
        return None
    groups = Aggregate(node.input, node.alias, node.keys, tuple(split.accumulators.values()))
    keys = tuple(Item(k.name, k.type, column(node.alias, k.name)) for k in node.keys)
    values = tuple(Item(i.name, i.type, e) for i, e in zip(node.aggregates, finished, strict=True) if e is not None)
    return groups, Project(groups, node.alias, keys + values)


def grows_only(groups: Aggregate) -> bool:
    """Whether some accumulator can only be carried on while rows come and none go."""
    return any(isinstance(i.expression, exp.Min | exp.Max) for i in groups.aggregates)


@dataclass(slots=True)
class _Split:
    node: Aggregate
    stored: bool
    accumulators: dict[str, Item]

    def finished(self, item: Item) -> Expression | None:
        """An aggregate over accumulators."""
        call, condition = item.expression, None
        if isinstance(call, exp.Filter):
            call, condition = call.this, call.expression.this
        argument = call.this
        if isinstance(call, exp.Count) and isinstance(argument, exp.Star):
            if condition is None:
                return self._of(ROWS)
            argument = exp.Literal.number(1)
        if isinstance(argument, exp.Distinct) or call.args.get("expressions"):
            return None
        if condition is not None and argument is not None:
            argument = exp.If(this=condition.copy(), true=argument.copy(), false=exp.Null())
        match call:
            case exp.Count():
                return self._count(argument)
            case exp.Sum() if self._is_exact(argument, item.type):
                total = self._sum(argument, item.type)
                return exp.If(this=_some(self._count(argument)), true=total, false=exp.Null())
            case exp.Avg() if (exact := self._summed_as(argument, item.type)) is not None:
                return self._average(argument, item.type, exact)
            case exp.Min() | exp.Max() if not types.is_nested(item.type):
                return self._accumulated(type(call).__name__.lower(), item.type, type(call)(this=argument.copy()))
            case _:
                return None

    def _average(self, argument: Expression, type: str, exact: str) -> Expression:
        total, count = self._sum(argument, exact), self._count(argument)
        digits = types.decimal(exact)
        if digits is not None:
            quotient = average(total, count, digits[1])
        else:
            quotient = exp.Div(this=cast(total, "double"), expression=count, typed=False, safe=True)
        return exp.If(this=_some(count), true=cast(quotient, type), false=exp.Null())

    def _column_types(self) -> dict[Ref, str]:
        return {f.ref: f.type for f in self.node.input.fields}

    def _is_exact(self, argument: Expression, total: str) -> bool:
        """Whether the sum of an argument is exact, with room on the way unless it is stored."""
        column_types = self._column_types()
        decimals = (types.decimal(column_types[r]) for r in refs(argument))
        return (total == "bigint" or types.decimal(total) is not None) and all(
            d is None or d[0] <= (_WIDEST_STORED if self.stored else _WIDEST_SUM) for d in decimals
        )

    def _summed_as(self, argument: Expression, average: str) -> str | None:
        """The exact type in which to sum what an average is taken of."""
        summed = ref(argument)
        if average == "double" and summed is not None and self._column_types()[summed] in _NARROW:
            return "bigint"
        digits = types.decimal(average)
        if digits is None or digits[0] - 4 > _WIDEST_AVERAGE:
            return None
        return f"decimal({digits[0] - 4 + 10},{digits[1] - 4})"

    def _count(self, argument: Expression) -> Expression:
        return self._accumulated("count", "bigint", exp.Count(this=argument.copy(), big_int=True))

    def _sum(self, argument: Expression, type: str) -> Expression:
        zero = exp.Literal.number(0)
        return self._accumulated("sum", type, exp.Coalesce(this=exp.Sum(this=argument.copy()), expressions=[zero]))

    def _accumulated(self, kind: str, type: str, expression: Expression) -> Expression:
        known = next((n for n, i in self.accumulators.items() if i.expression == expression and i.type == type), None)
        name = known or f"{kind}{len(self.accumulators)}"
        self.accumulators[name] = Item(name, type, expression)
        return self._of(name)

    def _of(self, name: str) -> Expression:
        return column(self.node.alias, name)


def _some(count: Expression) -> Expression:
    return exp.GT(this=operand(count), expression=exp.Literal.number(0))
