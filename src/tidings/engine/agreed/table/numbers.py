"""Functions of numbers; arithmetic itself is in :mod:`tidings.engine.agreed.arithmetic`.

Functions such as ``exp`` and ``ln`` are Spark's alone: their last digits depend on the library that computes them.
"""

from tidings.engine.agreed.signature import FunctionLine as F
from tidings.engine.agreed.term import ELSEWHERE, raised

_PI, _E = "CAST('3.141592653589793' AS DOUBLE)", "CAST('2.718281828459045' AS DOUBLE)"
_SIGN = "CASE WHEN isnan({0}) OR {0} = 0 THEN {0} ELSE CAST(sign({0}) AS DOUBLE) END"
_BIT = f"CASE WHEN {{1}} BETWEEN 0 AND 7 THEN CAST(({{0}} >> {{1}}) & 1 AS TINYINT) ELSE {ELSEWHERE} END"

NUMBERS = (
    F("pi()", "double", _PI),
    F("e()", "double", _E),
    F("sqrt(double)", "double", "CASE WHEN {0} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({0}) END"),
    F("degrees(double)", "double", "{0} * CAST('57.29577951308232' AS DOUBLE)"),
    F("radians(double)", "double", "{0} * CAST('0.017453292519943295' AS DOUBLE)"),
    F("sign(double)", "double", _SIGN),
    F("signum(double)", "double", _SIGN),
    F("rint(double)", "double", "CASE WHEN isfinite({0}) THEN round_even({0}, 0) ELSE {0} END"),
    F("isnan(double)", "boolean", "coalesce(isnan({0}), FALSE)"),
    F("nanvl(double, double)", "double", "CASE WHEN isnan({0}) THEN {1} ELSE {0} END"),
    F("factorial(int)", "bigint", "CASE WHEN {0} BETWEEN 0 AND 20 THEN CAST(factorial({0}) AS BIGINT) END"),
    F("bit_count(whole)", "int", "CAST(bit_count(CAST({0} AS BIGINT)) AS INTEGER)"),
    F("bit_count(boolean)", "int", "CAST({0} AS INTEGER)"),
    F("positive(whole)", "T", "{0}"),
    F("positive(double)", "double", "{0}", is_strict=True),
    F("nullifzero(whole)", "T", "nullif({0}, 0)"),
    F("getbit(whole, number)", "tinyint", _BIT),
    F("bit_get(whole, number)", "tinyint", _BIT),
    F(
        "assert_true(boolean)",
        "void",
        f"CASE WHEN {{0}} THEN NULL ELSE {raised('USER_RAISED_EXCEPTION', 'not true')} END",
    ),
)
