"""The list of a SELECT: its columns, stars and functions that make rows."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression, UnknownColumn, closest
from tidings.ir.expression import Expression, column, refs, substitute
from tidings.lang.sql.context import Context
from tidings.lang.sql.names import check_reserved
from tidings.lang.sql.query.expression import bind_expression, for_analysis
from tidings.lang.sql.query.generators import Generator, generator
from tidings.lang.sql.query.scope import Scope


class SelectList(NamedTuple):
    """The list of a SELECT.  A function that makes rows stands there as its arguments."""

    items: list[tuple[str | None, Expression]]
    """The output columns: the name, if the text gives one, and the bound expression."""
    analysed: list[Expression]
    """The same columns as the analyzer is to see them."""
    aliases: dict[str, Expression]
    """The bound expressions that the list gives names, by these."""
    generators: dict[int, Generator]
    """The functions that make rows, by the place of their first argument among the items."""


def select_list(ctx: Context, node: exp.Select, scope: Scope) -> SelectList:
    """The bound list of a SELECT, stars written out."""
    generators: dict[int, Generator] = {}
    items: list[tuple[str | None, Expression]] = []
    analysed: list[Expression] = []
    aliases: dict[str, Expression] = {}
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            for name, bound in star_columns(ctx, item, scope):
                items.append((name, bound))
                analysed.append(spelled(name, bound, scope).as_(name, quoted=True))
            continue
        call = generator(item)
        if call is not None:
            if not call.arguments:
                called = functions.function_name(call.call)
                raise InvalidExpression(ctx.place(call.call) or ctx.place(item), reason=f"{called}() has no argument")
            generators[len(items)] = call
            for argument in call.arguments:
                name, bound_item = f"argument{len(items)}", bind_expression(ctx, argument, scope, aliases)
                items.append((name, bound_item))
                analysed.append(for_analysis(argument, scope, aliases).as_(name))
            continue
        inner = item.this if isinstance(item, exp.Alias) else item
        bound_item = bind_expression(ctx, inner, scope, aliases)
        alias = item.alias if isinstance(item, exp.Alias) else None
        if alias is not None:
            check_reserved(alias, ctx.place(item.args["alias"]))
            aliases[alias.lower()] = bound_item
        elif isinstance(inner, exp.Column | exp.Dot):
            alias = inner.name
        items.append((alias, bound_item))
        analysed.append(for_analysis(item, scope, aliases))
    for place, call in generators.items():
        aliases.update({n.lower(): items[place][1] for n in call.names})
    return SelectList(items, analysed, aliases, generators)


def star_columns(ctx: Context, item: Expression, scope: Scope) -> list[tuple[str, Expression]]:
    """The columns a star stands for, after its EXCEPT and REPLACE."""
    star = item if isinstance(item, exp.Star) else item.this
    if star.args.get("rename"):
        raise ctx.unsupported("a star with RENAME", item)
    columns = scope.star(item.table if isinstance(item, exp.Column) else None, ctx.place(item))
    left_out = {c.name.lower(): c for c in star.args.get("except_") or []}
    for name, tree in left_out.items():
        if name not in {n.lower() for n, _ in columns}:
            raise UnknownColumn(ctx.place(tree), closest(name, [n for n, _ in columns]), name=name)
    instead = {a.alias.lower(): bind_expression(ctx, a.this, scope, {}) for a in star.args.get("replace") or []}
    for name in instead:
        if name not in {n.lower() for n, _ in columns}:
            raise UnknownColumn(ctx.place(item), closest(name, [n for n, _ in columns]), name=name)
    return [(n, instead.get(n.lower(), f)) for n, f in columns if n.lower() not in left_out]


def spelled(name: str, bound: Expression, scope: Scope) -> Expression:
    """A column of a star in the names of the analyzer's stand-ins."""
    known = {f.ref: column(s.name, n) for s in scope.sources for n, f in s.columns}
    if not all(r in known for r in refs(bound)):
        return exp.column(exp.to_identifier(name, quoted=True))
    return substitute(bound, known).copy()
