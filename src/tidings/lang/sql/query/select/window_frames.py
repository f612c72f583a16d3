"""The frames of window functions: which they may have, and values of a frame that do not depend on how ties fall.

Functions that number rows look at the rows up to the current one; written out, that frame says nothing more and goes.
``lag`` and ``lead`` have none.

``first_value``, ``last_value`` and ``nth_value`` tell rows apart that their ORDER BY does not: among those the whole
row decides.  Where a frame counts rows, more ORDER BY does that.  A frame of values would be another one by it: peers
of the current row would be peers no longer.  So the rows are numbered first, in the whole order, and the value is that
of the row with the least, greatest or n-th number in the frame::

    last_value(x) OVER (ORDER BY o RANGE …)  =  max_by(x, number) OVER (ORDER BY o RANGE …)
                                with number  =  row_number() OVER (ORDER BY o, the whole row)
"""

from __future__ import annotations

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression
from tidings.ir.expression import Expression, operand, template
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.select.stages import by_rows

_NUMBERING = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "percent_rank", "ntile"), "ROWS"),
    "cume_dist": "RANGE",
}
_VALUES = exp.FirstValue | exp.LastValue | exp.NthValue


def checked_frames(ctx: Context, expression: Expression) -> Expression:
    """An expression whose window functions have a frame only where it says something."""
    if not any(isinstance(n, exp.Window) for n in expression.walk()):
        return expression
    return expression.transform(lambda n: _checked(ctx, n) if isinstance(n, exp.Window) else n)


def _checked(ctx: Context, window: exp.Window) -> Expression:
    call = _plain_call(window)
    match call:
        case exp.First() | exp.AnyValue():
            call.replace(exp.FirstValue(this=call.this.copy()))
        case exp.Last():
            call.replace(exp.LastValue(this=call.this.copy()))
    spec = window.args.get("spec")
    if spec is None:
        return window
    kind, name = spec.text("kind").upper(), functions.function_name(call)
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude"):
        raise ctx.unsupported("a window frame other than ROWS or RANGE BETWEEN … AND …", window)
    if name in ("lag", "lead"):
        raise InvalidExpression(ctx.place(window), reason=f"{name}() has no frame")
    if name in _NUMBERING:
        if (kind, *_ends(window)) != (_NUMBERING[name], "UNBOUNDED PRECEDING", "CURRENT ROW"):
            reason = f"the frame of {name}() is {_NUMBERING[name]} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
            raise InvalidExpression(ctx.place(window), reason=reason)
        window.set("spec", None)
    return window


def _plain_call(window: exp.Window) -> Expression:
    """The function of a window, without IGNORE NULLS."""
    call: Expression = window.this
    while isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
        call = call.this
    return call


def _ends(window: exp.Window) -> tuple[str, str]:
    """Where a frame begins and ends; a distance is just that."""
    spec = window.args.get("spec")
    if spec is None:
        return "UNBOUNDED PRECEDING", "CURRENT ROW"

    def end(name: str) -> str:
        value, side = spec.args.get(name), str(spec.args.get(f"{name}_side") or "")
        return " ".join(w for w in (value.upper() if isinstance(value, str) else "distance", side.upper()) if w)

    return end("start"), end("end") if spec.args.get("end") is not None else "CURRENT ROW"


def needs_places(window: exp.Window) -> bool:
    """Whether a window function picks a row of a frame of values in which ties would have to be broken."""
    call = _plain_call(window)
    if not isinstance(call, _VALUES) or window.args.get("order") is None or by_rows(window):
        return False
    start, end = _ends(window)
    whole = (start, end) == ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING")
    first = call is window.this and isinstance(call, exp.FirstValue)
    return not whole and not (first and (start, end) == ("UNBOUNDED PRECEDING", "CURRENT ROW"))


def place(window: exp.Window) -> exp.Window:
    """The number of a row in the order of a window."""
    number = exp.Window(this=exp.RowNumber(), order=window.args["order"].copy(), over="OVER")
    number.set("partition_by", [p.copy() for p in window.args.get("partition_by") or []])
    return number


def by_place(window: exp.Window, number: Expression) -> Expression:
    """A value of a frame by the number of its row."""
    call = _plain_call(window)
    row = _filled("STRUCT(y AS y, NOT x IS NULL AS there, x AS x)", x=call.this, y=number)
    if isinstance(window.this, exp.IgnoreNulls):
        row = _filled("CASE WHEN NOT x IS NULL THEN y END", x=call.this, y=row)

    def over(aggregate: Expression) -> Expression:
        tree = window.copy()
        tree.set("this", aggregate)
        return tree

    if isinstance(call, exp.NthValue):
        rows = _filled("SORT_ARRAY(x)", x=over(exp.ArrayAgg(this=row, nulls_excluded=True)))
        picked: Expression = exp.Bracket(this=rows, expressions=[call.args["offset"].copy()], offset=1, safe=True)
    else:
        picked = over((exp.Max if isinstance(call, exp.LastValue) else exp.Min)(this=row))
    return exp.Dot(this=exp.Paren(this=picked), expression=exp.to_identifier("x", quoted=True))


def _filled(text: str, **parts: Expression) -> Expression:
    def part(node: Expression) -> Expression:
        value = parts.get(node.name) if isinstance(node, exp.Column) else None
        if value is None:
            return node
        return value.copy() if isinstance(value, exp.Window) else operand(value)

    return template(text).transform(part)
