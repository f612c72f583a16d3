"""Scalar expressions in an engine's own words.

sqlglot prints them, which takes longer than all else that is done to make a statement, so each is printed once: as a
template with its columns left open, since the same expression stands under different names in different places.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TypeAlias

from sqlglot import exp, parse_one
from sqlglot.dialects.dialect import Dialect as Language
from sqlglot.generator import Generator

from tidings.engine.sql.ordered_fold import by_folding
from tidings.engine.sql.quoting import quoted
from tidings.engine.sql.words import Words, words_sql
from tidings.ir import types
from tidings.ir.expression import AVERAGE, Expression, Ref, cast, ref

Names: TypeAlias = Mapping[Ref, str]
"""How columns are written that go by another name than their own."""

_MARK = f"\0{uuid.uuid4().hex}\0"
"""What no text has in it."""

_CACHE_SIZE = 4_000


def scalar(expression: Expression, language: str, strict: bool, names: Names, type: str | None = None) -> str:
    """The text of an expression, cast to a type if one is given; see :func:`in_own_words` for ``strict``.

    >>> from tidings.ir.expression import read
    >>> scalar(read("q.x % 2"), "duckdb", True, {("q", "x"): "rows.x"}, "int")
    'CAST(rows.x % 2 AS INT)'
    """
    reference = ref(expression)
    if reference is not None and type is None:
        return names.get(reference) or column_name(*reference, language)
    if not names:
        return _text(expression, type, language, strict)
    template = _template(expression, type, language, strict)
    return "".join(
        part if isinstance(part, str) else names.get(part) or column_name(*part, language) for part in template
    )


@lru_cache(maxsize=_CACHE_SIZE)
def _text(expression: Expression, type: str | None, language: str, strict: bool) -> str:
    template = _template(expression, type, language, strict)
    return "".join(part if isinstance(part, str) else column_name(*part, language) for part in template)


@lru_cache(maxsize=_CACHE_SIZE)
def _template(expression: Expression, type: str | None, language: str, strict: bool) -> tuple[str | Ref, ...]:
    """The text of an expression in pieces, with its columns between them."""
    is_cast = type is not None and not types.has_void(type) and not type.startswith("interval")
    tree = in_own_words(cast(expression, type) if type is not None and is_cast else expression, strict)
    printer = _printer(language)
    pieces = printer.generate(tree, copy=False).split(_MARK)
    columns = printer.columns
    return tuple(piece if n % 2 == 0 else columns[int(piece)] for n, piece in enumerate(pieces))


def in_own_words(tree: Expression, strict: bool) -> Expression:
    """A copy as the engine's dialect is to print it.

    Where an engine has a CAST of its own that fails (``strict``), a plain CAST becomes that one: it fails on what it
    cannot convert, on every engine; only TRY_CAST answers NULL.  The same engine takes aggregates in an order.
    """
    whole = exp.Tuple(expressions=[tree.copy()])
    for call in list(whole.find_all(exp.AggFunc)) if not strict else ():
        folded = by_folding(call)
        if folded is not None:
            call.replace(folded)
    for average in [node for node in whole.find_all(exp.Anonymous) if node.this == AVERAGE]:
        average.replace(_in_whole_numbers(average) if strict else _divided(average))
    for node in list(whole.find_all(exp.TryCast, exp.Anonymous, exp.ArrayAgg)) if strict else ():
        if isinstance(node, exp.TryCast):
            if not node.args.get("safe"):
                node.replace(exp.Cast(this=node.this, to=node.args["to"]))
            continue
        if isinstance(node, exp.ArrayAgg):
            if node.args.get("nulls_excluded") and node.find(exp.Column) is None:
                _without_nulls(node)
            continue
        match str(node.this).lower():
            case "raise_error":
                node.set("this", "error")
            case "timestamp_micros":
                instant = exp.Anonymous(this="make_timestamp", expressions=node.expressions)
                node.replace(exp.Cast(this=instant, to=exp.DataType.build("timestamptz")))
    result: Expression = whole.expressions[0].pop()
    return result


def _divided(call: exp.Anonymous) -> Expression:
    """An average where decimals can be divided."""
    total, count, _ = call.expressions
    return exp.Paren(this=exp.Div(this=total.copy(), expression=count.copy(), typed=False, safe=True))


def _in_whole_numbers(call: exp.Anonymous) -> Expression:
    """An average where dividing decimals makes them floating: in whole numbers, rounded half away from zero."""
    total, count, places = call.expressions
    scale, more = int(places.name), int(places.name) + 4
    units = f"CAST(ABS(t) * {10**scale} AS HUGEINT)"
    unit = f"CAST('0.{'0' * (more - 1)}1' AS DECIMAL({more + 1}, {more}))"
    rounded = f"CAST(({units} * {2 * 10**4} + n) // (2 * n) AS DECIMAL(38, 0)) * {unit}"
    template = parse_one(f"(CASE WHEN t < 0 THEN -({rounded}) ELSE {rounded} END)", dialect="duckdb")
    by = {"t": exp.Paren(this=total), "n": exp.Paren(this=count)}
    return template.transform(lambda node: by[node.name].copy() if isinstance(node, exp.Column) else node)


def _without_nulls(call: exp.ArrayAgg) -> None:
    """Leave NULLs out of a collected constant; sqlglot says so for columns only."""
    some = exp.Not(this=exp.Is(this=call.this.copy(), expression=exp.Null()))
    if isinstance(call.parent, exp.Filter):
        call.parent.set("expression", exp.Where(this=exp.and_(call.parent.expression.this, some)))
    else:
        call.replace(exp.Filter(this=call.copy(), expression=exp.Where(this=some)))


@lru_cache(maxsize=_CACHE_SIZE)
def column_name(alias: str, name: str, language: str) -> str:
    return f"{quoted(alias, language)}.{quoted(name, language)}"


class _Printer(Generator):
    """A generator of some dialect that leaves columns open."""

    columns: list[Ref]


def _printer(language: str) -> _Printer:
    printer = _printer_class(language)(dialect=Language.get_or_raise(language), normalize_functions=False)
    printer.columns = []
    return printer


def query_text(query: Expression, language: str) -> str:
    """The text of a whole query, words among it."""
    printer = _with_words(language)(dialect=Language.get_or_raise(language), normalize_functions=False)
    return printer.generate(query, copy=False)


@cache
def _with_words(language: str) -> type[Generator]:
    """The generator of a dialect that also prints an engine's own words, and the type of a NULL inside others."""
    generator = Language.get_or_raise(language).generator_class
    no_type = '"NULL"' if language == "duckdb" else "VOID"
    members = {
        "TRANSFORMS": {**generator.TRANSFORMS, Words: words_sql},
        "TYPE_MAPPING": {**generator.TYPE_MAPPING, exp.DataType.Type.NULL: no_type},
    }
    return type(f"Wordy{generator.__name__}", (generator,), members)


@cache
def _printer_class(language: str) -> type[_Printer]:
    dialect_generator = _with_words(language)

    def column_sql(self: _Printer, node: exp.Column) -> str:
        """A bound column as its place among the columns, between two marks."""
        if not node.table:
            return dialect_generator.column_sql(self, node)
        self.columns.append((node.table, node.name))
        return f"{_MARK}{len(self.columns) - 1}{_MARK}"

    return type(f"Open{dialect_generator.__name__}", (dialect_generator,), {"column_sql": column_sql})
