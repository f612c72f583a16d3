"""Casts as Spark does them.

Of texts only those are converted that both engines read alike; for other texts Spark is asked, which may have a value
or an error for them.  Decimals are rounded half away from zero, and lose their fraction when they become whole numbers.
"""

from __future__ import annotations

from tidings.engine.agreed.arithmetic import typed
from tidings.engine.agreed.numeric import common_type, decimal_type
from tidings.engine.agreed.term import ELSEWHERE, NotAgreed, TypedExpression, converted, duckdb_type, raised, words
from tidings.ir import types
from tidings.ir.expression import Expression

_WHOLE = "-?[0-9]{{1,19}}"
_DECIMAL = "-?[0-9]{{1,38}}([.][0-9]{{1,18}})?"
_FLOAT = "-?[0-9]{{1,40}}([.][0-9]{{1,40}})?([eE][-+]?[0-9]{{1,3}})?"
_DATE = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
_INSTANT = _DATE + "( [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,6}})?)?"
_NO_NUMBER = (
    "CASE WHEN regexp_full_match({0}, '[ -~]*') AND NOT regexp_full_match({0}, ' *[-+]?[0-9]+ *') THEN "
    + raised("CAST_INVALID_INPUT", "A text cannot be cast to a number because it is malformed. Use `try_cast`.")
    + f" ELSE {ELSEWHERE} END"
)
"""What becomes of a text that is not a plain whole number: an error, if Spark cannot read it either."""
_NO_MOMENT = (
    "CASE WHEN regexp_full_match({0}, '[ a-zA-Z]*') THEN "
    + raised("CAST_INVALID_INPUT", "A text cannot be cast to a date because it is malformed. Use `try_cast`.")
    + f" ELSE {ELSEWHERE} END"
)
"""What becomes of a text that is not a plain date: an error, if it has no digits."""
_TIMES = ("date", "timestamp", "timestamp_ntz")
_PLAIN_YEARS = "year({0}) BETWEEN 1 AND 9999"
_TRUE, _FALSE = "('t', 'true', 'y', 'yes', '1')", "('f', 'false', 'n', 'no', '0')"


def cast(node: Expression, term: TypedExpression, to: str, *, safe: bool = False) -> TypedExpression:
    """A term cast to a type; a ``safe`` cast is NULL where another fails."""
    if term.type == to:
        return term
    if term.type == "void":
        return converted(term, to)
    if types.is_nested(term.type):
        if common_type([term.type, to]) != to:
            raise NotAgreed(node)
        return converted(term, to)
    if safe:
        return _tried(node, term, to)
    if term.type == "string":
        return _from_text(node, term, to)
    if to == "string":
        return _to_text(node, term)
    if term.type in ("date", "timestamp", "timestamp_ntz"):
        return _from_time(node, term, to)
    if term.type == "boolean":
        if to not in types.INTEGRAL:
            raise NotAgreed(node)
        return converted(term, to)
    return _from_number(node, term, to)


def _from_number(node: Expression, term: TypedExpression, to: str) -> TypedExpression:
    if to == "boolean" and term.type in types.INTEGRAL:
        return converted(term, to)
    if term.is_exact and types.decimal(to) is not None:
        return converted(term, to)
    if to == "double" and (term.is_exact or term.type == "float"):
        return typed(term, to)
    if to == "float" and term.decimal is not None:  # by its text, which is read to the last bit
        return converted(TypedExpression(words("CAST({0} AS VARCHAR)", term), "string"), to)
    if to == "float" and (term.type in types.INTEGRAL or term.type == "double"):
        return converted(term, to)
    if to in types.INTEGRAL and term.type in types.INTEGRAL:
        return converted(term, to)
    if to in types.INTEGRAL and (term.decimal is not None or term.type == "double"):
        return TypedExpression(words(f"CAST(trunc({{0}}) AS {duckdb_type(to)})", term), to)
    if to == "timestamp" and term.type in types.INTEGRAL:
        text = "CAST(make_timestamp(CAST({0} AS BIGINT) * 1000000) AS TIMESTAMPTZ)"
        return TypedExpression(words(text, term), to)
    raise NotAgreed(node)


def _to_text(node: Expression, term: TypedExpression) -> TypedExpression:
    if term.is_exact or term.type == "boolean":
        return converted(term, "string")
    if term.type in ("date", "timestamp", "timestamp_ntz"):
        plain = term if term.type == "date" else converted(term, "timestamp_ntz")
        text = f"CASE WHEN {_PLAIN_YEARS} THEN CAST({{0}} AS VARCHAR) WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
        return TypedExpression(words(text, plain), "string")
    if term.type == "double":
        return TypedExpression(words(_FLOAT_TEXT, term), "string")
    if term.type == "binary":
        return TypedExpression(words("decode({0})", term), "string")
    raise NotAgreed(node)


_FLOAT_TEXT = (
    "CASE WHEN {0} IS NULL THEN NULL WHEN isnan({0}) THEN 'NaN' WHEN {0} = CAST('inf' AS DOUBLE) THEN 'Infinity' "
    "WHEN {0} = CAST('-inf' AS DOUBLE) THEN '-Infinity' "
    "WHEN ({0} = 0 OR abs({0}) BETWEEN 0.001 AND 9999999) AND length(CAST({0} AS VARCHAR)) <= 16 "
    f"THEN CAST({{0}} AS VARCHAR) ELSE {ELSEWHERE} END"
)
"""The text of a float with few digits; of others, Java before 19 may write more digits than are needed."""


