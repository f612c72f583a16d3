"""Functions of a row, put together from others, with SQL's third truth value and with checked ranges.

Whole numbers are exact in Python, so the range of a result is checked after every operation: in the wider type of the
columns that take part, as both engines compute it.  What an engine would refuse, or might see in another way, is left
to it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn, TypeAlias

from tidings.ir import types

Row: TypeAlias = tuple[Any, ...]
Value: TypeAlias = Callable[[Row], Any]


class NotInterpreted(Exception):
    """Something in a plan is not known here."""


class LeftToEngine(Exception):
    """A value of which only an engine may say what becomes of it."""


class Typed(NamedTuple):
    """A function of a row, and the type of its values."""

    type: str
    value: Value
    is_literal: bool = False
    """Whether it is a whole number as it was written: it takes the type of what it meets."""


MOST_DIGITS = 38
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_ALIKE = {"string", "boolean", "date", "timestamp", "timestamp_ntz"}
"""Types whose values are compared with those of the same type."""


def fail(_row: Row) -> NoReturn:
    raise LeftToEngine("an error")


def both(left: Value, right: Value) -> Value:
    def value(row: Row) -> bool | None:
        first = left(row)
        if first is False:
            return False
        second = right(row)
        if second is False:
            return False
        return None if first is None or second is None else True

    return value


def either(left: Value, right: Value) -> Value:
    def value(row: Row) -> bool | None:
        first = left(row)
        if first is True:
            return True
        second = right(row)
        if second is True:
            return True
        return None if first is None or second is None else False

    return value


def negated(inner: Value) -> Value:
    def value(row: Row) -> bool | None:
        truth = inner(row)
        return None if truth is None else not truth

    return value


def chosen(branches: Sequence[tuple[Value | None, Value]]) -> Value:
    """The value of the first branch whose condition is true; a branch without one is the last."""

    def value(row: Row) -> Any:
        for condition, branch in branches:
            if condition is None or condition(row) is True:
                return branch(row)
        return None

    return value


def compared(compare: Callable[[Any, Any], bool], left: Typed, right: Typed) -> Value:
    """A comparison, which gives NULL where one side is NULL."""
    require_comparable(left, right)
    first, second = left.value, right.value

    def value(row: Row) -> bool | None:
        one, other = first(row), second(row)
        return None if one is None or other is None else compare(one, other)

    return value


def identical(left: Typed, right: Typed) -> Value:
    """Whether two values are the same, NULL being the same as NULL."""
    require_comparable(left, right)
    first, second = left.value, right.value
    return lambda row: first(row) == second(row)


def require_comparable(left: Typed, right: Typed) -> None:
    """Refuse a comparison that needs one side to be converted, or that is about floats."""
    kinds = left.type, right.type
    if "void" in kinds or (left.type == right.type and left.type in _ALIKE):
        return
    digits = [_digits(kind) for kind in kinds]
    whole, places = max(p - s for p, s in digits), max(s for _, s in digits)
    if whole + places > MOST_DIGITS:
        raise NotInterpreted(f"a comparison of {left.type} with {right.type}")


def _digits(type: str) -> tuple[int, int]:
    """Precision and scale of exact numbers."""
    digits = types.decimal(type) or ((_DIGITS[type], 0) if type in _DIGITS else None)
    if digits is None:
        raise NotInterpreted(f"a comparison of {type}")
    return digits


def calculated(calculate: Callable[[int, int], int], left: Typed, right: Typed) -> Typed:
    """Two whole numbers added, subtracted, multiplied or divided."""
    type = wider([left, right])
    low, high = _range(type)
    first, second = left.value, right.value

    def value(row: Row) -> int | None:
        one, other = first(row), second(row)
        if one is None or other is None:
            return None
        result = calculate(one, other)
        if not low <= result <= high:
            raise LeftToEngine("a number that is too large")
        return result

    return Typed(type, value)


def remainder(number: int, divisor: int) -> int:
    """What is left of a division, with the sign of the number that is divided.

    >>> remainder(-7, 3), remainder(7, -3)
    (-1, 1)
    """
    if divisor in (0, -1):
        raise LeftToEngine("a division by zero, or of the least number by -1")
    rest = abs(number) % abs(divisor)
    return -rest if number < 0 else rest


def signed(change: Callable[[Any], Any], inner: Typed) -> Typed:
    """A number negated, or without its sign."""
    if inner.type in _BITS:
        low, high = _range(inner.type)
    elif types.decimal(inner.type):
        low, high = -(10**MOST_DIGITS), 10**MOST_DIGITS
    else:
        raise NotInterpreted(f"the sign of {inner.type}")

    def value(row: Row) -> Any:
        number = inner.value(row)
        if number is None:
            return None
        result = change(number)
        if not low <= result <= high:
            raise LeftToEngine("a number that is too large")
        return result

    return Typed(inner.type, value, inner.is_literal)


def without_sign(number: Any) -> Any:
    return number.copy_abs() if isinstance(number, Decimal) else abs(number)


def with_other_sign(number: Any) -> Any:
    """A number negated; of decimals every digit stays, and zero has no sign."""
    return (number.copy_negate() if number else number) if isinstance(number, Decimal) else -number


def wider(operands: Sequence[Typed]) -> str:
    """The type in which whole numbers are computed; those that are written adapt to it."""
    of_columns = [o.type for o in operands if not o.is_literal] or [o.type for o in operands]
    if not all(o.type in _BITS for o in operands):
        raise NotInterpreted(f"arithmetic of {operands[0].type} and {operands[-1].type}")
    return max(of_columns, key=_BITS.__getitem__)


def common_type(branches: Sequence[Typed]) -> str:
    """The type of a value that is one of several."""
    kinds = {b.type for b in branches if b.type != "void"}
    if len(kinds) <= 1:
        return next(iter(kinds), "void")
    if kinds <= set(_BITS):
        return wider([b for b in branches if b.type != "void"])
    decimals = {kind for kind in kinds if types.decimal(kind)}
    if len(decimals) == 1 and all(b.is_literal for b in branches if b.type in _BITS) and kinds <= {*decimals, *_BITS}:
        return decimals.pop()  # beside a number as it is written, such as 0
    raise NotInterpreted("branches of several types")


def extreme(best: Callable[[list[Any]], Any], items: Sequence[Typed]) -> Typed:
    """The greatest or least of some whole numbers, NULLs left out."""
    type, inner = wider(items), [item.value for item in items]

    def value(row: Row) -> int | None:
        known = [number for number in (item(row) for item in inner) if number is not None]
        return best(known) if known else None

    return Typed(type, value)


def converted(inner: Typed, target: str) -> Value:
    """A value as one of another type that has room for it."""
    value, source = inner.value, inner.type
    if source in (target, "void"):
        return value
    if source in _BITS and target in _BITS:
        return value if _BITS[source] <= _BITS[target] and not inner.is_literal else _in_range(value, *_range(target))
    digits = types.decimal(target)
    if source in _BITS and digits is not None:
        room = 10 ** (digits[0] - digits[1])
        return _as_decimal(_in_range(value, 1 - room, room - 1))
    if digits is not None and (of_source := types.decimal(source)) is not None and of_source[1] <= digits[1]:
        room = 10 ** (digits[0] - digits[1])
        return _in_range(value, 1 - room, room - 1) if of_source[0] - of_source[1] > digits[0] - digits[1] else value
    raise NotInterpreted(f"{source} as {target}")


def _in_range(inner: Value, low: int, high: int) -> Value:
    def value(row: Row) -> Any:
        number = inner(row)
        if number is not None and not low <= number <= high:
            raise LeftToEngine("a number that is too large")
        return number

    return value


def _as_decimal(inner: Value) -> Value:
    def value(row: Row) -> Decimal | None:
        number = inner(row)
        return None if number is None else Decimal(number)

    return value


def _range(type: str) -> tuple[int, int]:
    bits = _BITS[type] - 1
    return -(1 << bits), (1 << bits) - 1


def constant(value: Any, type: str, *, is_literal: bool = False) -> Typed:
    return Typed(type, lambda _row: value, is_literal)


def column(place: int, type: str) -> Typed:
    return Typed(type, operator.itemgetter(place))
