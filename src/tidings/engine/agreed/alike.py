"""Terms beside each other: as operands, and as the type in which Spark compares them or chooses between them."""

from __future__ import annotations

import re

from sqlglot import exp

from tidings.engine.agreed import arithmetic
from tidings.engine.agreed.casts import cast
from tidings.engine.agreed.term import TypedExpression, converted
from tidings.ir import types
from tidings.ir.expression import Expression

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_IN_UTC = re.compile(_INSTANT.pattern + r"(\+00:00|Z)?")
FORMS = {"date": _DATE, "timestamp": _IN_UTC, "timestamp_ntz": _INSTANT}
"""How dates and timestamps are written so that both engines read them alike."""
_ATOMS = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.Paren, exp.Case, exp.AggFunc)


def side(term: TypedExpression) -> Expression:
    """A term that can stand beside any operator."""
    if isinstance(term.sql, _ATOMS):
        return term.sql
    return exp.Paren(this=term.sql)


def widened(node: Expression, term: TypedExpression, type: str) -> TypedExpression:
    """A term as a type that has room for all its values."""
    if type == "double":
        return arithmetic.typed(term, type) if term.type != "void" else converted(term, type)
    if term.type in FORMS and type in FORMS:
        return cast(node, term, type)
    return converted(term, type)


def texts_as_numbers(node: Expression, terms: list[TypedExpression]) -> list[TypedExpression]:
    """Texts beside numbers, as Spark compares them: as whole numbers or as floats."""
    kinds = {t.type for t in terms} - {"string", "void"}
    if not kinds or all(t.type != "string" for t in terms):
        return terms
    if kinds <= types.INTEGRAL:
        return [cast(node, t, "bigint") if t.type == "string" else t for t in terms]
    if all(k in ("double", *types.INTEGRAL) or types.decimal(k) for k in kinds):
        return [cast(node, t, "double") if t.type == "string" else t for t in terms]
    if len(kinds) == 1 and kinds <= {"date", "timestamp", "boolean"}:
        return [cast(node, t, *kinds) if t.type == "string" else t for t in terms]
    return terms


def moment(term: TypedExpression, type: str) -> TypedExpression:
    """A text that is written beside a date or timestamp, as one."""
    if term.type != "string" or term.literal is None or not FORMS[type].fullmatch(term.literal):
        return term
    return TypedExpression(exp.cast(term.sql.copy(), types.parse(type).copy()), type)
