"""Spark's names of columns from an engine that is not Spark; its types are in :mod:`tidings.engine.agreed`."""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.dialect import DIALECT


def spark_name(item: exp.Expr) -> str:
    """The name Spark gives an output column, as far as its text shows."""
    if isinstance(item, exp.Alias | exp.Column | exp.Dot):
        return item.alias_or_name
    bare = item.transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) else n)
    text = bare.sql(DIALECT)
    return f"({text})" if isinstance(item, exp.Binary) else text
