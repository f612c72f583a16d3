"""The SQL Tidings reads and its plans are written in: Spark's, where sqlglot's own Spark dialect falls short of it."""

from __future__ import annotations

from sqlglot.dialects.spark import Spark


class SparkSQL(Spark):
    """Spark SQL as Spark 4 reads it: a doubled quotation mark stands for one, as in ``'it''s'``."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - the form sqlglot wants


DIALECT = SparkSQL
