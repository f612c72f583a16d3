"""Types by their Spark names, in one canonical text form: lower case, no spaces.

The text is what Spark's ``simpleString`` gives, so types can be compared as strings wherever they come from.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

EXACT = frozenset({"tinyint", "smallint", "int", "bigint", "string", "boolean", "date", "timestamp", "timestamp_ntz"})
INTEGRAL = frozenset({"tinyint", "smallint", "int", "bigint"})

_NAMES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal(10,0)",
    "numeric": "decimal(10,0)",
    "decimal": "decimal(10,0)",
    "text": "string",
    "varchar": "string",
    "timestamp_ltz": "timestamp",
    "null": "void",
}


def canonical(type: exp.DataType) -> str:
    """The canonical text of a parsed type.

    >>> canonical(parse("STRUCT<a: INT, B: ARRAY<DECIMAL(10, 2)>>"))
    'struct<a:int,B:array<decimal(10,2)>>'
    """
    if type.this is exp.DType.STRUCT:
        fields = (f"{f.this.name}:{canonical(f.args['kind'])}" for f in type.expressions)
        return f"struct<{','.join(fields)}>"
    if type.this in (exp.DType.ARRAY, exp.DType.MAP):
        return f"{type.this.value.lower()}<{','.join(canonical(p) for p in type.expressions)}>"
    name = type.sql("spark").lower().replace(" ", "")
    return _NAMES.get(name, name)


@lru_cache(maxsize=4096)
def parse(type: str) -> exp.DataType:
    """The parsed form of a type's text."""
    return exp.DataType.build(type, dialect="spark")


def fields(type: str) -> tuple[tuple[str, str], ...]:
    """Names and types of a struct's fields; nothing for other types.

    >>> fields("struct<a:int,b:string>")
    (('a', 'int'), ('b', 'string'))
    """
    tree = parse(type)
    if tree.this is not exp.DType.STRUCT:
        return ()
    return tuple((f.this.name, canonical(f.args["kind"])) for f in tree.expressions)


def comparable_as_keys(left: str, right: str) -> bool:
    """Whether values of both types are equal exactly when their key forms are.

    Withheld for unlike types: Spark casts ``'07' = 7`` to numbers, where a list of keys would compare texts.
    """
    return left == right or (left in INTEGRAL and right in INTEGRAL)
