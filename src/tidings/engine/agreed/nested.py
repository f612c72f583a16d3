"""Arrays, maps and structs: made, and taken apart.

Spark counts the elements of ``xs[i]`` from 0 and those of ``element_at`` from 1; both fail where there is no such
element.  A key that a map does not have gives NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from tidings.engine.agreed.numeric import common_type
from tidings.engine.agreed.signature import fitted
from tidings.engine.agreed.term import (
    ELSEWHERE,
    MUCH,
    NotAgreed,
    TypedExpression,
    converted,
    duckdb_type,
    is_plain,
    parameter,
    quoted_text,
    raised,
    words,
)
from tidings.ir import types
from tidings.ir.expression import Expression

if TYPE_CHECKING:
    from tidings.engine.agreed.expression import Translator

_NO_INDEX = raised("INVALID_ARRAY_INDEX", "The index is out of bounds. Use the function `get()` for a NULL instead.")
_NO_ELEMENT = raised(
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT", "The index is out of bounds. Use `try_element_at` for a NULL instead."
)
_ZERO = raised("INVALID_INDEX_OF_ZERO", "The index 0 is invalid: elements are counted from 1, or from the end by -1.")
_NULLS = "{0} IS NULL OR {1} IS NULL THEN NULL"
_AT = f"CASE WHEN {_NULLS} WHEN {{1}} >= 0 AND {{1}} < len({{0}}) THEN list_extract({{0}}, {{1}} + 1) ELSE %s END"
_ELEMENT = (
    f"CASE WHEN {_NULLS} WHEN {{1}} = 0 THEN {_ZERO} "
    "WHEN abs({1}) <= len({0}) THEN list_extract({0}, {1}) ELSE %s END"
)


def array(translator: Translator, node: exp.Array) -> TypedExpression:
    """``array(…)``: its elements have a type in common."""
    terms = [translator.term(e) for e in node.expressions]
    type = common_type([t.type for t in terms]) if terms else "void"
    if type is None:
        raise NotAgreed(node)
    values = [_as(node, t, type) for t in terms]
    return TypedExpression(words(f"[{', '.join(f'{{{n}}}' for n in range(len(values)))}]", *values), f"array<{type}>")


def struct(translator: Translator, node: exp.Struct) -> TypedExpression:
    """``struct(…)`` and ``named_struct(…)``; what has no name is col1, col2, …"""
    names, terms = [], []
    if not node.expressions:
        raise NotAgreed(node)
    for place, part in enumerate(node.expressions, 1):
        named = isinstance(part, exp.PropertyEQ | exp.Alias)
        names.append(part.this.name if isinstance(part, exp.PropertyEQ) else part.alias or f"col{place}")
        terms.append(
            translator.term((part.expression if isinstance(part, exp.PropertyEQ) else part.this) if named else part)
        )
    packed = ", ".join(f"{quoted_text(name)}: {{{n}}}" for n, name in enumerate(names))
    fields = ",".join(f"{types.field_name(n)}:{t.type}" for n, t in zip(names, terms, strict=True))
    return TypedExpression(words(f"{{{{{packed}}}}}", *terms), f"struct<{fields}>")


def map_of(translator: Translator, node: exp.VarMap) -> TypedExpression:
    """``map(key, value, …)``."""
    keys, values = node.args["keys"], node.args["values"]
    if not isinstance(keys, exp.Array) or not isinstance(values, exp.Array):
        raise NotAgreed(node)
    sides = [array(translator, keys), array(translator, values)]
    kinds = [types.elements(side.type)[0] for side in sides]
    if not is_plain(kinds[0]) or "void" in kinds or kinds[0] in ("float", "double"):
        raise NotAgreed(node)
    return TypedExpression(words("map({0}, {1})", *sides), f"map<{kinds[0]},{kinds[1]}>")


def bracket(translator: Translator, node: exp.Bracket) -> TypedExpression:
    """An element of an array, or the value of a key of a map."""
    whole = translator.term(node.this)
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        raise NotAgreed(node)
    place = translator.term(node.expressions[0])
    if whole.type.startswith("map<"):
        key, value = types.elements(whole.type)
        by_function = node.args.get("offset") == 1  # which converts no text
        if by_function and (key == "string") != (place.type == "string"):
            raise NotAgreed(node)
        fitting = fitted(node, place, key)
        if fitting is None or not is_plain(key):
            raise NotAgreed(node)
        return TypedExpression(words("map_extract_value({0}, {1})", whole, fitting), value)
    if not whole.type.startswith("array<") or place.type not in types.INTEGRAL:
        raise NotAgreed(node)
    if place.type == "bigint" and node.args.get("offset") == 1:
        raise NotAgreed(node)
    (element,) = types.elements(whole.type)
    place = converted(TypedExpression(place.sql, place.type), "bigint")
    if node.args.get("offset") != 1:
        text = _AT % _NO_INDEX
    else:
        text = _ELEMENT % ("NULL" if node.args.get("safe") else _NO_ELEMENT)
    return TypedExpression(words(text, whole, place), element)


def get(translator: Translator, node: Expression, arguments: list[Expression]) -> TypedExpression:
    """``get(xs, i)``: NULL where there is no such element."""
    whole, place = map(translator.term, arguments)
    if not whole.type.startswith("array<") or place.type not in ("tinyint", "smallint", "int"):
        raise NotAgreed(node)
    return TypedExpression(words(_AT % "NULL", whole, converted(place, "bigint")), types.elements(whole.type)[0])


def field(translator: Translator, node: exp.Dot) -> TypedExpression:
    """A field of a struct."""
    row = translator.term(node.this)
    kind = next((t for n, t in types.fields(row.type) if n == node.name), None) if "struct<" in row.type[:7] else None
    if kind is None:
        raise NotAgreed(node)
    return TypedExpression(words(f"struct_extract({{0}}, {quoted_text(node.name)})", row), kind)


def sort_array(translator: Translator, node: exp.ArraySort) -> TypedExpression:
    """``sort_array(xs)``: NULLs first; ``sort_array(xs, FALSE)``: descending, NULLs last."""
    whole = translator.term(node.this)
    if node.args.get("expression") is not None or not whole.type.startswith("array<"):
        raise NotAgreed(node)
    if not isinstance(node.args.get("asc") or exp.true(), exp.Boolean):
        raise NotAgreed(node)
    descending = _is_false(node.args.get("asc"))
    first = _is_true(node.args.get("nulls_first"))
    order = f"'{'DESC' if descending else 'ASC'}', 'NULLS {'FIRST' if first else 'LAST'}'"
    (element,) = types.elements(whole.type)
    if not types.is_nested(element):
        return TypedExpression(words(f"list_sort({{0}}, {order})", whole), whole.type)
    one = parameter("e")
    pair = f"CASE WHEN {one} IS NULL THEN NULL ELSE struct_pack(k := {_key(node, one, element, 0)}, v := {one}) END"
    keyed = f"list_transform({{0}}, lambda {one}: {pair})"
    text = f"list_transform(list_sort({keyed}, {order}), lambda {one}: struct_extract({one}, 'v'))"
    return TypedExpression(words(text, whole), whole.type)


def contains(translator: Translator, node: exp.ArrayContains) -> TypedExpression:
    """Whether an array has an element: NULL if it has not, but a NULL in its stead."""
    whole, element = translator.term(node.this), translator.term(node.expression)
    kind = types.elements(whole.type)[0] if whole.type.startswith("array<") else ""
    common = common_type([kind, element.type]) if kind and "void" not in (kind, element.type) else None
    if common is None or not is_plain(common):
        raise NotAgreed(node)
    values = [_as(node, whole, f"array<{common}>"), _as(node, element, common)]
    text = (
        "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN list_contains({0}, {1}) THEN TRUE "
        "WHEN list_count({0}) < len({0}) THEN NULL ELSE FALSE END"
    )
    return TypedExpression(words(text, *values), "boolean")


def slice_of(translator: Translator, node: exp.ArraySlice) -> TypedExpression:
    """``slice(xs, start, length)``; a start below zero counts from the end, and zero is an error."""
    whole, start, length = (translator.of_any(node.args.get(n)) for n in ("this", "start", "end"))
    whole_type = whole.type
    if not whole_type.startswith("array<") or any(t.type not in types.INTEGRAL for t in (start, length)):
        raise NotAgreed(node)
    zero = raised("INVALID_PARAMETER_VALUE.START", "Expects a positive or a negative value for `start`, but got 0.")
    less = raised("INVALID_PARAMETER_VALUE.LENGTH", "Expects `length` greater than or equal to 0.")
    text = (
        f"CASE WHEN {{0}} IS NULL OR {{1}} IS NULL OR {{2}} IS NULL THEN NULL WHEN {{1}} = 0 THEN {zero} "
        f"WHEN {{2}} < 0 THEN {less} WHEN {{2}} = 0 OR -{{1}} > len({{0}}) THEN list_slice({{0}}, 1, 0) "
        "WHEN {1} < 0 THEN list_slice({0}, len({0}) + {1} + 1, len({0}) + {1} + {2}) "
        "ELSE list_slice({0}, {1}, {1} + {2} - 1) END"
    )
    parts = [whole, *(converted(TypedExpression(t.sql, t.type), "bigint") for t in (start, length))]
    return TypedExpression(words(text, *parts), whole_type)


def sequence(translator: Translator, node: exp.GenerateSeries) -> TypedExpression:
    """``sequence(first, last)``, upwards or downwards; of days, if these are dates."""
    first, last = translator.of_any(node.args.get("start")), translator.of_any(node.args.get("end"))
    if node.args.get("step") is not None or not {first.type, last.type} <= types.INTEGRAL:
        raise NotAgreed(node)
    type = common_type([first.type, last.type])
    assert type is not None
    text = (
        f"CASE WHEN abs(CAST({{0}} AS HUGEINT) - {{1}}) > {MUCH} THEN {ELSEWHERE} "
        "WHEN {0} <= {1} THEN generate_series({0}, {1}) ELSE generate_series({0}, {1}, -1) END"
    )
    ends = [converted(TypedExpression(t.sql, t.type), "bigint") for t in (first, last)]
    return converted(TypedExpression(words(text, *ends), "array<bigint>"), f"array<{type}>")


def ordered(node: Expression, term: TypedExpression) -> TypedExpression:
    """What is put in order in the stead of a term: the key of an array or struct, and any other term itself.

    Nothing is ordered by maps in Spark.  Where they tell rows apart that are equal otherwise, DuckDB's order will do.
    """
    return order_key(node, term) if types.is_nested(term.type) and "map<" not in term.type else term


def ranged(
    node: Expression, comparison: type[Expression], left: TypedExpression, right: TypedExpression
) -> TypedExpression:
    """Two arrays or structs, one before the other.

    DuckDB makes one BETWEEN of two such comparisons with one value in a condition, and then has none for these types.
    It does not look into COALESCE.
    """
    keys = comparison(this=order_key(node, left).sql, expression=order_key(node, right).sql)
    return TypedExpression(words("coalesce({0}, NULL)", TypedExpression(keys, "boolean")), "boolean")


def order_key(node: Expression, term: TypedExpression) -> TypedExpression:
    """What DuckDB orders as Spark orders arrays and structs, in which a NULL is the least value, not the greatest."""
    return TypedExpression(words(_key(node, "{0}", term.type, 0), term), term.type)


def _key(node: Expression, value: str, type: str, depth: int) -> str:
    if is_plain(type):
        return value
    if type.startswith("array<"):
        name = parameter(f"k{depth}")
        element = _key(node, name, types.elements(type)[0], depth + 1)
        return f"list_transform({value}, lambda {name}: struct_pack(n := {name} IS NOT NULL, v := {element}))"
    if not type.startswith("struct<"):
        raise NotAgreed(node)
    parts = []
    for n, (name, kind) in enumerate(types.fields(type)):
        part = f"struct_extract({value}, {quoted_text(name)})"
        parts.append(f"n{n} := {part} IS NOT NULL, v{n} := {_key(node, part, kind, depth)}")
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE struct_pack({', '.join(parts)}) END"


def _as(node: Expression, term: TypedExpression, type: str) -> TypedExpression:
    if term.literal is not None and term.type == type and type != "string":
        return TypedExpression(words(f"CAST({{0}} AS {duckdb_type(type)})", term), type)
    if term.type == type or term.type == "void" or types.is_nested(type):
        return converted(term, type)
    converted_term = fitted(node, term, type)
    if converted_term is None:
        raise NotAgreed(node)
    return converted_term


def _is_false(node: Expression | None) -> bool:
    return isinstance(node, exp.Boolean) and not node.this


def _is_true(node: Expression | None) -> bool:
    return isinstance(node, exp.Boolean) and bool(node.this)
