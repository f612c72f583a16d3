"""The SQL Tidings reads and its plans are written in: Spark's, where sqlglot's own Spark dialect falls short of it."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType


def _flag(parser: Any) -> exp.Property:
    """``append_only``, alone or as ``append_only = true``."""
    name = exp.var(str(parser._prev.text).lower())
    value = parser._parse_field(any_token=True) if parser._match(TokenType.EQ) else exp.true()
    return exp.Property(this=name, value=value)


def _keeping_arguments(name: str, build: Any) -> Any:
    """A function's node, or the plain call where the node would lose an argument of it.

    ``size(xs, 1)`` would become ``size(xs)``, and ``to_char(x, '99')`` a cast; Spark is to judge what was written.
    """

    def built(args: list[Any], dialect: Any = None) -> Any:
        if name in _VERBATIM or (name in ("MAX", "MIN") and len(args) > 1):
            return exp.Anonymous(this=name, expressions=args)
        try:
            node = build(args)
        except TypeError:
            node = build(args, dialect=dialect or SparkSQL())
        if len(args) > 1 and not isinstance(node, exp.Anonymous):
            kept = {id(part) for part in node.walk()}
            if any(id(a) not in kept and not isinstance(a, exp.Literal) for a in args if isinstance(a, exp.Expr)):
                return exp.Anonymous(this=name, expressions=args)
        return node

    return built


_VERBATIM = frozenset({"TO_CHAR", "TO_VARCHAR", "PARSE_JSON", "TO_NUMBER"})
"""Functions whose nodes are printed for Spark as something else."""


class SparkSQL(Spark):
    """Spark SQL as Spark 4 reads it: a doubled quotation mark stands for one, as in ``'it''s'``.

    Tables may be declared ``WITH (append_only)``.
    """

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - the form sqlglot wants

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        FUNCTIONS = {  # noqa: RUF012
            name: _keeping_arguments(name, build) for name, build in Spark.Parser.FUNCTIONS.items()
        }
        PROPERTY_PARSERS = {**Spark.Parser.PROPERTY_PARSERS, "APPEND_ONLY": _flag}  # noqa: RUF012


class WrittenSparkSQL(SparkSQL):
    """The same, for reading what users write: functions remember the names by which they were called."""

    ORIGINAL_NAME_META_KEY = "written"


DIALECT = SparkSQL
