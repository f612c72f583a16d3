"""Spark's names and types from an engine that is not Spark.

DuckDB analyses a query in Spark's stead.  It is given the query so that it infers Spark's types, and its answer is
turned into Spark's names of types and, as far as the text shows them, of columns.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ParseError

from tidings.errors import UnsupportedType
from tidings.ir import types
from tidings.ir.dialect import DIALECT


def with_typed_nulls(query: exp.Query) -> exp.Query:
    """A query in which no typed NULL is a constant.

    DuckDB evaluates an operation with a constant NULL while it binds it, and forgets its type: it says INTEGER of
    ``s || CAST(NULL AS TEXT)``.  Such NULLs stand for columns of a query around the one that is analysed.
    """

    def unknown(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Null) and not isinstance(node.parent, exp.Alias):
            never = exp.If(this=exp.LT(this=exp.Rand(), expression=exp.Literal.number(0)), true=exp.Null())
            return exp.Cast(this=exp.Case(ifs=[never]), to=node.args["to"])
        return node

    if query.find(exp.Null) is None:
        return query
    typed = query.transform(unknown)
    assert isinstance(typed, exp.Query)
    return typed


def spark_type(type: str) -> str:
    """A DuckDB type by its Spark name."""
    if type == '"NULL"':
        return "void"
    if type in ("HUGEINT", "UHUGEINT", "UBIGINT"):
        return "decimal(38,0)"
    try:
        return types.canonical(exp.DataType.build(type, dialect="duckdb"))
    except ParseError:  # a struct whose fields have no names, say
        raise UnsupportedType(type=type.lower()) from None


def spark_name(item: exp.Expr) -> str:
    """The name Spark gives an output column, as far as its text shows."""
    if isinstance(item, exp.Alias | exp.Column | exp.Dot):
        return item.alias_or_name
    bare = item.transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) else n)
    text = bare.sql(DIALECT)
    return f"({text})" if isinstance(item, exp.Binary) else text
