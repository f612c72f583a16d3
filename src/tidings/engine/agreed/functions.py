"""Functions whose words depend on constants among their arguments, or on the types of these."""

from __future__ import annotations

import re

from sqlglot import exp

from tidings.engine.agreed.calls import ASCII, INSTANT_UNITS, UNITS
from tidings.engine.agreed.casts import cast
from tidings.engine.agreed.term import ELSEWHERE, NotAgreed, TypedExpression, converted, quoted_text, words
from tidings.ir.expression import Expression

_FORMAT = re.compile(r"(%Y|%mstrict|%dstrict|%Hstrict|%Mstrict|%Sstrict|[-/:_. ])+")
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_PATTERN = re.compile(r"\^?([A-Za-z0-9 _,;:@#%&=<>~/-]|\[[A-Za-z0-9_ -]+\]|[.()|]|(?<=[^(|^*+?])[*+?](?![*+?]))*\$?")
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def substring(node: Expression, text: TypedExpression, start: int, length: int | None) -> TypedExpression:
    """Characters from a place on that is counted from the beginning, or with a minus from the end."""
    if length is not None and length < 0:
        return TypedExpression(words("substring({0}, 1, 0)", text), "string")
    if start >= 0:
        until = "" if length is None else f", {length}"
        return TypedExpression(words(f"substring({{0}}, {max(start, 1)}{until})", text), "string")
    first = f"(length({{0}}) - {-start})"
    if length is None:
        return TypedExpression(words(f"substring({{0}}, greatest({first}, 0) + 1)", text), "string")
    size = f"greatest({first} + {length} - greatest({first}, 0), 0)"
    return TypedExpression(words(f"substring({{0}}, greatest({first}, 0) + 1, {size})", text), "string")


def trim(node: exp.Trim, text: TypedExpression, characters: str | None) -> TypedExpression:
    position = str(node.args.get("position") or "BOTH").upper()
    function = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[position]
    if characters == "":
        return text
    return TypedExpression(words(f"{function}({{0}}, {quoted_text(characters or ' ')})", text), "string")


def pad(node: Expression, text: TypedExpression, width: int, filling: str, left: bool) -> TypedExpression:
    if not filling or width < 0:
        raise NotAgreed(node)
    function = "lpad" if left else "rpad"
    return TypedExpression(words(f"{function}({{0}}, {width}, {quoted_text(filling)})", text), "string")


def split_part(node: Expression, text: TypedExpression, delimiter: str, part: int) -> TypedExpression:
    if not delimiter or part == 0:
        raise NotAgreed(node)
    return TypedExpression(words(f"split_part({{0}}, {quoted_text(delimiter)}, {part})", text), "string")


def like(node: exp.Like | exp.ILike, text: TypedExpression, pattern: str) -> TypedExpression:
    """A text held against a pattern; without regard to case only texts of ASCII."""
    if "\\" in pattern or "\0" in pattern or node.args.get("escape"):
        raise NotAgreed(node)
    word = "NOT LIKE" if node.args.get("negate") else "LIKE"
    if isinstance(node, exp.Like):
        return TypedExpression(words(f"{{0}} {word} {quoted_text(pattern)}", text), "boolean")
    if not pattern.isascii():
        raise NotAgreed(node)
    return TypedExpression(words(ASCII % f"lower({{0}}) {word} {quoted_text(pattern.lower())}", text), "boolean")


def regexp_like(node: Expression, text: TypedExpression, pattern: str) -> TypedExpression:
    """A text searched for a regular expression of the forms that Java and RE2 read alike."""
    if not _PATTERN.fullmatch(pattern) or pattern.count("(") != pattern.count(")"):
        raise NotAgreed(node)
    try:
        re.compile(pattern)
    except re.error:
        raise NotAgreed(node) from None
    body, end = (pattern[:-1], True) if pattern.endswith("$") else (pattern, False)
    translated = re.sub(r"\[[^\]]*\]|\.", lambda m: f"[^{_LINE_ENDS}]" if m[0] == "." else m[0], body)
    if end:
        translated = rf"(?:{translated})(?:\r\n|[{_LINE_ENDS}])?\z"
    return TypedExpression(words(f"regexp_matches({{0}}, {quoted_text(translated)})", text), "boolean")


def formatted(node: Expression, moment: TypedExpression, form: str) -> TypedExpression:
    """A date or timestamp by a pattern of years, months, days, hours, minutes and seconds."""
    if not _FORMAT.fullmatch(form) or moment.type not in ("date", "timestamp", "timestamp_ntz"):
        raise NotAgreed(node)
    plain = converted(moment, "timestamp_ntz")
    text = (
        f"CASE WHEN year({{0}}) BETWEEN 1000 AND 9999 THEN strftime({{0}}, '{form.replace('strict', '')}') "
        f"WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
    )
    return TypedExpression(words(text, plain), "string")


def formatted_seconds(node: Expression, seconds: TypedExpression, form: str) -> TypedExpression:
    """An instant by a pattern, given in seconds since the epoch."""
    return formatted(node, cast(node, seconds, "timestamp"), form)


def cut_off(node: Expression, moment: TypedExpression, unit: str) -> TypedExpression:
    """A date at the beginning of its month or the like, a timestamp at the beginning of its hour or the like."""
    if isinstance(node, exp.DateTrunc):
        name, day = UNITS.get(unit.upper()), moment if moment.type == "date" else cast(node, moment, "date")
        if name is None:
            raise NotAgreed(node)
        return TypedExpression(words(f"CAST(date_trunc('{name}', {{0}}) AS DATE)", day), "date")
    name = INSTANT_UNITS.get(unit.upper())
    if name is None or moment.type not in ("date", "timestamp"):
        raise NotAgreed(node)
    cut = words(f"date_trunc('{name}', {{0}})", converted(moment, "timestamp_ntz"))
    return converted(TypedExpression(cut, "timestamp_ntz"), "timestamp")


def json_value(node: exp.JSONExtractScalar, text: TypedExpression) -> TypedExpression:
    """The text, whole number or boolean at a path into JSON; for other values Spark is asked."""
    path = "$"
    for step in node.expression.expressions[1:]:
        match step:
            case exp.JSONPathKey(this=str(key)) if _SIMPLE_KEY.fullmatch(key):
                path += f".{key}"
            case exp.JSONPathSubscript(this=int(place)) if place >= 0:
                path += f"[{place}]"
            case _:
                raise NotAgreed(node)
    kind, value = f"json_type({{0}}, '{path}')", f"json_extract_string({{0}}, '{path}')"
    text_ = (
        f"CASE WHEN {{0}} IS NULL THEN NULL WHEN NOT json_valid({{0}}) THEN {ELSEWHERE} "
        f"WHEN {kind} IS NULL THEN NULL "
        f"WHEN {kind} IN ('VARCHAR', 'BIGINT', 'UBIGINT', 'BOOLEAN') THEN {value} ELSE {ELSEWHERE} END"
    )
    return TypedExpression(words(text_, text), "string")
