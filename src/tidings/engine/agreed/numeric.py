"""The types Spark gives to numbers: of constants, of operands that meet, and of sums, products and quotients.

``decimal(p,s)`` has ``p`` digits, ``s`` of them after the point.  A result that would need more than 38 digits loses
places after the point, but keeps six of them.
"""

from __future__ import annotations

from functools import reduce

from tidings.engine.agreed.term import DAYS, SPAN, TypedExpression
from tidings.ir import types

_INTEGRAL = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
MOST_DIGITS = 38
_KEPT_PLACES = 6


def literal_type(text: str) -> str:
    """The type of a number as it is written.

    >>> [literal_type(t) for t in ("7", "-2147483648", "2147483648", "0.05", "1e3")]
    ['int', 'int', 'bigint', 'decimal(2,2)', 'double']
    """
    if "e" in text.lower():
        return "double"
    digits = text.lstrip("+-")
    if "." in digits:
        places = len(digits.partition(".")[2])
        return f"decimal({max(len(digits.replace('.', '').lstrip('0')), places, 1)},{places})"
    if -(1 << 31) <= int(text) < 1 << 31:
        return "int"
    return "bigint" if -(1 << 63) <= int(text) < 1 << 63 else f"decimal({len(digits.lstrip('0'))},0)"


def digits_of(term: TypedExpression) -> tuple[int, int]:
    """The digits of a number beside a decimal; a whole number that is written there has as many as are written."""
    if term.decimal is not None:
        return term.decimal
    if term.literal is not None:
        return len(term.literal.lstrip("+-0")) or 1, 0
    return _DIGITS[term.type], 0


def adjusted(precision: int, scale: int) -> tuple[int, int]:
    """The digits that are left of a result."""
    if precision <= MOST_DIGITS:
        return precision, scale
    return MOST_DIGITS, max(MOST_DIGITS - (precision - scale), min(scale, _KEPT_PLACES))


def sum_digits(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    scale = max(left[1], right[1])
    return adjusted(max(left[0] - left[1], right[0] - right[1]) + scale + 1, scale)


def product_digits(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    return adjusted(left[0] + right[0] + 1, left[1] + right[1])


def quotient_digits(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    scale = max(_KEPT_PLACES, left[1] + right[0] + 1)
    return adjusted(left[0] - left[1] + right[1] + scale, scale)


def remainder_digits(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    scale = max(left[1], right[1])
    return adjusted(min(left[0] - left[1], right[0] - right[1]) + scale, scale)


def decimal_type(digits: tuple[int, int]) -> str:
    return f"decimal({digits[0]},{digits[1]})"


def common_type(kinds: list[str]) -> str | None:
    """The type of values that may come from either of several; None if the engines may see that differently.

    >>> common_type(["int", "void", "decimal(7,2)"]), common_type(["int", "string"]) is None
    ('decimal(12,2)', True)
    """
    return reduce(_common, kinds)  # type: ignore[arg-type]


def _common(left: str | None, right: str | None) -> str | None:
    if left is None or right is None:
        return None
    if left == right or right == "void":
        return left
    if left == "void":
        return right
    if {left, right} == {DAYS, SPAN}:
        return SPAN
    if types.is_nested(left) and types.is_nested(right):
        return _common_nested(left, right)
    if left in _INTEGRAL and right in _INTEGRAL:
        return max(left, right, key=_INTEGRAL.index)
    if {left, right} <= {"date", "timestamp", "timestamp_ntz"}:
        return "timestamp" if "timestamp" in (left, right) else "timestamp_ntz"
    if "double" in (left, right):
        other = right if left == "double" else left
        return "double" if other in ("float", *_INTEGRAL) or types.decimal(other) is not None else None
    sides = [types.decimal(t) or ((_DIGITS[t], 0) if t in _DIGITS else None) for t in (left, right)]
    if sides[0] is None or sides[1] is None:
        return None
    (p, s), (q, t) = sides[0], sides[1]
    scale, whole = max(s, t), max(p - s, q - t)
    missing = max(whole + scale - MOST_DIGITS, 0)
    return decimal_type((whole + scale - missing, max(scale - missing, 0)))


def _common_nested(left: str, right: str) -> str | None:
    """Of arrays, maps and structs: part by part, where the values stay as they are but for whole numbers."""
    outer = left.partition("<")[0]
    if outer != right.partition("<")[0]:
        return None
    if outer == "struct":
        fields = types.fields(left), types.fields(right)
        if [n.lower() for n, _ in fields[0]] != [n.lower() for n, _ in fields[1]]:
            return None
        kinds = [_common_part(t, u) for (_, t), (_, u) in zip(*fields, strict=True)]
        named = zip(fields[0], kinds, strict=True)
        return None if None in kinds else f"struct<{','.join(f'{types.field_name(n)}:{k}' for (n, _), k in named)}>"
    kinds = [_common_part(t, u) for t, u in zip(types.elements(left), types.elements(right), strict=True)]
    return None if None in kinds else f"{outer}<{','.join(str(k) for k in kinds)}>"


def _common_part(left: str, right: str) -> str | None:
    type = _common(left, right)
    widened = type in _INTEGRAL or (type in (left, right) and "void" in (left, right)) or left == right
    return type if widened or (type is not None and types.is_nested(type)) else None
