"""Conditions on time: ``now()`` and its like, compared with what a row says.

A condition is judged at an instant as it stands, whatever it is made of.  What has to be known beforehand is at which
instants its truth for a row may change.  So every mention of the clock must stand in a comparison that can be solved for
it::

    m.ts + INTERVAL 14 DAYS < now()            changes at  m.ts + 14 days (and 1 µs)
    now() - m.ts > INTERVAL 1 HOUR             changes at  m.ts + 1 hour (and 1 µs)
    m.day BETWEEN current_date() - 7 AND …     changes at  midnight of m.day + 7 (and a day)

Time is discrete: ``x < now()`` begins to hold one microsecond after ``x``.  Months are of unequal length, so an interval
of months cannot be moved from the clock's side to the row's; written on the row's side it is fine.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression, NonDeterministic
from tidings.ir.expression import NOW, Expression, cast, literal, operand, read
from tidings.ir.relation import During, Relation
from tidings.lang.sql.context import Context

HINT = "compare it with columns, in WHERE, HAVING, QUALIFY or ON, as in: due < now() - INTERVAL 1 DAY"

_DAY = 86_400_000_000
_INSTANTS = ("now", "current_timestamp", "localtimestamp")
_DATES = ("current_date", "curdate")
_UNEQUAL = ("MONTH", "QUARTER", "YEAR")
_UNEQUAL_CALLS = ("make_interval", "make_ym_interval")

_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.NullSafeEQ)


def reads_clock(condition: Expression) -> bool:
    """Whether a condition mentions the clock."""
    return any(functions.reads_clock(n) for n in condition.walk())


def held_now(ctx: Context, plan: Relation, condition: Expression) -> During:
    """The rows of a plan for which a condition on time holds at present."""
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
    turns = [t for after in ([False, True] if both else [not upward]) for t in _turns(ctx, side, value, after, mention)]
    try:
        ctx.types(turns, plan.fields, mention)
    except InvalidExpression:
        raise refused(ctx, mention) from None
    return turns


def _turns(ctx: Context, side: Expression, value: Expression, after: bool, mention: Expression) -> list[Expression]:
    """The instants from which ``side >= value``, or with ``after`` ``side > value``; perhaps some at which it is not."""
    match side:
        case exp.Paren():
            return _turns(ctx, side.this, value, after, mention)
        case exp.Cast() if side.is_type("date"):
            return _by_day(ctx, side.this, value, mention)
        case exp.TsOrDsToDate():
            return _by_day(ctx, side.this, value, mention)
        case exp.Cast() if side.is_type("timestamp", "timestamptz", "timestampltz", "timestampntz"):
            return _turns(ctx, side.this, value, after, mention)
        case exp.Add() | exp.Sub():
            return _moved(ctx, side, value, after, mention)
        case exp.TsOrDsAdd() if not reads_clock(side.expression):
            return _turns(ctx, side.this, _less(cast(value, "date"), side.expression), after, mention)
        case exp.DateDiff() if not side.args.get("unit") or str(side.args["unit"]).upper() == "DAY":
            first, last = (cast(e, "date") for e in (side.expression, side.this))
            return _moved(ctx, exp.Sub(this=last, expression=first), value, after, mention)
        case _:
            return _reached(ctx, side, value, after, mention)


def _reached(ctx: Context, clock: Expression, value: Expression, after: bool, mention: Expression) -> list[Expression]:
    name = functions.function_name(clock)
    if name in _INSTANTS:
        instant = exp.UnixMicros(this=cast(value, "timestamp"))
        return [exp.Add(this=instant, expression=literal(1)) if after else instant]
    if name in _DATES:
        return _by_day(ctx, read("NOW()"), value, mention)
    raise refused(ctx, mention)


def _by_day(ctx: Context, side: Expression, value: Expression, mention: Expression) -> list[Expression]:
    """The midnights before and after a value: no other instant changes how a date compares with it."""
    midnight = cast(cast(value, "date"), "timestamp")
    following = exp.Add(this=midnight.copy(), expression=read("INTERVAL 1 DAY"))
    return [t for m in (midnight, following) for t in _turns(ctx, side, m, False, mention)]


def _moved(ctx: Context, side: Expression, value: Expression, after: bool, mention: Expression) -> list[Expression]:
    """Move what stands beside the clock to the other side."""
    left, right = side.args["this"], side.args["expression"]
    if reads_clock(left) is reads_clock(right) or not _even(right if reads_clock(left) else left):
        raise refused(ctx, mention)
    if isinstance(side, exp.Add):
        clock, other = (left, right) if reads_clock(left) else (right, left)
        return _turns(ctx, clock, _less(value, other), after, mention)
    if reads_clock(left):
        return _turns(ctx, left, exp.Add(this=operand(value), expression=operand(right)), after, mention)
    return _turns(ctx, right, _less(left, value), not after, mention)


def _less(value: Expression, by: Expression) -> Expression:
    return exp.Sub(this=operand(value), expression=operand(by))


def _even(moved: Expression) -> bool:
    """Whether adding something and taking it away again leads back; months are of unequal length."""
    uneven = (n for n in moved.find_all(exp.Interval) if str(n.args.get("unit") or "").upper().startswith(_UNEQUAL))
    return next(uneven, None) is None and not any(functions.function_name(n) in _UNEQUAL_CALLS for n in moved.walk())
