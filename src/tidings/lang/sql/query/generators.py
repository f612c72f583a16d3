"""Functions that make rows: ``explode`` and its kind, in the SELECT list, in LATERAL VIEW and in FROM.

All are one array per row, unnested, and expressions over its elements:

====================  ===========================  ==============================================
``explode(array)``    the array                    ``col`` is the element
``explode(map)``      its entries                  ``key`` and ``value`` are fields of the element
``posexplode(array)``  the numbers of its elements  ``pos`` is the number, ``col`` the element there
``inline(array)``     the array                    its fields are the columns
``stack(n, …)``       an array of rows             ``col0``, ``col1``, … are fields of the element
``json_tuple(j, …)``  an array of one row          ``c0``, ``c1``, … are fields of the element
``range(a, b, s)``    the places of its numbers    ``id`` is the number at the place
====================  ===========================  ==============================================

With OUTER an array that is empty or NULL counts as an array of one NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression
from tidings.ir import types
from tidings.ir.expression import Expression, cast, column, filled, literal, operand, typed_null
from tidings.ir.relation import Column, Item, Project, Relation, Unnest
from tidings.lang.sql.context import Context
from tidings.lang.sql.names import distinct_names

_ELEMENT = "element"


class GeneratedColumn(NamedTuple):
    """A column a generator makes."""

    name: str
    type: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Generator:
    """A call of a function that makes rows, and the names its columns are given."""

    call: Expression
    names: tuple[str, ...]
    outer: bool = False

    @property
    def arguments(self) -> list[Expression]:
        whole = isinstance(self.call, exp.Stack | exp.Anonymous)
        return list(self.call.expressions) if whole else [self.call.this]


def generator(item: Expression) -> Generator | None:
    """The generator an item of a SELECT list is, with the names the item gives."""
    match item:
        case exp.Aliases():
            call, names = item.this, tuple(i.name for i in item.expressions)
        case exp.Alias():
            call, names = item.this, (item.alias,)
        case _:
            call, names = item, ()
    return Generator(call, names) if functions.is_generator(call) else None


def unnest_as_explode(ctx: Context, source: Expression) -> Expression:
    """``UNNEST(array)`` in FROM is ``LATERAL explode(array)``, with LATERAL and without."""
    call = source.this if isinstance(source, exp.Lateral) else source
    if not isinstance(call, exp.Unnest):
        return source
    if len(call.expressions) != 1:
        raise ctx.unsupported("UNNEST of several arrays", call)
    alias = source.args.get("alias")
    return exp.Lateral(this=exp.Explode(this=call.expressions[0].copy()), alias=alias.copy() if alias else None)


def unnested(
    ctx: Context, plan: Relation, generator: Generator, arguments: Sequence[Expression]
) -> tuple[Relation, list[GeneratedColumn]]:
    """A plan with one row per row the generator makes, and the columns it makes; ``arguments`` are over the plan."""
    name = functions.function_name(generator.call) or ""
    outer = generator.outer or name.endswith("_outer")
    alias = ctx.alias(_ELEMENT)
    unnested_element: Expression = column(alias, _ELEMENT)
    known = ctx.types(list(arguments), plan.fields, generator.call)
    match name.removesuffix("_outer"):
        case "explode" | "posexplode" as kind if len(arguments) == 1 and types.elements(known[0]):
            array, element = _entries(arguments[0], known[0])
            columns = _parts(unnested_element, element, known[0])
            if kind == "posexplode":
                columns = _placed(unnested_element, array, element, known[0])
                array, element = _places(arguments[0], known[0], array), "int"
        case "inline" if len(arguments) == 1 and known[0].startswith("array<struct<"):
            array, (element,) = arguments[0], types.elements(known[0])
            columns = _fields(unnested_element, element)
        case "stack":
            array, element = _stacked(ctx, plan, generator.call, arguments)
            columns = _fields(unnested_element, element)
        case "json_tuple" if arguments:
            array, element = _json_fields(ctx, generator.call, arguments[0])
            columns = _fields(unnested_element, element)
        case "range":
            (array, number), element = _numbers(ctx, generator.call, arguments, unnested_element), "bigint"
            array.set("default", exp.Array(expressions=[typed_null(element)]) if outer else None)
            columns = [GeneratedColumn("id", element, number)]
        case "explode" | "posexplode" | "inline":
            raise InvalidExpression(ctx.place(generator.call), reason=f"{name}() of {known[0]}")
        case _:
            raise ctx.unsupported(f"{name}()", generator.call)
    if outer and name not in ("stack", "json_tuple", "range"):  # these do not depend on an array
        empty = exp.Array(expressions=[typed_null(element)])
        array = _if_any(arguments[0], known[0], array, empty)
    if generator.names and len(generator.names) != len(columns):
        reason = f"{name}() makes {len(columns)} columns, {len(generator.names)} are named"
        raise InvalidExpression(ctx.place(generator.call), reason=reason)
    if generator.names:
        columns = [GeneratedColumn(n, o.type, o.expression) for n, o in zip(generator.names, columns, strict=True)]
    return Unnest(plan, alias, Column(_ELEMENT, element), array), columns


def _entries(value: Expression, type: str) -> tuple[Expression, str]:
    """What is unnested of an array or map, and the type of its elements."""
    if type.startswith("array<"):
        return value, types.elements(type)[0]
    key, item = types.elements(type)
    return _call("map_entries", value), f"struct<key:{key},value:{item}>"


def _placed(number: Expression, array: Expression, element: str, whole: str) -> list[GeneratedColumn]:
    """The place of an element by its number, and the element there."""
    pos = cast(number, "int")
    there = exp.Bracket(
        this=operand(array), expressions=[exp.Add(this=pos, expression=literal(1))], offset=1, safe=True
    )
    return [GeneratedColumn("pos", "int", pos), *_parts(there, element, whole)]


def _places(value: Expression, type: str, array: Expression) -> Expression:
    """The numbers of the elements of an array, where it has any."""
    last = exp.Sub(this=exp.ArraySize(this=array.copy()), expression=literal(1))
    return _if_any(value, type, exp.GenerateSeries(start=literal(0), end=last))


def _parts(element: Expression, type: str, whole: str) -> list[GeneratedColumn]:
    return _fields(element, type) if whole.startswith("map<") else [GeneratedColumn("col", type, element)]


def _fields(element: Expression, type: str) -> list[GeneratedColumn]:
    return [
        GeneratedColumn(n, t, exp.Dot(this=operand(element), expression=exp.to_identifier(n, quoted=True)))
        for n, t in types.fields(type)
    ]


def _if_any(value: Expression, type: str, array: Expression, empty: Expression | None = None) -> Expression:
    """An array where a value has elements; else another one, or NULL."""
    array_or_keys = value if type.startswith("array<") else _call("map_keys", value)
    some = exp.GT(this=exp.ArraySize(this=array_or_keys.copy()), expression=literal(0))
    return exp.Case(ifs=[exp.If(this=some, true=array.copy())], default=empty)


def _call(name: str, value: Expression) -> Expression:
    return exp.func(name, value.copy(), dialect="spark")


def _stacked(ctx: Context, plan: Relation, call: Expression, cells: Sequence[Expression]) -> tuple[Expression, str]:
    """``stack(n, …)``: its cells row by row, each column of one type."""
    count = call.this
    if not isinstance(count, exp.Literal) or not str(count.this).isdigit() or not int(str(count.this)):
        raise InvalidExpression(ctx.place(call), reason="stack() needs a number of rows")
    rows = int(str(count.this))
    width = -(-len(cells) // rows)
    columns = [cells[c::width] for c in range(width)]
    common = [exp.Coalesce(this=c[0].copy(), expressions=[e.copy() for e in c[1:]]) for c in columns]
    kinds = ctx.types(list(common), plan.fields, call)

    def cell(r: int, c: int) -> Expression:
        value = cast(columns[c][r], kinds[c]) if r < len(columns[c]) else typed_null(kinds[c])
        return exp.PropertyEQ(this=exp.to_identifier(f"col{c}"), expression=value)

    structs = [exp.Struct(expressions=[cell(r, c) for c in range(width)]) for r in range(rows)]
    fields = ",".join(f"col{c}:{kind}" for c, kind in enumerate(kinds))
    return exp.Array(expressions=structs), f"struct<{fields}>"


def _json_fields(ctx: Context, call: Expression, text: Expression) -> tuple[Expression, str]:
    """``json_tuple(text, name, …)``: fields of an object by their names, as texts."""
    names = call.expressions[1:]
    if not names or not all(isinstance(n, exp.Literal) and n.is_string and "'" not in n.name for n in names):
        reason = "json_tuple() has a text and the names of fields, as in json_tuple(j, 'a', 'b')"
        raise InvalidExpression(ctx.place(call), reason=reason)
    paths = [f"$['{n.name}']" if "." in n.name or "[" in n.name else f"$.{n.name}" for n in names]
    fields = [
        exp.PropertyEQ(
            this=exp.to_identifier(f"c{n}"), expression=exp.func("get_json_object", text.copy(), path, dialect="spark")
        )
        for n, path in enumerate(map(exp.Literal.string, paths))
    ]
    kinds = ",".join(f"c{n}:string" for n in range(len(names)))
    return exp.Array(expressions=[exp.Struct(expressions=fields)]), f"struct<{kinds}>"


def _numbers(
    ctx: Context, call: Expression, arguments: Sequence[Expression], place: Expression
) -> tuple[exp.Case, Expression]:
    """``range(end)``, ``range(start, end)``, ``range(start, end, step)``: the end does not belong to it.

    What is unnested are the places of the numbers, and a number is made of its place.
    """
    if not 1 <= len(arguments) <= 4:
        raise InvalidExpression(ctx.place(call), reason="range() has a start, an end and a step")
    bounds = [cast(a, "bigint") for a in arguments[:2]]
    start, end = (cast(literal(0), "bigint"), bounds[0]) if len(bounds) == 1 else bounds
    step = _constant(call.expressions[2]) if len(arguments) > 2 else 1
    if not step:
        raise InvalidExpression(ctx.place(call), reason="the step of range() is a number other than 0")
    some: Expression = (exp.LT if step > 0 else exp.GT)(this=start, expression=end)
    far = filled("e - s - 1" if step > 0 else "s - e - 1", s=start, e=end)
    last = far if abs(step) == 1 else filled(f"(f - f % {abs(step)}) / {abs(step)}", f=far)
    places = exp.GenerateSeries(start=cast(literal(0), "bigint"), end=cast(last, "bigint"))
    number = filled("s + p * n", s=start, p=place, n=literal(step))
    return exp.Case(ifs=[exp.If(this=some, true=places)]), number


def _constant(node: Expression) -> int | None:
    """The whole number a node is."""
    if isinstance(node, exp.Neg):
        number = _constant(node.this)
        return None if number is None else -number
    return int(node.name) if isinstance(node, exp.Literal) and node.name.isdigit() else None


def expanded(
    ctx: Context, rows: Project, names: Sequence[str], generators: Mapping[int, Generator]
) -> tuple[Relation, list[Item], tuple[str, ...]]:
    """The rows of a SELECT list with what its generators make in the place of their arguments.

    ``generators`` are known by the place of their first argument.  Columns without a name come after those with one.
    """
    plan: Relation = rows
    columns: list[GeneratedColumn] = []
    unnamed: list[GeneratedColumn] = []
    fields = list(enumerate(rows.fields))
    while fields:
        (at, first), *rest = fields
        generator = generators.get(at)
        if generator is not None:
            width = len(generator.arguments)
            plan, outputs = unnested(ctx, plan, generator, [f.expression for _, f in fields[:width]])
            columns += outputs
            fields = fields[width:]
        else:
            named = at < len(names)
            (columns if named else unnamed).append(
                GeneratedColumn(names[at] if named else first.name, first.type, first.expression)
            )
            fields = rest
    output_names = tuple(o.name for o in columns)
    out = zip([*distinct_names(output_names), *(o.name for o in unnamed)], [*columns, *unnamed], strict=True)
    return plan, [Item(name, o.type, o.expression) for name, o in out], output_names
