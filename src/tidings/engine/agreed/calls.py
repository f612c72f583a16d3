"""Functions of texts, dates and timestamps: one line for each that has words in DuckDB.

A line says which arguments of which types the function takes, what its type is, and the words.  An argument of a
smaller whole type is converted.  ``constant`` arguments are texts or whole numbers as they are written, and stand among
the words as they are: ``{pad}``.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.engine.agreed.casts import SECONDS
from tidings.engine.agreed.term import ELSEWHERE
from tidings.ir.expression import Expression

ASCII = f"CASE WHEN strlen({{0}}) = length({{0}}) THEN %s WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
"""Words that hold for a text of ASCII alone: upper('ß') is 'SS' in Spark only."""
_YEARS = f"CASE WHEN year({{0}}) BETWEEN 1 AND 9999 THEN %s WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
_NOT_NEGATIVE = "CASE WHEN {1} < 0 THEN 0 ELSE {1} END"
_CAPITALS = "array_to_string(list_transform(string_split(lower({0}), ' '), lambda w: upper(w[1]) || w[2:]), ' ')"
_INSTANT = "CAST(make_timestamp(%s) AS TIMESTAMPTZ)"


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """How a function is said in DuckDB."""

    takes: str
    """Names of arguments with their types, as in ``this:string expression:int``."""
    type: str
    """The type of its values; that of the first argument if it is empty."""
    text: str
    ignores: str = ""
    """Arguments that only say how the parser came upon it."""


def _of_text(function: str, type: str = "string") -> FunctionEntry:
    return FunctionEntry("this:string", type, function)


def _of_two_texts(function: str) -> FunctionEntry:
    return FunctionEntry("this:string expression:string", "boolean", f"{function}({{0}}, {{1}})")


def _of_date(function: str) -> FunctionEntry:
    return FunctionEntry("this:date", "int", f"CAST({function} AS INTEGER)")


CALLS: dict[type[Expression], FunctionEntry] = {
    # texts
    exp.Length: _of_text("CAST(length({0}) AS INTEGER)", "int"),
    exp.Upper: _of_text(ASCII % "upper({0})"),
    exp.Lower: _of_text(ASCII % "lower({0})"),
    exp.Initcap: FunctionEntry("this:string", "string", ASCII % _CAPITALS, "expression"),
    exp.Reverse: _of_text("array_to_string(list_reverse(string_split({0}, '')), '')"),
    exp.Ascii: _of_text("CAST(ascii({0}) AS INTEGER)", "int"),
    exp.BitLength: _of_text("CAST(strlen({0}) * 8 AS INTEGER)", "int"),
    exp.StartsWith: _of_two_texts("starts_with"),
    exp.EndsWith: _of_two_texts("ends_with"),
    exp.Contains: _of_two_texts("contains"),
    exp.DPipe: FunctionEntry("this:string expression:string", "string", "{0} || {1}", "safe"),
    exp.Replace: FunctionEntry("this:string expression:string replacement:string", "string", "replace({0}, {1}, {2})"),
    exp.StrPosition: FunctionEntry("this:string substr:string", "int", "CAST(instr({0}, {1}) AS INTEGER)"),
    exp.Left: FunctionEntry("this:string expression:int", "string", f"substring({{0}}, 1, {_NOT_NEGATIVE})"),
    exp.Right: FunctionEntry("this:string expression:int", "string", f"right({{0}}, {_NOT_NEGATIVE})"),
    exp.Repeat: FunctionEntry("this:string times:int", "string", f"repeat({{0}}, {_NOT_NEGATIVE})"),
    exp.Translate: FunctionEntry("this:string from_:constant to:constant", "string", "translate({0}, {from_}, {to})"),
    exp.MD5: _of_text("md5({0})"),
    # dates and timestamps
    exp.Year: _of_date("year({0})"),
    exp.Quarter: _of_date("quarter({0})"),
    exp.Month: _of_date("month({0})"),
    exp.Day: _of_date("day({0})"),
    exp.DayOfMonth: _of_date("day({0})"),
    exp.DayOfWeek: _of_date("dayofweek({0}) + 1"),
    exp.DayOfYear: _of_date("dayofyear({0})"),
    exp.WeekOfYear: _of_date("weekofyear({0})"),
    exp.Hour: FunctionEntry("this:timestamp", "int", "CAST(hour(CAST({0} AS TIMESTAMP)) AS INTEGER)"),
    exp.Minute: FunctionEntry("this:timestamp", "int", "CAST(minute(CAST({0} AS TIMESTAMP)) AS INTEGER)"),
    exp.Second: FunctionEntry("this:timestamp", "int", "CAST(second(CAST({0} AS TIMESTAMP)) AS INTEGER)"),
    exp.LastDay: FunctionEntry("this:date", "date", _YEARS % "last_day({0})"),
    exp.AddMonths: FunctionEntry("this:date expression:int", "date", _YEARS % "CAST({0} + to_months({1}) AS DATE)"),
    exp.TsOrDsAdd: FunctionEntry("this:date expression:int", "date", "{0} + {1}", "unit"),
    exp.DateDiff: FunctionEntry("this:date expression:date", "int", "CAST({0} - {1} AS INTEGER)"),
    exp.UnixMicros: FunctionEntry("this:timestamp", "bigint", "epoch_us({0})"),
    exp.UnixSeconds: FunctionEntry("this:timestamp", "bigint", SECONDS),
    exp.StrToUnix: FunctionEntry("this:timestamp", "bigint", "epoch_us({0}) // 1000000", "format"),
}

NAMED: dict[str, FunctionEntry] = {
    "octet_length": FunctionEntry("0:string", "int", "CAST(strlen({0}) AS INTEGER)"),
    "btrim": FunctionEntry("0:string", "string", "trim({0}, ' ')"),
    "weekday": FunctionEntry("0:date", "int", "CAST(isodow({0}) - 1 AS INTEGER)"),
    "make_date": FunctionEntry(
        "0:int 1:int 2:int",
        "date",
        f"CASE WHEN {{0}} > 0 THEN make_date({{0}}, {{1}}, {{2}}) WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END",
    ),
    "timestamp_seconds": FunctionEntry("0:bigint", "timestamp", _INSTANT % "{0} * 1000000"),
    "timestamp_millis": FunctionEntry("0:bigint", "timestamp", _INSTANT % "{0} * 1000"),
    "timestamp_micros": FunctionEntry("0:bigint", "timestamp", _INSTANT % "{0}"),
}
"""Functions that the parser has no node for, by their names."""

PARTS = {
    "YEAR": exp.Year,
    "QUARTER": exp.Quarter,
    "MONTH": exp.Month,
    "WEEK": exp.WeekOfYear,
    "DAY": exp.Day,
    "DAYOFWEEK": exp.DayOfWeek,
    "DOW": exp.DayOfWeek,
    "DOY": exp.DayOfYear,
    "HOUR": exp.Hour,
    "MINUTE": exp.Minute,
}
"""What EXTRACT takes from a date, as the function that does the same."""

UNITS = {"YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MM": "month"}
UNITS |= {"MON": "month", "WEEK": "week"}
"""The units dates are cut off to."""
INSTANT_UNITS = {**UNITS, "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second"}
"""The units timestamps are cut off to."""
