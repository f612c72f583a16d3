"""Functions that go through the elements of an array with a function of the user's.

Such a function may use its own parameters and constants only.  One that uses a column of the row as well is Spark's
alone: of DuckDB's rows, it may see those of another (in DuckDB 1.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from tidings.engine.agreed.term import NotAgreed, TypedExpression, braced, duckdb_type, parameter, words
from tidings.ir import types
from tidings.ir.expression import Expression

if TYPE_CHECKING:
    from tidings.engine.agreed.expression import Translator


def transform(translator: Translator, node: Expression, arguments: list[Expression]) -> TypedExpression:
    """Each element made into another; the index counts from 0."""
    array, function = arguments
    values, element = _array(translator, node, array)
    body, names = _applied(translator, node, function, [element, "int"])
    return TypedExpression(words(f"list_transform({{0}}, lambda {names}: {{1}})", values, body), f"array<{body.type}>")


def filtered(translator: Translator, node: Expression, arguments: list[Expression]) -> TypedExpression:
    """The elements for which a condition holds."""
    array, function = arguments
    values, element = _array(translator, node, array)
    body, names = _applied(translator, node, function, [element, "int"])
    _check_condition(node, body)
    return TypedExpression(words(f"list_filter({{0}}, lambda {names}: {{1}})", values, body), values.type)


def exists(translator: Translator, node: Expression, arguments: list[Expression]) -> TypedExpression:
    """Whether a condition holds for some element; if for none, but not known of one, NULL."""
    text = "CASE WHEN list_contains({0}, TRUE) THEN TRUE WHEN list_count({0}) < len({0}) THEN NULL ELSE FALSE END"
    return _judged(translator, node, arguments, text)


def for_all(translator: Translator, node: Expression, arguments: list[Expression]) -> TypedExpression:
    """Whether a condition holds for all elements; if it fails for none, but is not known of one, NULL."""
    text = "CASE WHEN list_contains({0}, FALSE) THEN FALSE WHEN list_count({0}) < len({0}) THEN NULL ELSE TRUE END"
    return _judged(translator, node, arguments, text)


def aggregate(translator: Translator, node: exp.Reduce) -> TypedExpression:
    """All elements taken into one value, one after the other, and perhaps a function of that.

    DuckDB folds values of one type.  So elements and what they are taken into are two fields of a struct.
    """
    array, start, merge = node.this, node.args["initial"], node.args["merge"]
    values, element = _array(translator, node, array)
    initial = translator.term(start)
    kinds = [initial.type, element]
    merged, names = _applied(translator, node, merge, kinds, fields=("a", "x"))
    if merged.type != initial.type or "void" in kinds:
        raise NotAgreed(node)
    taken, other = (braced(duckdb_type(kind)) for kind in kinds)
    first = names.partition(",")[0]
    nothing = f"CAST(NULL AS {other})"
    element_alone = f"list_transform({{0}}, lambda {first}: struct_pack(a := CAST(NULL AS {taken}), x := {first}))"
    step = f"lambda {names}: struct_pack(a := CAST({{1}} AS {taken}), x := {nothing})"
    begin = f"struct_pack(a := CAST({{2}} AS {taken}), x := {nothing})"
    text = (
        f"CASE WHEN {{0}} IS NULL THEN NULL ELSE struct_extract(list_reduce({element_alone}, {step}, {begin}), 'a') END"
    )
    total = TypedExpression(words(text, values, merged, initial), initial.type)
    return total if node.args.get("finish") is None else _finished(translator, node, total)


def _finished(translator: Translator, node: exp.Reduce, total: TypedExpression) -> TypedExpression:
    """A function of what all elements were taken into."""
    body, name = _applied(translator, node, node.args["finish"], [total.type])
    text = f"CASE WHEN {{0}} IS NULL THEN NULL ELSE list_transform([{{1}}], lambda {name}: {{2}})[1] END"
    return TypedExpression(words(text, translator.term(node.this), total, body), body.type)


def _judged(translator: Translator, node: Expression, arguments: list[Expression], text: str) -> TypedExpression:
    array, function = arguments
    values, element = _array(translator, node, array)
    body, names = _applied(translator, node, function, [element])
    _check_condition(node, body)
    verdicts = TypedExpression(words(f"list_transform({{0}}, lambda {names}: {{1}})", values, body), "array<boolean>")
    return TypedExpression(words(f"CASE WHEN {{0}} IS NULL THEN NULL ELSE {text} END", verdicts), "boolean")


def _array(translator: Translator, node: Expression, array: Expression) -> tuple[TypedExpression, str]:
    """An array, and the type of its elements."""
    values = translator.term(array)
    if not values.type.startswith("array<") or values.type == "array<void>":
        raise NotAgreed(node)
    return values, types.elements(values.type)[0]


def _applied(
    translator: Translator, node: Expression, function: Expression, kinds: list[str], fields: tuple[str, ...] = ()
) -> tuple[TypedExpression, str]:
    """The body of a function whose parameters are of some types, and its parameters as DuckDB writes them.

    With ``fields`` the parameters stand for these fields of what DuckDB hands over.
    """
    if not isinstance(function, exp.Lambda) or len(function.expressions) > len(kinds):
        raise NotAgreed(node)
    if function.find(exp.Column) is not None or function.find(exp.Query) is not None:
        raise NotAgreed(node)
    parameters: dict[str, TypedExpression] = {}
    names = []
    around = sum(map(len, translator.parameters))
    for n, (given, kind) in enumerate(zip(function.expressions, kinds, strict=False)):
        name = parameter(f"p{around + n}")
        names.append(name)
        is_index = n == 1 and len(kinds) == 2 and _has_index(node)
        field = words(f"struct_extract({name}, '{fields[n]}')") if fields else words(name)
        written = words(f"CAST({name} - 1 AS INTEGER)") if is_index else field
        parameters[given.name.lower()] = TypedExpression(written, kind)
    with translator.bound(parameters):
        return translator.term(function.this), ", ".join(names)


def _has_index(node: Expression) -> bool:
    return isinstance(node, exp.Transform | exp.ArrayFilter)


def _check_condition(node: Expression, body: TypedExpression) -> None:
    if body.type != "boolean":
        raise NotAgreed(node)
