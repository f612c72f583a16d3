"""Arithmetic with Spark's types and errors.

Whole numbers are computed in the type that Spark gives the result, so that both overflow at the same numbers, and a
division by zero is an error.  DuckDB divides decimals as floats; here a quotient is one of whole numbers, rounded half
away from zero as in Spark.  Spark rounds a quotient twice, first to 39 places; where that could matter it is asked.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tidings.engine.agreed import numeric
from tidings.engine.agreed.numeric import MOST_DIGITS, common_type, decimal_type, digits_of
from tidings.engine.agreed.term import ELSEWHERE, NotAgreed, TypedExpression, converted, duckdb_type, raised, words
from tidings.ir import types
from tidings.ir.expression import Expression

_ROUNDED_PLACES = 10
_ROUNDED = (
    "CASE WHEN {0} IS NULL OR isnan({0}) OR isinf({0}) THEN {0} WHEN abs({0}) < 1e-20 THEN CAST(0 AS DOUBLE) "
    "WHEN abs({0}) < 1000000000000000 "
    "THEN CAST(CAST(CAST(CAST({0} AS VARCHAR) AS DECIMAL(38,%d)) AS VARCHAR) AS DOUBLE) "
    f"ELSE {ELSEWHERE} END"
)
"""A float rounded by its digits as they are written, half away from zero."""
_QUOTIENT_PLACES = 39
_SIGNED_DIGITS = 34
_MACHINE_DIGITS = 18
"""DuckDB multiplies decimals of so many digits in 64 bits, and has no room then for more."""
_DIVISION = raised("DIVIDE_BY_ZERO", "Division by zero. Use `try_divide` for a NULL instead.")
_REMAINDER = raised("REMAINDER_BY_ZERO", "Remainder by zero. Use `try_mod` for a NULL instead.")
_OPERATORS: dict[type[Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}
_BITS: dict[type[Expression], str] = {
    exp.BitwiseAnd: "{0} & {1}",
    exp.BitwiseOr: "{0} | {1}",
    exp.BitwiseXor: "xor({0}, {1})",
}
_DIGITS: dict[type[Expression], Callable[[tuple[int, int], tuple[int, int]], tuple[int, int]]] = {
    exp.Add: numeric.sum_digits,
    exp.Sub: numeric.sum_digits,
    exp.Mul: numeric.product_digits,
    exp.Mod: numeric.remainder_digits,
}


def binary(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Two numbers added, subtracted, multiplied or divided."""
    if "void" in (left.type, right.type):
        raise NotAgreed(node)
    if isinstance(node, exp.Div):
        return _quotient(node, left, right)
    if isinstance(node, exp.Mod):
        right = _not_zero(right, _REMAINDER)
    operator = f"{{0}} {_OPERATORS[type(node)]} {{1}}"
    if left.is_exact and right.is_exact and (left.decimal or right.decimal):
        return _decimals(node, operator, left, right)
    type_ = common_type([left.type, right.type])
    if type_ not in types.INTEGRAL and type_ != "double":
        raise NotAgreed(node)
    return TypedExpression(words(operator, typed(left, type_), _operand(right, type_)), type_)


def typed(term: TypedExpression, type: str) -> TypedExpression:
    """A number as a type; a decimal of many digits becomes a float by its text, which is read to the last bit."""
    if type == "double" and term.decimal is not None and term.decimal[0] > 15:
        return TypedExpression(words("CAST(CAST({0} AS VARCHAR) AS DOUBLE)", term), type)
    if term.literal is not None and term.type == type:
        return TypedExpression(words(f"CAST({{0}} AS {duckdb_type(type)})", term), type)
    return converted(term, type)


def _operand(term: TypedExpression, type: str) -> TypedExpression:
    """The other number of an operation; DuckDB gives a whole number that is written the type of the first."""
    return term if term.literal is not None and type in types.INTEGRAL else typed(term, type)


def _not_zero(term: TypedExpression, failure: str = _DIVISION) -> TypedExpression:
    """A number that is divided by."""
    if term.literal is not None and term.literal.strip("+-0."):
        return term
    return TypedExpression(words(f"CASE WHEN {{0}} = 0 THEN {failure} ELSE {{0}} END", term), term.type)


