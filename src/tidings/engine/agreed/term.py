"""An expression in DuckDB's words together with the type that Spark gives it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from tidings.engine.sql.words import Words
from tidings.ir import types
from tidings.ir.expression import Expression, show

DAYS, SPAN, MONTHS, CALENDAR = "interval day", "interval day to second", "interval month", "interval"
"""Lengths of time; see :mod:`tidings.engine.agreed.spans`."""
_NAMES = {"int": "INTEGER", "string": "VARCHAR", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP"}
_NAMES |= {"binary": "BLOB", "void": "INTEGER", DAYS: "BIGINT", SPAN: "BIGINT"}
_PLAIN = {*types.EXACT, "float", "double", "binary", "void"}

ON_SPARK = "to be evaluated by Spark"
"""What DuckDB says where only Spark knows the value."""
ELSEWHERE = f"error('{ON_SPARK}')"
MUCH = 1_000_000
"""DuckDB makes no text or array with more in it than this out of a number: Spark is asked for it."""


def raised(condition: str, message: str) -> str:
    """Words that fail as Spark does, by the name of its error.

    >>> raised("DIVIDE_BY_ZERO", "Division by zero.")
    "error('[DIVIDE_BY_ZERO] Division by zero.')"
    """
    return f"error('[{condition}] {message}')"


def without_errors(text: str) -> str:
    """SQL of DuckDB without the words that fail, for what is not to be run: it takes them for side effects.

    >>> without_errors("CASE WHEN x > 0 THEN x ELSE error('[X] it''s less') END")
    'CASE WHEN x > 0 THEN x ELSE NULL END'
    """
    return re.sub(r"\berror\('(?:[^']|'')*'\)", "NULL", text)


class NotAgreed(Exception):
    """The engines may not agree on an expression."""

    def __init__(self, node: Expression) -> None:
        super().__init__()
        self.node = node

    def __str__(self) -> str:
        return show(self.node)


_ORDINARY = exp.Cast | exp.Connector | exp.Case | exp.If | exp.Coalesce | exp.Array | exp.Struct | exp.GenerateSeries
_OF_WINDOWS = exp.RowNumber | exp.Rank | exp.DenseRank | exp.Ntile | exp.PercentRank | exp.CumeDist
_NEIGHBOURS = exp.Lag | exp.Lead | exp.FirstValue | exp.LastValue | exp.NthValue
_FORMS = exp.AggFunc | exp.Explode | exp.UnixMicros | exp.MakeInterval | _ORDINARY | _OF_WINDOWS | _NEIGHBOURS


def is_call(node: Expression) -> bool:
    """Whether a node is a call of a function, not a form of the language such as a cast, an aggregate or a window."""
    return isinstance(node, exp.Func) and not isinstance(node, _FORMS)


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


def is_plain(type: str) -> bool:
    """Whether values of a type hold no other values, and both engines order them alike."""
    return type in _PLAIN or types.decimal(type) is not None


@lru_cache(maxsize=4096)
def is_known(type: str) -> bool:
    """Whether values of a type are the same for both engines."""
    if not types.is_nested(type):
        return is_plain(type)
    return all(is_known(part) for part in (*types.elements(type), *(t for _, t in types.fields(type))))


@lru_cache(maxsize=4096)
def duckdb_type(type: str) -> str:
    """The name DuckDB has for a type of Spark.

    >>> duckdb_type("timestamp"), duckdb_type("decimal(7,2)"), duckdb_type("array<struct<a:int>>")
    ('TIMESTAMPTZ', 'DECIMAL(7,2)', 'STRUCT("a" INTEGER)[]')
    """
    if type.startswith("struct<"):
        fields = (f"{quoted_name(name)} {duckdb_type(kind)}" for name, kind in types.fields(type))
        return f"STRUCT({', '.join(fields)})"
    if type.startswith("map<"):
        return f"MAP({', '.join(map(duckdb_type, types.elements(type)))})"
    if type.startswith("array<"):
        return f"{duckdb_type(types.elements(type)[0])}[]"
    return _NAMES.get(type, type.upper())


def words(text: str, *parts: TypedExpression) -> Expression:
    """DuckDB's words for something, with ``{0}``, ``{1}``, … standing for the terms it is made of."""
    return Words(this=text, expressions=[p.sql for p in parts])


def parameter(name: str) -> str:
    """A parameter of a function of DuckDB's, which no column is called.

    DuckDB 1.5 takes a parameter that is by itself the field of a struct for a column of that name.
    """
    return f"__{name}"


def cast_words(type: str) -> str:
    """The words for a cast to a type of DuckDB."""
    return f"CAST({{0}} AS {braced(duckdb_type(type))})"


def converted(term: TypedExpression, type: str) -> TypedExpression:
    """A term as a type that has room for all its values, or that fails on those it has no room for."""
    if term.type == type:
        return term
    return TypedExpression(words(cast_words(type), term), type)


def braced(text: str) -> str:
    """A text that stands among words as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def quoted_name(name: str) -> str:
    """A name as DuckDB writes it, in quotes."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text as a constant of DuckDB, for use among words."""
    return braced(exp.Literal.string(text).sql("duckdb"))
