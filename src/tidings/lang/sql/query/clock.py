"""Conditions on time: ``now()`` and its like, compared with what a row says.

A condition is judged at an instant as it stands, whatever it is made of.  What has to be known beforehand is at which
instants its truth for a row may change.  So every mention of the clock must stand in a comparison that can be solved
for it::

    m.ts + INTERVAL 14 DAYS < now()            changes at  m.ts + 14 days (and 1 µs)
    now() - m.ts > INTERVAL 1 HOUR             changes at  m.ts + 1 hour (and 1 µs)
    m.day BETWEEN current_date() - 7 AND …     changes at  midnight of m.day + 7 (and a day)

Time is discrete: ``x < now()`` begins to hold one microsecond after ``x``.  Months are of unequal length, so an
interval of months cannot be moved from the clock's side to the row's; written on the row's side it is fine.

An instant is computed for every row, also where the condition would not come to the comparison, as behind a CASE.  So
a cast that fails makes it NULL, which is no instant; the condition itself still fails where it comes to the cast.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression, NonDeterministic
from tidings.ir.expression import NOW, Expression, cast, literal, operand, read, ref
from tidings.ir.relation import During, Field, Item, Project, Relation
from tidings.lang.sql.context import Context

HINT = "compare it with columns, in WHERE, HAVING, QUALIFY or ON, as in: due < now() - INTERVAL 1 DAY"

_INSTANTS = ("now", "current_timestamp", "localtimestamp")
_DATES = ("current_date", "curdate")
_EVEN = re.compile(r"\s*([-+]?[\d.]+\s*(WEEK|DAY|HOUR|MINUTE|SECOND|MILLISECOND|MICROSECOND)S?\s*)+", re.IGNORECASE)

_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.NullSafeEQ)


def reads_clock(condition: Expression) -> bool:
    """Whether a condition mentions the clock."""
    return any(functions.reads_clock(n) for n in condition.walk())


def filtered_now(ctx: Context, plan: Relation, condition: Expression) -> During:
    """The rows of a plan for which a condition on time holds at present."""
    if not plan.fields:
        plan = Project(plan, ctx.alias("nothing"), (Item("one", "int", literal(1)),))
    spelled = _spelled(condition)
    mentions = [n for n in spelled.walk() if functions.reads_clock(n)]
    instants = dict.fromkeys(i for mention in mentions for i in _instants(ctx, plan, mention))
    return During(plan, spelled.transform(_as_of), tuple(instants))


def refused(ctx: Context, mention: Expression) -> NonDeterministic:
    """The clock stands where no instant can be told at which it matters."""
    return NonDeterministic(ctx.place(mention), HINT, function=f"{functions.function_name(mention)}()")


def _spelled(condition: Expression) -> Expression:
    """``x BETWEEN a AND b`` as two comparisons and ``x IN (a, b)`` as equalities, where the clock is in them."""

    def spelled(node: Expression) -> Expression:
        match node:
            case exp.Between() if reads_clock(node):
                low = exp.GTE(this=operand(node.this), expression=operand(node.args["low"]))
                high = exp.LTE(this=operand(node.this), expression=operand(node.args["high"]))
                return exp.Paren(this=exp.And(this=low, expression=high))
            case exp.In() if node.expressions and reads_clock(node):
                equal = [exp.EQ(this=operand(node.this), expression=operand(i)) for i in node.expressions]
                return exp.Paren(this=exp.or_(*equal))
            case _:
                return node

    tree: Expression = exp.Paren(this=condition.copy()).transform(spelled)
    inner: Expression = tree.this
    return inner.pop()


def _as_of(node: Expression) -> Expression:
    """What the clock says at the instant for which the condition is judged."""
    if not functions.reads_clock(node):
        return node
    now = exp.Anonymous(this="TIMESTAMP_MICROS", expressions=[NOW.copy()])
    return cast(now, "date") if functions.function_name(node) in _DATES else now


def _instants(ctx: Context, plan: Relation, mention: Expression) -> list[Expression]:
    """The instants at which the comparison around a mention of the clock may change."""
    node = mention
    while node.parent is not None and not isinstance(node.parent, _COMPARISONS):
        node = node.parent
    around = node.parent
    if around is None or reads_clock(around.left) is reads_clock(around.right):
        raise refused(ctx, mention)
    side, value = (around.left, around.right) if reads_clock(around.left) else (around.right, around.left)
    upward = isinstance(around, exp.GTE | exp.LT) if side is around.left else isinstance(around, exp.LTE | exp.GT)
    both = isinstance(around, exp.EQ | exp.NEQ | exp.NullSafeEQ)
    solving = _Solving(ctx, plan.fields, mention)
    try:
        turns = [t for after in ([False, True] if both else [not upward]) for t in solving.turns(side, value, after)]
        ctx.types(turns, plan.fields, mention)
    except InvalidExpression:
        raise refused(ctx, mention) from None
    for attempt in (n for t in turns for n in t.find_all(exp.TryCast)):
        attempt.set("safe", True)
    return turns


@dataclass(frozen=True, slots=True)
class _Solving:
    """A comparison solved for the clock."""

    ctx: Context
    fields: tuple[Field, ...]
    mention: Expression

    def turns(self, side: Expression, value: Expression, after: bool) -> list[Expression]:
        """The instants from which ``side >= value``, or with ``after`` ``side > value``; perhaps others besides."""
        match side:
            case exp.Paren():
                return self.turns(side.this, value, after)
            case exp.Cast() if side.is_type("date"):
                return self._by_day(side.this, value)
            case exp.TsOrDsToDate():
                return self._by_day(side.this, value)
            case exp.Cast() if side.is_type("timestamp", "timestamptz", "timestampltz", "timestampntz"):
                return self.turns(side.this, value, after)
            case exp.Add() | exp.Sub():
                return self._moved(side, value, after)
            case exp.TsOrDsAdd() if not reads_clock(side.expression):
                return self._by_day(side.this, _less(cast(value, "date"), side.expression))
            case exp.DateDiff() if not side.args.get("unit") or str(side.args["unit"]).upper() == "DAY":
                first, last = (cast(e, "date") for e in (side.expression, side.this))
                return self._moved(exp.Sub(this=last, expression=first), value, after)
            case _ if functions.function_name(side) in _INSTANTS:
                instant = exp.UnixMicros(this=cast(value, "timestamp"))
                return [exp.Add(this=instant, expression=literal(1)) if after else instant]
            case _ if functions.function_name(side) in _DATES:
                return self._by_day(side, value)
            case _:
                raise refused(self.ctx, self.mention)

    def _by_day(self, side: Expression, value: Expression) -> list[Expression]:
        """The midnights before and after a value: no other instant changes how the day of a moment compares with it."""
        moment = _undated(side)
        moment = read("NOW()") if functions.function_name(moment) in _DATES else moment
        midnight = cast(cast(value, "date"), "timestamp")
        following = exp.Add(this=midnight.copy(), expression=read("INTERVAL 1 DAY"))
        return [t for m in (midnight, following) for t in self.turns(moment, m, False)]

    def _moved(self, side: Expression, value: Expression, after: bool) -> list[Expression]:
        """Move what is added to or subtracted from the clock to the other side."""
        left, right = side.args["this"], side.args["expression"]
        clock, other = (left, right) if reads_clock(left) else (right, left)
        if reads_clock(other) or not (self._even(other) and self._even(value)):
            raise refused(self.ctx, self.mention)
        if isinstance(side, exp.Add):
            return self.turns(clock, _less(value, other), after)
        if clock is left:
            return self.turns(clock, exp.Add(this=operand(value), expression=operand(other)), after)
        return self.turns(clock, _less(other, value), not after)

    def _even(self, moved: Expression) -> bool:
        """Whether adding something and taking it away again leads back; months are of unequal length."""
        if not any(map(self._may_have_months, moved.walk())):
            return True
        (type,) = self.ctx.types([moved], self.fields, self.mention)
        return not type.startswith("interval") or (type != "interval" and "month" not in type and "year" not in type)

    def _may_have_months(self, node: Expression) -> bool:
        match node:
            case exp.Interval():
                unit = node.args.get("unit")
                amount = str(node.this.this) if isinstance(node.this, exp.Literal) else "1"
                return _EVEN.fullmatch(amount if unit is None else f"1 {unit}") is None
            case exp.Column():
                return any(f.type.startswith("interval") for f in self.fields if f.ref == ref(node))
            case exp.Cast():
                return node.is_type("interval")
            case _:
                return isinstance(node, exp.Anonymous | exp.MakeInterval)


def _undated(side: Expression) -> Expression:
    """The moment whose day something is."""
    dated = isinstance(side, exp.Paren | exp.TsOrDsToDate) or (isinstance(side, exp.Cast) and side.is_type("date"))
    return _undated(side.this) if dated else side


def _less(value: Expression, by: Expression) -> Expression:
    return exp.Sub(this=operand(value), expression=operand(by))