def _from_time(node: Expression, term: TypedExpression, to: str) -> TypedExpression:
    """Between dates and timestamps, in a session that is in UTC; a timestamp as a number is in seconds."""
    if to in ("date", "timestamp", "timestamp_ntz"):
        return converted(converted(term, "timestamp_ntz"), to)
    if term.type == "timestamp" and to == "bigint":
        return TypedExpression(words(SECONDS, term), to)
    raise NotAgreed(node)


SECONDS = "(epoch_us({0}) - ((epoch_us({0}) % 1000000) + 1000000) % 1000000) // 1000000"
"""The words for the seconds of a timestamp since the epoch, the fraction left out."""


def _from_text(node: Expression, term: TypedExpression, to: str) -> TypedExpression:
    if to == "boolean":
        text = (
            f"CASE WHEN lower(trim({{0}}, ' ')) IN {_TRUE} THEN TRUE "
            f"WHEN lower(trim({{0}}, ' ')) IN {_FALSE} THEN FALSE WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
        )
        return TypedExpression(words(text, term), to)
    if to == "binary":
        return TypedExpression(words("encode({0})", term), to)
    if to in ("double", "float"):
        kind = duckdb_type(to)
        return TypedExpression(words(_READ_FLOAT.replace("DOUBLE", kind), term), to)
    form = _form(to)
    if form is None:
        raise NotAgreed(node)
    malformed = _NO_NUMBER if to in types.INTEGRAL else _NO_MOMENT if to in _TIMES else ELSEWHERE
    trimmed = "trim({0}, ' ')"
    inner = f"CAST({trimmed} AS TIMESTAMP)" if to == "timestamp" else trimmed
    text = (
        f"CASE WHEN regexp_full_match({trimmed}, '{form}') THEN CAST({inner} AS {duckdb_type(to)}) "
        f"WHEN {{0}} IS NULL THEN NULL ELSE {malformed} END"
    )
    return TypedExpression(words(text, term), to)


_READ_FLOAT = (
    f"CASE WHEN regexp_full_match(trim({{0}}, ' '), '{_FLOAT}') THEN coalesce(TRY_CAST(trim({{0}}, ' ') AS DOUBLE), "
    f"{ELSEWHERE}) WHEN lower(trim({{0}}, ' ')) IN ('inf', '+inf', 'infinity', '+infinity') THEN CAST('inf' AS DOUBLE) "
    "WHEN lower(trim({0}, ' ')) IN ('-inf', '-infinity') THEN CAST('-inf' AS DOUBLE) "
    f"WHEN lower(trim({{0}}, ' ')) = 'nan' THEN CAST('nan' AS DOUBLE) WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
)


def _form(to: str) -> str | None:
    """The form of texts that both engines read alike as a type."""
    if to in types.INTEGRAL:
        return _WHOLE
    digits = types.decimal(to)
    if digits is not None:
        return _DECIMAL if to == decimal_type(digits) else None
    return {"date": _DATE, "timestamp": _INSTANT, "timestamp_ntz": _INSTANT}.get(to)


def _tried(node: Expression, term: TypedExpression, to: str) -> TypedExpression:
    """A cast that is NULL where it fails: to a number that has no room, and of texts that are none of the type."""
    if to == "string" or (term.type in _TIMES and to in _TIMES):  # which do not fail
        return cast(node, term, to)
    if to in ("double", "float") and (term.is_exact or term.type in ("double", "float")):
        return cast(node, term, to)
    if to in types.INTEGRAL and (term.decimal is not None or term.type == "double"):
        return TypedExpression(words(f"TRY_CAST(trunc({{0}}) AS {duckdb_type(to)})", term), to)
    if term.type in types.INTEGRAL and (types.decimal(to) is not None or to in types.INTEGRAL):
        return TypedExpression(words(f"TRY_CAST({{0}} AS {duckdb_type(to)})", term), to)
    if term.type != "string":
        raise NotAgreed(node)
    if to in types.INTEGRAL:
        text = (
            "CASE WHEN regexp_full_match({0}, '[!-*,-~]*') THEN "
            f"CASE WHEN regexp_full_match({{0}}, '{_WHOLE}') THEN TRY_CAST({{0}} AS {duckdb_type(to)}) END "
            f"WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
        )
        return TypedExpression(words(text, term), to)
    return _tried_time(node, term, to)


def _tried_time(node: Expression, term: TypedExpression, to: str) -> TypedExpression:
    """A text as a date or timestamp, or NULL; texts of other forms than the usual are for Spark, but not mere words."""
    form = _form(to)
    if form is None or to not in _TIMES:
        raise NotAgreed(node)
    inner = "TRY_CAST({0} AS TIMESTAMP)" if to == "timestamp" else "{0}"
    text = (
        f"CASE WHEN regexp_full_match({{0}}, '{form}') THEN TRY_CAST({inner} AS {duckdb_type(to)}) "
        f"WHEN {{0}} IS NULL OR regexp_full_match({{0}}, '[ a-zA-Z]*') THEN NULL ELSE {ELSEWHERE} END"
    )
    return TypedExpression(words(text, term), to)
