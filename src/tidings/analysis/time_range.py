"""Between which values of a column an instant of a row falls into the batch.

Where an instant is a column, or a column plus a constant, the rows with that instant in ``(since, until]`` are a range
of the column.  An engine prunes files and batches by such a range; it cannot by the instant itself.  The range may be
wider than needed, never narrower.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tidings.ir.expression import SINCE, UNTIL, Expression, Ref, literal

DAY = 86_400_000_000
_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
    "WEEK": 7 * DAY,
}


def time_range(instant: Expression, types: Mapping[Ref, str]) -> list[Expression]:
    """Conditions on a column that hold wherever the instant lies in the batch; none where there is no such column."""
    lagged = _lagged(instant)
    if lagged is None or types.get(lagged[0]) not in ("timestamp", "date"):
        return []
    (alias, name), lag = lagged
    low = exp.Sub(this=SINCE.copy(), expression=literal(lag + DAY))
    high = exp.Add(this=UNTIL.copy(), expression=literal(DAY - lag))
    bounds: list[Expression] = [exp.Anonymous(this="TIMESTAMP_MICROS", expressions=[b]) for b in (low, high)]
    if types[alias, name] == "date":
        bounds = [exp.cast(b, "date") for b in bounds]
    of = exp.column(name, alias, quoted=True)
    return [exp.GTE(this=of, expression=bounds[0]), exp.LTE(this=of.copy(), expression=bounds[1])]


def _lagged(node: Expression) -> tuple[Ref, int] | None:
    """The column an instant follows, and by how many microseconds."""
    match node:
        case exp.Column():
            return (node.table, node.name), 0
        case exp.Paren() | exp.Cast() | exp.UnixMicros():
            return _lagged(node.this)
        case exp.Add() | exp.Sub():
            inner, constant = _lagged(node.left), _constant(node.right)
            if inner is None or constant is None:
                return None
            return inner[0], inner[1] + (constant if isinstance(node, exp.Add) else -constant)
        case _:
            return None


def _constant(node: Expression) -> int | None:
    match node:
        case exp.Interval(this=exp.Literal() as amount) if str(amount.this).lstrip("-").isdigit():
            unit = _UNITS.get(str(node.args.get("unit") or "").upper().removesuffix("S"))
            return None if unit is None else int(amount.this) * unit
        case exp.Literal() if not node.is_string and str(node.this).isdigit():
            return int(node.this)
        case exp.Paren():
            return _constant(node.this)
        case _:
            return None
