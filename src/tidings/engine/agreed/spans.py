"""Lengths of time: intervals of days, hours, minutes and seconds, as their microseconds.

Spark has such a length as a value of its own, which can be added to a timestamp, multiplied and compared; there are no
columns of it.  Months are of unequal length: a number of them is an interval of DuckDB's own, which is added to dates
and timestamps, and so is one of ``make_interval``, which may have all units and is added to timestamps only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from tidings.engine.agreed.term import CALENDAR, DAYS, MONTHS, SPAN, NotAgreed, TypedExpression, converted, words
from tidings.ir import types

if TYPE_CHECKING:
    from tidings.engine.agreed.expression import Translator

_SECOND = 1_000_000
_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3600 * _SECOND,
    "DAY": 86_400 * _SECOND,
}
_UNITS["WEEK"] = 7 * _UNITS["DAY"]
_TIMES = ("date", "timestamp", "timestamp_ntz")
SPANS = (DAYS, SPAN)
_OF_MONTHS = (MONTHS, CALENDAR)
INTERVALS = (*SPANS, *_OF_MONTHS)
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_TEXT = re.compile(r"(-?\d{1,6} (year|month|week|day|hour|minute|second)s?( |$))+")
_MADE = ("year", "month", "week", "day", "hour", "minute")


def written(translator: Translator, node: exp.Interval) -> TypedExpression:
    """``INTERVAL '3' HOURS``, and ``INTERVAL '3 days 2 hours'``."""
    amount, unit = node.this, node.text("unit").upper().removesuffix("S")
    if not isinstance(amount, exp.Literal):
        raise NotAgreed(node)
    if not unit and _TEXT.fullmatch(amount.name.lower()):
        return _several(node, amount.name.upper().split())
    if not re.fullmatch(r"-?\d{1,9}", amount.name) or unit not in {*_UNITS, *_MONTHS}:
        raise NotAgreed(node)
    if unit in _MONTHS:
        return TypedExpression(words(f"to_months({int(amount.name) * _MONTHS[unit]})"), MONTHS)
    kind = DAYS if unit in ("DAY", "WEEK") else SPAN
    return TypedExpression(words(f"CAST({int(amount.name) * _UNITS[unit]} AS BIGINT)"), kind)


def _several(node: exp.Interval, parts: list[str]) -> TypedExpression:
    """Amounts and their units, all of them even."""
    units = [unit.removesuffix("S") for unit in parts[1::2]]
    if not set(units) <= set(_UNITS):
        raise NotAgreed(node)
    span = sum(int(amount) * _UNITS[unit] for amount, unit in zip(parts[::2], units, strict=True))
    return TypedExpression(words(f"CAST({span} AS BIGINT)"), DAYS if set(units) <= {"DAY", "WEEK"} else SPAN)


def cast_text(translator: Translator, node: exp.Cast) -> TypedExpression:
    """``CAST('1 month' AS INTERVAL)``."""
    if not isinstance(node.this, exp.Literal) or not node.this.is_string or not _TEXT.fullmatch(node.this.name):
        raise NotAgreed(node)
    return TypedExpression(node.copy(), CALENDAR)


def made(translator: Translator, node: exp.MakeInterval) -> TypedExpression:
    """``make_interval(years, months, …)``, of whole numbers."""
    given = [(name, node.args[name]) for name in _MADE if node.args.get(name) is not None]
    if not given or node.args.get("second") is not None:
        raise NotAgreed(node)
    parts = [translator.of(part, "int", "smallint", "tinyint") for _, part in given]
    text = " + ".join(f"to_{name}s({{{n}}})" for n, (name, _) in enumerate(given))
    return TypedExpression(words(text, *parts), CALENDAR)


def negative(span: TypedExpression) -> TypedExpression:
    return TypedExpression(words("-{0}", span), span.type)


def binary(node: exp.Binary, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """A length of time in arithmetic, or the one between two moments."""
    sign = "+" if isinstance(node, exp.Add) else "-"
    is_sum, are_spans = isinstance(node, exp.Add | exp.Sub), [t.type in INTERVALS for t in (left, right)]
    if {left.type, right.type} & {*_OF_MONTHS} and not {left.type, right.type} & {*_TIMES}:
        return _of_calendar(node, left, right)
    if is_sum and all(are_spans):
        kind = DAYS if left.type == right.type == DAYS else SPAN
        return TypedExpression(words(f"{{0}} {sign} {{1}}", left, right), kind)
    if is_sum and are_spans[1] and left.type in _TIMES:
        return _moved(node, left, right, sign)
    if isinstance(node, exp.Add) and are_spans[0] and right.type in _TIMES:
        return _moved(node, right, left, sign)
    if isinstance(node, exp.Sub) and left.type in _TIMES and right.type in _TIMES:
        ends = [converted(end, "timestamp_ntz") for end in (left, right)]
        kind = DAYS if left.type == right.type == "date" else SPAN
        return TypedExpression(words("epoch_us({0}) - epoch_us({1})", *ends), kind)
    if isinstance(node, exp.Mul) and any(are_spans) and {left.type, right.type} & types.INTEGRAL:
        return TypedExpression(words("{0} * {1}", *(_whole(t) for t in (left, right))), SPAN)
    raise NotAgreed(node)


def _of_calendar(node: exp.Binary, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """An interval of DuckDB's own multiplied, or added to another of its kind."""
    if isinstance(node, exp.Mul) and {left.type, right.type} & types.INTEGRAL:
        kind = left.type if left.type in _OF_MONTHS else right.type
        return TypedExpression(words("{0} * {1}", left, right), kind)
    if isinstance(node, exp.Add | exp.Sub) and left.type == right.type:
        return TypedExpression(
            words(f"{{0}} {'+' if isinstance(node, exp.Add) else '-'} {{1}}", left, right), left.type
        )
    raise NotAgreed(node)


def _moved(node: exp.Binary, moment: TypedExpression, span: TypedExpression, sign: str) -> TypedExpression:
    """A moment some time later or earlier; a date stays one if it is moved by days or months."""
    if span.type in _OF_MONTHS:
        if moment.type == "date" and span.type == CALENDAR:
            raise NotAgreed(node)
        later = TypedExpression(words(f"{{0}} {sign} {{1}}", converted(moment, "timestamp_ntz"), span), "timestamp_ntz")
        return converted(later, moment.type)
    if moment.type == "date" and span.type == DAYS:
        return TypedExpression(words(f"{{0}} {sign} CAST({{1}} // {_UNITS['DAY']} AS INTEGER)", moment, span), "date")
    if moment.type == "date":
        moment = converted(converted(moment, "timestamp_ntz"), "timestamp")
    return TypedExpression(words(f"{{0}} {sign} to_microseconds({{1}})", moment, span), moment.type)


def _whole(term: TypedExpression) -> TypedExpression:
    return term if term.type in SPANS else converted(TypedExpression(term.sql, term.type), "bigint")
