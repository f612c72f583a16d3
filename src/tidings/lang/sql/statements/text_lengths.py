"""``VARCHAR(n)`` and ``CHAR(n)``: texts of at most so many characters, which is a condition on the rows of a table."""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.lang.sql.parse import parsed

_LIMITED = (exp.DType.VARCHAR, exp.DType.NVARCHAR, exp.DType.CHAR, exp.DType.NCHAR, exp.DType.BPCHAR)


def declared_length(type: exp.DataType) -> int | None:
    """How many characters a text of a type may have; None if the type does not say.

    >>> declared_length(exp.DataType.build("VARCHAR(3)")), declared_length(exp.DataType.build("STRING"))
    (3, None)
    """
    if type.this not in _LIMITED or len(type.expressions) != 1:
        return None
    length = type.expressions[0].name
    return int(length) if length.isdigit() and int(length) > 0 else None


def length_check(column: str, length: int) -> Expression:
    """The condition that a column has no longer text.

    >>> length_check("x", 3).sql("spark")
    'LENGTH(`x`) <= 3'
    """
    value = exp.Length(this=exp.column(exp.to_identifier(column, quoted=True)))
    return exp.LTE(this=value, expression=exp.Literal.number(length))


def checked_length(check: str, column: str) -> int | None:
    """The length that a condition allows a column; None if it is another condition.

    >>> checked_length("LENGTH(x) <= 3", "X"), checked_length("x > 3", "x"), checked_length("LENGTH(y) <= 3", "x")
    (3, None, None)
    """
    condition = parsed(check)
    if not is_length_check(condition) or condition.this.this.name.lower() != column.lower():
        return None
    return int(condition.expression.name)


def is_length_check(condition: Expression) -> bool:
    """Whether a condition is that a column has no longer text."""
    if not isinstance(condition, exp.LTE) or not isinstance(condition.this, exp.Length):
        return False
    length = condition.expression
    is_number = isinstance(length, exp.Literal) and not length.is_string and length.name.isdigit()
    return is_number and isinstance(condition.this.this, exp.Column)
