"""Terms on time: comparisons that read the clock, solved for it.

A comparison becomes bounds of the present instant ``t``::

    m.ts + INTERVAL 14 DAYS < now()            from  m.ts + 14 days and 1 µs on
    m.ts < now() - INTERVAL 4 WEEKS            from  m.ts + 4 weeks and 1 µs on
    now() = m.due                              from  m.due  up to  m.due
    m.day <= current_date()                    from  midnight of m.day on

``<>`` gives two alternatives.  Days are turned into the midnights at which they begin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tidings.analysis import functions
from tidings.ir.expression import Expression, cast, literal, operand, read
from tidings.ir.standard_form import Alternative, Instant
from tidings.lang.sql.continuous.obstacle import NotInClass

_INSTANTS = ("now", "current_timestamp", "localtimestamp")
_DATES = ("current_date", "curdate")
_MIRRORED: dict[type[Expression], type[Expression]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
}
NEGATED: dict[type[Expression], type[Expression]] = {
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
}


def reads_clock(node: Expression) -> bool:
    """Whether an expression mentions the clock."""
    return any(functions.reads_clock(n) for n in node.walk())


@dataclass(frozen=True, slots=True)
class TimeTerms:
    """Solves comparisons; ``type_of`` tells the type of an expression."""

    type_of: Callable[[Expression], str]

    def solved(self, comparison: exp.Binary, negated: bool) -> list[Alternative]:
        """The alternatives of a comparison, or of its negation; columns in it are those of tables."""
        operator: type[Expression] = type(comparison)
        left, right = comparison.left, comparison.right
        if reads_clock(left) and reads_clock(right):
            raise NotInClass("the clock stands on both sides of", comparison)
        clock, value = (left, right) if reads_clock(left) else (right, left)
        nothing: list[Alternative] = []
        if operator is exp.NullSafeEQ:
            operator = exp.EQ
            if negated:
                nothing = [Alternative(plain=(exp.Is(this=operand(value), expression=exp.Null()),))]
        if operator not in _MIRRORED:
            raise NotInClass("the clock is not compared in", comparison)
        operator = operator if clock is left else _MIRRORED[operator]
        return self._bounds(clock, NEGATED[operator] if negated else operator, value) + nothing

    def _bounds(self, clock: Expression, operator: type[Expression], value: Expression) -> list[Alternative]:
        """The alternatives of ``clock operator value``."""
        match clock:
            case exp.Paren():
                return self._bounds(clock.this, operator, value)
            case exp.Cast() if clock.is_type("date"):
                return self._by_day(clock.this, operator, value)
            case exp.TsOrDsToDate():
                return self._by_day(clock.this, operator, value)
            case exp.Cast() if clock.is_type("timestamp", "timestamptz", "timestampltz", "timestampntz"):
                return self._bounds(clock.this, operator, value)
            case exp.Add() | exp.Sub():
                return self._moved(clock, operator, value)
            case exp.TsOrDsAdd() if not reads_clock(clock.expression):
                return self._bounds(exp.Add(this=clock.this, expression=clock.expression), operator, value)
            case exp.DateDiff() if not clock.args.get("unit") or str(clock.args["unit"]).upper() == "DAY":
                return self._days_between(clock, operator, value)
            case _ if functions.function_name(clock) in _INSTANTS:
                return _around(operator, self._timestamp(value))
            case _ if functions.function_name(clock) in _DATES:
                return self._by_day(exp.CurrentTimestamp(), operator, value)
            case _:
                raise NotInClass("the clock is inside of", clock)

    def _by_day(self, moment: Expression, operator: type[Expression], value: Expression) -> list[Alternative]:
        """The alternatives of a comparison of the day of a moment: it begins or ends at midnight."""
        begun, ended = self._midnights(value)
        if functions.function_name(moment) in _DATES:
            moment = exp.CurrentTimestamp()
        compared: dict[type[Expression], list[tuple[type[Expression], Expression]]] = {
            exp.LTE: [(exp.LT, ended)],
            exp.GT: [(exp.GTE, ended)],
            exp.LT: [(exp.LT, begun)],
            exp.GTE: [(exp.GTE, begun)],
        }
        compared[exp.EQ] = compared[exp.GTE] + compared[exp.LTE]
        if operator is exp.NEQ:
            return [a for o in (exp.LT, exp.GT) for a in self._bounds(moment, *compared[o][0])]
        result = Alternative()
        for condition in compared[operator]:
            (part,) = self._bounds(moment, *condition)
            result = result.both(part)
        return [result]

    def _midnights(self, value: Expression) -> tuple[Expression, Expression]:
        """The first midnight that is not before a value, and the first that is after it."""
        if self.type_of(value) == "date":
            return cast(value, "timestamp"), _next_midnight(value)
        just_before = exp.Sub(this=operand(self._timestamp(value)), expression=read("INTERVAL 1 MICROSECOND"))
        return _next_midnight(cast(just_before, "date")), _next_midnight(cast(value, "date"))

    def _moved(self, clock: Expression, operator: type[Expression], value: Expression) -> list[Alternative]:
        """Move what is added to or subtracted from the clock to the other side."""
        left, right = clock.args["this"], clock.args["expression"]
        inner, other = (left, right) if reads_clock(left) else (right, left)
        if reads_clock(other):
            raise NotInClass("the clock is mentioned twice in", clock)
        if isinstance(clock, exp.Sub) and inner is right:
            return self._bounds(inner, _MIRRORED[operator], self._sum(other, value, -1))
        return self._bounds(inner, operator, self._sum(value, other, -1 if isinstance(clock, exp.Add) else 1))

    def _sum(self, value: Expression, other: Expression, sign: int) -> Expression:
        """``value + other`` or ``value - other``; a number counts days."""
        if self.type_of(other) in ("int", "bigint", "smallint", "tinyint"):
            days = operand(other) if sign > 0 else exp.Neg(this=operand(other))
            return exp.TsOrDsAdd(this=operand(self._date(value, other)), expression=days, unit=exp.var("DAY"))
        if sign < 0:
            return exp.Sub(this=_left(value), expression=_right(other))
        first, second = (other, value) if isinstance(value.unnest(), exp.Interval) else (value, other)
        return exp.Add(this=_left(first), expression=_right(second))

    def _date(self, value: Expression, moved: Expression) -> Expression:
        type = self.type_of(value)
        if type == "timestamp":
            raise NotInClass("days are added to the clock, and the sum is compared with a timestamp", moved)
        return value if type == "date" else cast(value, "date")

    def _days_between(self, clock: exp.DateDiff, operator: type[Expression], value: Expression) -> list[Alternative]:
        last, first = clock.this, clock.expression
        if reads_clock(last):
            return self._by_day(_moment(last), operator, _sum_of_days(self._day(first), value, 1))
        return self._by_day(_moment(first), _MIRRORED[operator], _sum_of_days(self._day(last), value, -1))

    def _day(self, value: Expression) -> Expression:
        """The day of a value."""
        moment = _moment(value)
        return moment if self.type_of(moment) == "date" else cast(moment, "date")

    def _timestamp(self, value: Expression) -> Expression:
        """A value as a timestamp, without casts that change nothing."""
        bare: Expression = value.copy().transform(self._without_idle_cast).unnest()
        return bare if self._is_timestamp(bare) else cast(bare, "timestamp")

    def _without_idle_cast(self, node: Expression) -> Expression:
        is_cast = isinstance(node, exp.Cast) and node.is_type("timestamp", "timestamptz")
        return node.this if is_cast and self._is_timestamp(node.this) else node

    def _is_timestamp(self, value: Expression) -> bool:
        return self.type_of(value) == "timestamp"


def _moment(day: Expression) -> Expression:
    """The moment whose day something is."""
    dated = isinstance(day, exp.Paren | exp.TsOrDsToDate) or (isinstance(day, exp.Cast) and day.is_type("date"))
    return _moment(day.this) if dated else day


def _sum_of_days(day: Expression, count: Expression, sign: int) -> Expression:
    days = operand(count) if sign > 0 else exp.Neg(this=operand(count))
    return exp.TsOrDsAdd(this=day, expression=days, unit=exp.var("DAY"))


def _next_midnight(day: Expression) -> Expression:
    following = exp.TsOrDsAdd(this=operand(day), expression=literal(1), unit=exp.var("DAY"))
    return cast(following, "timestamp")


def _left(side: Expression) -> Expression:
    """The left side of a sum or difference."""
    bare = side.unnest()
    return bare.copy() if isinstance(bare, exp.Add | exp.Sub | exp.Interval) else operand(side)


def _right(side: Expression) -> Expression:
    """The right side of a sum or difference."""
    bare = side.unnest()
    return bare.copy() if isinstance(bare, exp.Interval) else operand(side)


def _around(operator: type[Expression], value: Expression) -> list[Alternative]:
    """The alternatives of ``t operator value``.

    >>> [(len(a.lower), len(a.upper)) for a in _around(exp.NEQ, read("m.due"))]
    [(0, 1), (1, 0)]
    """
    at = Instant(value)
    upper, lower = Alternative(upper=(at,)), Alternative(lower=(at,))
    before, after = Alternative(upper=(at.later(-1),)), Alternative(lower=(at.later(),))
    solutions: dict[type[Expression], list[Alternative]] = {
        exp.LT: [before],
        exp.LTE: [upper],
        exp.GT: [after],
        exp.GTE: [lower],
        exp.EQ: [lower.both(upper)],
        exp.NEQ: [before, after],
    }
    return solutions[operator]
