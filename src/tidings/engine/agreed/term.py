"""An expression in DuckDB's words together with the type that Spark gives it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.engine.sql.words import Words
from tidings.ir import types
from tidings.ir.expression import Expression, show

_NAMES = {"int": "INTEGER", "string": "VARCHAR", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP"}
_PLAIN = {*types.EXACT, "float", "double", "void"}

ELSEWHERE = "error('to be evaluated by Spark')"
"""What DuckDB is to say where only Spark knows the value."""


class NotAgreed(Exception):
    """The engines may not agree on an expression."""

    def __init__(self, node: Expression) -> None:
        super().__init__(show(node))


@dataclass(frozen=True, slots=True)
class TypedExpression:
    """What DuckDB evaluates, and the type of its values."""

    sql: Expression
    type: str
    literal: str | None = None
    """The text of a constant, as it was written: numbers with their sign."""

    @property
    def decimal(self) -> tuple[int, int] | None:
        """Precision and scale of a decimal."""
        return types.decimal(self.type)

    @property
    def is_exact(self) -> bool:
        """Whether it is a whole number or a decimal."""
        return self.type in types.INTEGRAL or self.decimal is not None


def is_known(type: str) -> bool:
    """Whether values of a type are the same for both engines."""
    return type in _PLAIN or types.decimal(type) is not None


def duckdb_type(type: str) -> str:
    """The name DuckDB has for a type of Spark.

    >>> duckdb_type("timestamp"), duckdb_type("decimal(7,2)")
    ('TIMESTAMPTZ', 'DECIMAL(7,2)')
    """
    return _NAMES.get(type, type.upper())


def words(text: str, *parts: TypedExpression) -> Expression:
    """DuckDB's words for something, with ``{0}``, ``{1}``, … standing for the terms it is made of."""
    return Words(this=text, expressions=[p.sql for p in parts])


def converted(term: TypedExpression, type: str) -> TypedExpression:
    """A term as a type that has room for all its values, or that fails on those it has no room for."""
    if term.type == type:
        return term
    return TypedExpression(words(f"CAST({{0}} AS {duckdb_type(type)})", term), type)


def quoted_text(text: str) -> str:
    """A text as a constant of DuckDB, for use among words."""
    return exp.Literal.string(text).sql("duckdb").replace("{", "{{").replace("}", "}}")
