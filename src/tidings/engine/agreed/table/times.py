"""Functions of dates and timestamps, in a session that is in UTC."""

from tidings.engine.agreed.casts import SECONDS
from tidings.engine.agreed.signature import FunctionLine as F
from tidings.engine.agreed.term import ELSEWHERE

_YEARS = f"CASE WHEN year({{0}}) BETWEEN 1 AND 9999 THEN %s WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
_INSTANT = "CAST(make_timestamp(%s) AS TIMESTAMPTZ)"
_PLAIN = "CAST({0} AS TIMESTAMP)"
_LATER = "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL ELSE {0} + {1} END"
_EARLIER = "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL ELSE {0} - {1} END"
_MADE = f"CASE WHEN {{0}} > 0 THEN make_date({{0}}, {{1}}, {{2}}) WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
_DAY = "substring(dayname({0}), 1, 3)"
_MONTH = "substring(monthname({0}), 1, 3)"


def _of_date(form: str, words: str) -> F:
    return F(form, "int", f"CAST({words} AS INTEGER)")


TIMES = (
    # parts
    _of_date("year(date)", "year({0})"),
    _of_date("quarter(date)", "quarter({0})"),
    _of_date("month(date)", "month({0})"),
    _of_date("day(date)", "day({0})"),
    _of_date("dayofmonth(date)", "day({0})"),
    _of_date("dayofweek(date)", "dayofweek({0}) + 1"),
    _of_date("weekday(date)", "isodow({0}) - 1"),
    _of_date("dayofyear(date)", "dayofyear({0})"),
    _of_date("weekofyear(date)", "weekofyear({0})"),
    _of_date("hour(timestamp)", f"hour({_PLAIN})"),
    _of_date("minute(timestamp)", f"minute({_PLAIN})"),
    _of_date("second(timestamp)", f"second({_PLAIN})"),
    F("dayname(date)", "string", _DAY),
    F("monthname(date)", "string", _MONTH),
    # other dates
    F("last_day(date)", "date", _YEARS % "last_day({0})"),
    F("add_months(date, int)", "date", _YEARS % "CAST({0} + to_months({1}) AS DATE)"),
    F("date_add(date, int)", "date", _LATER),
    F("dateadd(date, int)", "date", _LATER),
    F("date_sub(date, int)", "date", _EARLIER),
    F("datediff(date, date)", "int", "CAST({0} - {1} AS INTEGER)"),
    F("date_diff(date, date)", "int", "CAST({0} - {1} AS INTEGER)"),
    F("make_date(int, int, int)", "date", _MADE),
    # counted from the epoch
    F("unix_date(date)", "int", "CAST({0} - DATE '1970-01-01' AS INTEGER)", is_strict=True),
    F("date_from_unix_date(int)", "date", "DATE '1970-01-01' + {0}"),
    F("unix_micros(timestamp)", "bigint", "epoch_us({0})", is_strict=True),
    F("unix_millis(timestamp)", "bigint", SECONDS.replace("1000000", "1000"), is_strict=True),
    F("unix_seconds(timestamp)", "bigint", SECONDS, is_strict=True),
    F("unix_timestamp(timestamp)", "bigint", "epoch_us({0}) // 1000000", is_strict=True),
    F("to_unix_timestamp(timestamp)", "bigint", "epoch_us({0}) // 1000000", is_strict=True),
    F("timestamp_seconds(whole)", "timestamp", _INSTANT % "CAST({0} AS BIGINT) * 1000000"),
    F("timestamp_millis(whole)", "timestamp", _INSTANT % "CAST({0} AS BIGINT) * 1000"),
    F("timestamp_micros(whole)", "timestamp", _INSTANT % "CAST({0} AS BIGINT)"),
)
