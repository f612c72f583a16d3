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


class SparkSQL(Spark):
    """Spark SQL as Spark 4 reads it: a doubled quotation mark stands for one, as in ``'it''s'``.

    Tables may be declared ``WITH (append_only)``.
    """

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - the form sqlglot wants

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        PROPERTY_PARSERS = {**Spark.Parser.PROPERTY_PARSERS, "APPEND_ONLY": _flag}  # noqa: RUF012


DIALECT = SparkSQL