def _decimals(node: Expression, operator: str, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    sides = digits_of(left), digits_of(right)
    digits = _DIGITS[type(node)](*sides)
    scale = sides[0][1] + sides[1][1] if isinstance(node, exp.Mul) else max(sides[0][1], sides[1][1])
    if scale > MOST_DIGITS:
        raise NotAgreed(node)
    if isinstance(node, exp.Mod):
        whole = max(p - s for p, s in sides)
        if whole + scale > MOST_DIGITS:
            raise NotAgreed(node)
        operands = [converted(t, decimal_type((whole + scale, scale))) for t in (left, right)]
    else:
        operands = [converted(t, decimal_type(d)) for t, d in zip((left, right), sides, strict=True)]
    if isinstance(node, exp.Mul) and sides[0][0] + sides[1][0] > _MACHINE_DIGITS >= sides[0][0]:
        operands[0] = converted(operands[0], decimal_type((_MACHINE_DIGITS + 1, sides[0][1])))
    result = decimal_type(digits)
    return converted(TypedExpression(words(operator, *operands), ""), result)


def _quotient(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    if left.is_exact and right.is_exact and (left.decimal or right.decimal):
        return quotient(node, left, right, numeric.quotient_digits(digits_of(left), digits_of(right)))
    if not all(t.is_exact or t.type in ("float", "double") for t in (left, right)):
        raise NotAgreed(node)
    return TypedExpression(words("{0} / {1}", typed(left, "double"), _not_zero(typed(right, "double"))), "double")


def quotient(
    node: Expression, left: TypedExpression, right: TypedExpression, digits: tuple[int, int]
) -> TypedExpression:
    """A quotient of decimals with some digits."""
    (_, s), (_, t), (_, scale) = digits_of(left), digits_of(right), digits
    shift = scale - s + t
    if shift < 0 or shift > MOST_DIGITS:
        raise NotAgreed(node)
    numerator = words(f"({unscaled('{0}', s)}) * CAST('{10**shift}' AS HUGEINT)", left)
    most = 10 ** (_QUOTIENT_PLACES - 1 - scale)
    safe = f"abs({{0}}) BETWEEN 1 AND CAST('{most}' AS HUGEINT)"
    b = TypedExpression(words(unscaled("{0}", t), right), "")
    failed = f"WHEN {{0}} = 0 THEN {_DIVISION} ELSE {ELSEWHERE} END"
    divisor = words(f"CASE WHEN {safe} THEN {{0}} WHEN {{0}} IS NULL THEN NULL {failed}", b)
    return TypedExpression(
        rounded(TypedExpression(numerator, ""), TypedExpression(divisor, ""), scale, decimal_type(digits)),
        decimal_type(digits),
    )


def unscaled(name: str, scale: int) -> str:
    """The words for the digits of a decimal as a whole number.

    >>> unscaled("x", 2)
    'CAST(x * CAST(100 AS DECIMAL(3,0)) AS HUGEINT)'
    """
    if scale == 0:
        return f"CAST({name} AS HUGEINT)"
    return f"CAST({name} * CAST({10**scale} AS DECIMAL({scale + 1},0)) AS HUGEINT)"


def rounded(numerator: TypedExpression, divisor: TypedExpression, scale: int, type: str) -> Expression:
    """A quotient of whole numbers, rounded half away from zero, as a decimal whose last places it is."""
    half = "(CASE WHEN {0} < 0 THEN -abs({1}) ELSE abs({1}) END)"
    whole = f"CAST(({{0}} * 2 + {half}) // ({{1}} * 2) AS DECIMAL(38,0))"
    unit = f"CAST('0.{'1'.rjust(scale, '0')}' AS DECIMAL({scale + 1},{scale}))" if scale else "1"
    return words(f"CAST({whole} * {unit} AS {duckdb_type(type)})", numerator, divisor)


def unary(node: Expression, term: TypedExpression) -> TypedExpression:
    """A function of one number that is a number of the same kind."""
    match node:
        case exp.Neg() | exp.Negative() if term.is_exact or term.type == "double":
            return TypedExpression(words("-{0}", _negated(term)), term.type)
        case exp.Abs() if term.is_exact or term.type == "double":
            return converted(TypedExpression(words("abs({0})", _negated(term)), ""), term.type)
        case exp.BitwiseNot() if term.type in types.INTEGRAL:
            return TypedExpression(words("~{0}", typed(term, term.type)), term.type)
        case exp.Floor() | exp.Ceil() if not node.args.get("decimals"):
            return _whole(node, term)
        case _:
            raise NotAgreed(node)


def _negated(term: TypedExpression) -> TypedExpression:
    """A number whose sign is to change; Spark keeps 34 digits of it then."""
    precision, scale = term.decimal or (0, 0)
    if precision <= _SIGNED_DIGITS:
        return term
    most = f"CAST('{10 ** max(_SIGNED_DIGITS - scale, 0)}' AS DECIMAL(38,{scale}))"
    text = f"CASE WHEN {{0}} BETWEEN -{most} AND {most} THEN {{0}} WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
    return TypedExpression(words(text, term), term.type)


def _whole(node: Expression, term: TypedExpression) -> TypedExpression:
    """The next whole number below or above."""
    function = "floor" if isinstance(node, exp.Floor) else "ceil"
    if term.type in types.INTEGRAL:
        return converted(term, "bigint")
    if term.decimal is not None:
        precision, scale = term.decimal
        type_ = decimal_type((min(precision - scale + 1, MOST_DIGITS), 0))
        return converted(TypedExpression(words(f"{function}({{0}})", term), ""), type_)
    if term.type == "double":
        return TypedExpression(words(f"CAST({function}({{0}}) AS BIGINT)", term), "bigint")
    raise NotAgreed(node)


def bits(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Whole numbers bit by bit."""
    type_ = common_type([left.type, right.type])
    if type_ not in types.INTEGRAL:
        raise NotAgreed(node)
    return TypedExpression(words(_BITS[type(node)], typed(left, type_), typed(right, type_)), type_)


def whole_quotient(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """``div``: a quotient without its fraction."""
    if left.type not in types.INTEGRAL or right.type not in types.INTEGRAL:
        raise NotAgreed(node)
    divisor = _not_zero(converted(right, "bigint"))
    return TypedExpression(words("{0} // {1}", converted(left, "bigint"), divisor), "bigint")


def positive_remainder(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """``pmod``: a remainder that is not negative if the divisor is not."""
    type_ = common_type([left.type, right.type])
    if type_ not in types.INTEGRAL:
        raise NotAgreed(node)
    text = "CASE WHEN {0} % {1} < 0 THEN ({0} % {1} + {1}) % {1} ELSE {0} % {1} END"
    return TypedExpression(words(text, typed(left, type_), _not_zero(typed(right, type_), _REMAINDER)), type_)


def round_half_up(node: Expression, term: TypedExpression, places: int) -> TypedExpression:
    """A number rounded to a number of places after the point."""
    if places < 0:
        raise NotAgreed(node)
    if term.type in types.INTEGRAL:
        return term
    if term.decimal is not None:
        precision, scale = term.decimal
        kept = min(scale, places)
        return converted(term, decimal_type((min(precision - scale + 1 + kept, MOST_DIGITS), kept)))
    if term.type == "double" and places == 0:
        return TypedExpression(words("round({0}) + 0.0", term), "double")
    if term.type == "double" and places <= _ROUNDED_PLACES:
        return TypedExpression(words(_ROUNDED % places, term), "double")
    raise NotAgreed(node)


_TRIED: dict[type[Expression], str] = {exp.SafeAdd: "+", exp.SafeSubtract: "-", exp.SafeMultiply: "*"}


def tried(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """``try_add`` and its like, of whole numbers with more room than they need, and of floats: no errors, but NULL."""
    kind = common_type([left.type, right.type])
    if kind not in types.INTEGRAL and kind != "double":
        raise NotAgreed(node)
    if isinstance(node, exp.SafeDivide):
        text = "CASE WHEN {1} = 0 THEN NULL ELSE {0} / {1} END"
        return TypedExpression(words(text, typed(left, "double"), typed(right, "double")), "double")
    operator = _TRIED[type(node)]
    if kind == "double":
        return TypedExpression(words(f"{{0}} {operator} {{1}}", typed(left, kind), typed(right, kind)), kind)
    text = f"TRY_CAST(CAST({{0}} AS HUGEINT) {operator} CAST({{1}} AS HUGEINT) AS {duckdb_type(kind)})"
    return TypedExpression(words(text, left, right), kind)


def tried_remainder(node: Expression, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """``try_mod``: NULL where the divisor is zero."""
    kind = common_type([left.type, right.type])
    if kind not in types.INTEGRAL and kind != "double":
        raise NotAgreed(node)
    text = "CASE WHEN {1} = 0 THEN NULL ELSE {0} % {1} END"
    return TypedExpression(words(text, typed(left, kind), typed(right, kind)), kind)
