"""Functions of dates and timestamps whose words depend on constants, in a session that is in UTC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from tidings.engine.agreed.casts import cast
from tidings.engine.agreed.term import ELSEWHERE, NotAgreed, TypedExpression, converted, words
from tidings.ir import types
from tidings.ir.expression import Expression, template

if TYPE_CHECKING:
    from tidings.engine.agreed.expression import Translator

_FORMAT = re.compile(r"(%Y|%mstrict|%dstrict|%Hstrict|%Mstrict|%Sstrict|[-/:_. ])+")
_FIXED_SPANS = frozenset({"WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})


PARTS = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "weekofyear",
    "DAY": "day",
    "DAYOFWEEK": "dayofweek",
    "DOW": "dayofweek",
    "DOY": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
}
"""What EXTRACT takes from a date, as the function that does the same."""

UNITS = {"YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MM": "month"}
UNITS |= {"MON": "month", "WEEK": "week"}
"""The units dates are cut off to."""
INSTANT_UNITS = {**UNITS, "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second"}
"""The units timestamps are cut off to."""


def shifted(translator: Translator, node: exp.Binary) -> TypedExpression | None:
    """A date or timestamp some time later or earlier; None where the length of time is one of :mod:`.spans`."""
    span, moment, sign = node.expression.unnest(), translator.term(node.left), "-" if isinstance(node, exp.Sub) else "+"
    amount, unit = span.this, span.text("unit").upper().removesuffix("S")
    is_written = isinstance(amount, exp.Literal) and re.fullmatch(r"\d{1,9}", amount.name)
    if not isinstance(node, exp.Add | exp.Sub) or not is_written:
        return None
    n = int(amount.name)
    if unit in _FIXED_SPANS and moment.type == "timestamp":
        return TypedExpression(words(f"{{0}} {sign} INTERVAL '{n}' {unit}", moment), "timestamp")
    if unit in ("WEEK", "DAY") and moment.type == "date":
        return TypedExpression(words(f"{{0}} {sign} {n * 7 if unit == 'WEEK' else n}", moment), "date")
    if unit in ("MONTH", "YEAR") and moment.type in ("date", "timestamp"):
        months = f"{{0}} {sign} to_months({n * 12 if unit == 'YEAR' else n})"
        later = TypedExpression(words(months, converted(moment, "timestamp_ntz")), "timestamp_ntz")
        return converted(later, moment.type)
    return None


def as_date(translator: Translator, node: exp.TsOrDsToDate) -> TypedExpression:
    """What functions of dates take for a date, ``to_date`` among them."""
    term = translator.term(node.this)
    if node.args.get("format") or term.type not in ("date", "timestamp", "string"):
        raise NotAgreed(node)
    return cast(node, term, "date")


def extract(translator: Translator, node: exp.Extract) -> TypedExpression:
    part = PARTS.get(node.name.upper())
    if part is None:
        raise NotAgreed(node)
    call = template(f"{part}(moment)")
    return translator.term(call.transform(lambda n: node.expression.copy() if isinstance(n, exp.Column) else n))


def cut_off(translator: Translator, node: exp.DateTrunc | exp.TimestampTrunc) -> TypedExpression:
    """A date at the beginning of its month or the like, a timestamp at the beginning of its hour or the like."""
    moment, unit = translator.term(node.this), node.text("unit").upper()
    name = (UNITS if isinstance(node, exp.DateTrunc) else INSTANT_UNITS).get(unit)
    if name is None or moment.type not in ("date", "timestamp"):
        raise NotAgreed(node)
    if isinstance(node, exp.DateTrunc):
        text = f"CAST(date_trunc('{name}', {{0}}) AS DATE)"
        return TypedExpression(words(text, cast(node, moment, "date")), "date")
    cut = words(f"date_trunc('{name}', {{0}})", converted(moment, "timestamp_ntz"))
    return converted(TypedExpression(cut, "timestamp_ntz"), "timestamp")


def formatted(translator: Translator, node: exp.TimeToStr) -> TypedExpression:
    moment = node.this.this if isinstance(node.this, exp.TimeStrToTime) else node.this
    return _formatted(node, translator.term(moment))


def formatted_seconds(translator: Translator, node: exp.UnixToStr) -> TypedExpression:
    """An instant by a pattern, given in seconds since the epoch."""
    return _formatted(node, cast(node, translator.of(node.this, *types.INTEGRAL), "timestamp"))


def _formatted(node: Expression, moment: TypedExpression) -> TypedExpression:
    """A date or timestamp by a pattern of years, months, days, hours, minutes and seconds."""
    form = node.text("format")
    if not _FORMAT.fullmatch(form) or moment.type not in ("date", "timestamp", "timestamp_ntz"):
        raise NotAgreed(node)
    text = (
        f"CASE WHEN year({{0}}) BETWEEN 1000 AND 9999 THEN strftime({{0}}, '{form.replace('strict', '')}') "
        f"WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
    )
    return TypedExpression(words(text, converted(moment, "timestamp_ntz")), "string")
