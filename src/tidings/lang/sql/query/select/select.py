"""One SELECT.

FROM, WHERE, GROUP BY, HAVING, windows, QUALIFY, the list, DISTINCT, ORDER BY with LIMIT are bound in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.analysis.cardinality import at_most_one_row
from tidings.errors import InvalidExpression, InvalidSyntax
from tidings.ir.relation import Item, Project, Relation
from tidings.lang.sql.names import distinct_names
from tidings.lang.sql.query.aggregates import in_canonical_order
from tidings.lang.sql.query.bound import Bound, distinct_rows
from tidings.lang.sql.query.expression import for_analysis
from tidings.lang.sql.query.generators import expanded
from tidings.lang.sql.query.scope import Outer
from tidings.lang.sql.query.select.asked_once import around, keeps_order
from tidings.lang.sql.query.select.block import SelectBlock
from tidings.lang.sql.query.select.grouping import plainly_grouped
from tidings.lang.sql.query.select.named_windows import with_inline_windows
from tidings.lang.sql.query.select.order import count, first_rows
from tidings.lang.sql.query.select.select_list import SelectList, select_list
from tidings.lang.sql.query.stars import with_stars_written_out
from tidings.lang.sql.query.subquery.subqueries import Subqueries
from tidings.lang.sql.query.time_windows import with_time_windows

if TYPE_CHECKING:
    from tidings.lang.sql.query.binder import Binder


def bind_select(binder: Binder, node: exp.Select, name: str, ctes: Mapping[str, Any], outer: Outer | None) -> Bound:
    """The plan of one SELECT."""
    ctx, written = binder.ctx, node
    if not node.expressions:
        raise InvalidSyntax(ctx.place(node), reason="SELECT needs columns, or a *")
    own_outer = None if outer is None else replace(outer, stands=dict(outer.stands))
    scope, plan, analysed = binder.from_clause(node, ctes, own_outer)
    node = with_stars_written_out(ctx, node, scope)
    windows = with_time_windows(ctx, node, scope, plan, analysed)
    node, plan = windows.node, windows.plan
    subqueries = Subqueries(binder, scope, ctes)
    node = in_canonical_order(ctx, subqueries.lifted(with_inline_windows(ctx, node)))
    columns = select_list(ctx, node, scope)
    if columns.generators and keeps_order(node):  # the order is that of the rows they make
        return bind_select(binder, around(written, ctx.fresh("subquery")), name, ctes, outer)
    block = SelectBlock(ctx, node, scope, columns.aliases, subqueries, plan, [e for _, e in columns.items])
    block.session = windows.session
    block.where()
    block.check()
    mirrored = _mirrored(block, analysed).select(*map(subqueries.shown, map(plainly_grouped, columns.analysed)))
    typed = ctx.analyze(mirrored, node)
    names = tuple(n or c.name for (n, _), c in zip(columns.items, typed, strict=True))
    block.group()
    block.attach_subqueries()
    block.windows()
    out = [Item(n, c.type, e) for n, c, e in zip(distinct_names(names), typed, block.outputs, strict=True)]
    return _cut_to_limit(block, name, names, out, columns)


def _cut_to_limit(block: SelectBlock, name: str, names: tuple[str, ...], out: list[Item], columns: SelectList) -> Bound:
    """The list over the finished block, then DISTINCT and ORDER BY with LIMIT."""
    ctx, node, outer = block.ctx, block.node, block.scope.outer
    used = outer.used.values() if block.ties and outer is not None else ()
    ties = [Item(f"__d{n}", u.field.type, e) for n, (u, e) in enumerate(zip(used, block.ties, strict=False))]
    out = out + ties
    limit, offset = (count(ctx, node.args.get(a)) for a in ("limit", "offset"))
    distinct, places = bool(node.args.get("distinct")), keeps_order(node)
    if columns.generators:
        if limit is not None or offset is not None:
            raise ctx.unsupported("LIMIT beside a function that makes rows", node)
        arguments = Project(block.plan, ctx.alias("rows"), tuple(out))
        plan, out, names = expanded(ctx, arguments, names, columns.generators)
        generated = Project(plan, ctx.alias(name), tuple(out))
        return Bound(distinct_rows(ctx, generated, name) if distinct else generated, names)
    single = limit is not None and limit > 0 and offset is None and not ties and at_most_one_row(block.plan)
    if single or (limit is None and offset is None and not places):
        rows: Relation = Project(block.plan, ctx.alias(name), tuple(out))
        return Bound(distinct_rows(ctx, rows, name) if distinct else rows, names)
    if node.args.get("order") is None and not places:
        raise ctx.unsupported("LIMIT without ORDER BY", node)
    hidden = block.order_items(out)
    if distinct and hidden.items:
        reason = "SELECT DISTINCT is ordered by its own columns only"
        raise InvalidExpression(ctx.place(node.args["order"]), reason=reason)
    rows = Project(block.plan, ctx.alias(name), (*out, *hidden.items))
    rows = distinct_rows(ctx, rows, name) if distinct else rows
    per = tuple(i.name for i in ties)
    return Bound(first_rows(ctx, rows, out, hidden.order, offset or 0, limit, name, per, places=places), names)


def _mirrored(block: SelectBlock, analysed: exp.Select) -> exp.Select:
    """The clauses the analyzer sees as they are."""
    for arg in ("where", "group", "having", "qualify"):
        if block.node.args.get(arg):
            clause = for_analysis(plainly_grouped(block.node.args[arg]), block.scope, block.aliases)
            if arg != "group" or clause.expressions or clause.args.get("all"):
                analysed.set(arg, block.subqueries.shown(clause))
    return analysed
