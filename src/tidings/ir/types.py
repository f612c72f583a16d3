"""Types by their Spark names, in one canonical text form: lower case, no spaces.

The text is what Spark's ``simpleString`` gives, so types can be compared as strings wherever they come from.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ParseError

from tidings.errors import UnsupportedType
from tidings.ir.dialect import DIALECT

EXACT = frozenset({"tinyint", "smallint", "int", "bigint", "string", "boolean", "date", "timestamp", "timestamp_ntz"})
INTEGRAL = frozenset({"tinyint", "smallint", "int", "bigint"})

VOID = "void"
"""The type of a NULL that nothing gives another one."""
_VOID = re.compile(r"\bvoid\b(?!:)")
"""The type of NULL, which the parser knows by another name."""

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
    "null": VOID,
}


NOT_OF_SPARK = frozenset({exp.DType.BIT, exp.DType.TIME, exp.DType.UUID})
"""Types that would be printed for Spark as others: as a boolean, an instant and a text."""


def canonical(type: exp.DataType) -> str:
    """The canonical text of a parsed type.

    >>> canonical(parse("STRUCT<a: INT, B: ARRAY<DECIMAL(10, 2)>>"))
    'struct<a:int,B:array<decimal(10,2)>>'
    """
    if type.this is exp.DType.STRUCT:
        named = (f"{field_name(name)}:{kind}" for name, kind in _fields(type))
        return f"struct<{','.join(named)}>"
    if type.this in (exp.DType.ARRAY, exp.DType.MAP):
        return f"{type.this.value.lower()}<{','.join(canonical(p) for p in type.expressions)}>"
    if type.this in NOT_OF_SPARK:
        return str(type.this.value).lower()
    name = type.sql(DIALECT).lower()
    if name.startswith("interval"):
        return name
    name = name.replace(" ", "")
    if type.this is exp.DType.DECIMAL and len(type.expressions) == 1:
        return f"decimal({type.expressions[0].name},0)"
    return _NAMES.get(name, name)


def field_name(name: str) -> str:
    """A struct's field as its type's text writes it.

    >>> field_name("a"), field_name("x y")
    ('a', '`x y`')
    """
    return name if name.isidentifier() and name.isascii() else "`" + name.replace("`", "``") + "`"


def _fields(type: exp.DataType) -> tuple[tuple[str, str], ...]:
    """A struct's fields; Spark calls those without a name col1, col2, …"""
    return tuple(
        (f.this.name, canonical(f.args["kind"])) if isinstance(f, exp.ColumnDef) else (f"col{n}", canonical(f))
        for n, f in enumerate(type.expressions, 1)
    )


@lru_cache(maxsize=4096)
def parse(type: str) -> exp.DataType:
    """The parsed form of a type's text."""
    try:
        return exp.DataType.build(_VOID.sub("NULL", type), dialect=DIALECT)
    except ParseError:
        raise UnsupportedType(type=type) from None


def is_supported(type: str) -> bool:
    """Whether values of the type can be stored and reported.

    >>> is_supported("array<decimal(10,2)>"), is_supported("void"), is_supported("interval")
    (True, False, False)
    """
    if has_void(type):
        return False
    tree = parse(type)
    if tree.this in (exp.DType.ARRAY, exp.DType.MAP):
        return all(is_supported(canonical(p)) for p in tree.expressions)
    if tree.this is exp.DType.STRUCT:
        return all(is_supported(kind) for _, kind in _fields(tree))
    return type in EXACT | {"float", "double", "binary"} or tree.this is exp.DType.DECIMAL


def has_void(type: str) -> bool:
    """Whether a type is that of NULL, or has it inside.

    >>> has_void("array<void>"), has_void("struct<void:int>")
    (True, False)
    """
    return _VOID.search(type) is not None


def is_nested(type: str) -> bool:
    """Whether values of the type hold other values."""
    return "<" in type


def decimal(type: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type.

    >>> decimal("decimal(10,2)"), decimal("bigint")
    ((10, 2), None)
    """
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", type)
    return None if found is None else (int(found[1]), int(found[2]))


def fields(type: str) -> tuple[tuple[str, str], ...]:
    """Names and types of a struct's fields; nothing for other types.

    >>> fields("struct<a:int,b:string>")
    (('a', 'int'), ('b', 'string'))
    """
    tree = parse(type)
    if tree.this is not exp.DType.STRUCT:
        return ()
    return _fields(tree)


def elements(type: str) -> tuple[str, ...]:
    """The types inside an array or map; nothing for other types.

    >>> elements("map<string,array<int>>")
    ('string', 'array<int>')
    """
    tree = parse(type)
    if tree.this not in (exp.DType.ARRAY, exp.DType.MAP):
        return ()
    return tuple(canonical(p) for p in tree.expressions)


def comparable_as_keys(left: str, right: str) -> bool:
    """Whether values of both types are equal exactly when their key forms are.

    Withheld for unlike types: Spark casts ``'07' = 7`` to numbers, where a list of keys would compare texts.
    """
    return left == right or (left in INTEGRAL and right in INTEGRAL)


def roomy_decimal(number: str) -> str | None:
    """A type for a decimal number as it is written, with room for longer ones; None if it is none, or too long.

    >>> roomy_decimal("2.50"), roomy_decimal("1e3"), roomy_decimal("7")
    ('decimal(18,2)', None, None)
    """
    whole, point, fraction = number.partition(".")
    if not point or not (whole + fraction).isdigit():
        return None
    precision = max(len((whole + fraction).lstrip("0")), len(fraction), 18)
    return f"decimal({precision},{len(fraction)})" if precision <= 38 else None
