"""The names of the functions behind users' operators and behind foreign functions, by which plans tell what they are.

An operator in FROM is a call of one function of arrays of rows, one array per relation.  If the operator has an
incremental form, the function is called otherwise, and beside it is another one: it takes the rows of each relation
with their instants and weights, those from before the batch at instant 0, and gives what the result loses and gains
at each instant.

>>> function_of("outliers", incremental=True), form_of("__incremental_operator_outliers")
('__incremental_operator_outliers', '__form_of_operator_outliers')
>>> form_of("__operator_outliers") is None
True

A foreign function of AMOSQL is a function of its name behind a mark; a name with other letters is written in digits.

>>> foreign_function("square"), foreign_name("__FOREIGN_square"), foreign_name(foreign_function("größe"))
('__foreign_square', 'square', 'größe')
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression

RESERVED = "__"
"""How no function of a user begins."""

_PLAIN, _INCREMENTAL, _FORM = "__operator_", "__incremental_operator_", "__form_of_operator_"
_FOREIGN, _ENCODED = "__foreign_", "__foreign_in_digits_"


def function_of(operator: str, *, incremental: bool) -> str:
    """The name of the function behind an operator."""
    return (_INCREMENTAL if incremental else _PLAIN) + operator


def form_of(function: str) -> str | None:
    """The name of the function that is an operator's incremental form; nothing where there is none."""
    operator = function.lower().removeprefix(_INCREMENTAL)
    return None if operator == function.lower() else _FORM + operator


def operator_called(expression: Expression) -> str:
    """The operator that an expression calls, or its incremental form as the algebra writes it; nothing for others.

    >>> from tidings.ir.expression import read
    >>> [operator_called(read(f"{name}(t.x)")) for name in ("__OPERATOR_TOP", "__form_of_operator_top", "upper")]
    ['top', 'Incrtop', '']
    """
    function = expression.name.lower() if isinstance(expression, exp.Anonymous) else ""
    marks = {_PLAIN: "", _INCREMENTAL: "", _FORM: "Incr"}
    return next((mark + function.removeprefix(p) for p, mark in marks.items() if function.startswith(p)), "")


def foreign_function(name: str) -> str:
    """The name in SQL of a foreign function of AMOSQL."""
    return _FOREIGN + name if name.isascii() else _ENCODED + name.encode().hex()


def foreign_name(function: str) -> str | None:
    """The name in AMOSQL of a foreign function; nothing for other functions."""
    name = function.lower()
    if name.startswith(_ENCODED):
        return bytes.fromhex(name.removeprefix(_ENCODED)).decode()
    return name.removeprefix(_FOREIGN) if name.startswith(_FOREIGN) else None


def timed_rows_type(row: str) -> str:
    """The type of a relation's rows with their instants and weights, as a form takes them."""
    return f"array<struct<t:bigint,w:bigint,r:{row}>>"


def timed_answers_type(rows: str) -> str:
    """The type of what a form gives: rows of the result that go or come, together, with their instant and weight."""
    return f"array<struct<t:bigint,w:bigint,rows:{rows}>>"
