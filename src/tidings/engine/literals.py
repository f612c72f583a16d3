"""Keys as SQL literals."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import cast


def literals(values: pa.Array | pa.ChunkedArray, type: str, dialect: str) -> str:
    """A comma-separated list of literals; ``NULL`` for no values, so that ``IN (…)`` stays valid and empty.

    >>> literals(pa.chunked_array([["a'b", None]]), "string", "spark")
    "'a\\\\'b'"
    """
    present = [v for v in values.to_pylist() if v is not None]
    return ", ".join(_literal(v, type, dialect) for v in present) or "NULL"


def _literal(value: object, type: str, dialect: str) -> str:
    if type in types.INTEGRAL or type == "boolean":
        return str(value)
    if type == "string" and "\0" in str(value):  # DuckDB's parser ends a text at such a character
        parts = (exp.Literal.string(part).sql(dialect) for part in str(value).split("\0"))
        return f"({' || chr(0) || '.join(parts)})"
    text = exp.Literal.string(str(value))
    return text.sql(dialect) if type == "string" else cast(text, type).sql(dialect)
