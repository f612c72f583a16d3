"""One SELECT: FROM, WHERE, GROUP BY, HAVING, windows, QUALIFY, the list, DISTINCT, ORDER BY with LIMIT, in this order.

Each stage takes the plan so far and the expressions that are still to come, and leaves a plan one operator higher with
the expressions rewritten over its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlglot import exp

from tidings.analysis.cardinality import at_most_one_row
from tidings.errors import UnknownColumn, closest
from tidings.ir.expression import Expression, Ref, column, conjuncts, equality, ref, refs, substitute
from tidings.ir.relation import Field, Filter, Item, Join, Project, Relation, Scan, Window
from tidings.lang.sql.context import Context
from tidings.lang.sql.names import check_reserved, kept_apart
from tidings.lang.sql.query import stages
from tidings.lang.sql.query.aggregates import in_canonical_order
from tidings.lang.sql.query.bound import Bound, distinct_rows
from tidings.lang.sql.query.clock import held_now, reads_clock
from tidings.lang.sql.query.expression import bind_condition, bind_expression, for_analysis
from tidings.lang.sql.query.floating import in_fixed_order, window_in_fixed_order
from tidings.lang.sql.query.generators import Generator, expanded, generator
from tidings.lang.sql.query.grouping import Grouping, aggregated, grouping_sets, grouping_type, listed, plainly_grouped
from tidings.lang.sql.query.order import count, first_rows, ordinal
from tidings.lang.sql.query.scope import Outer, Scope
from tidings.lang.sql.query.subquery import Subqueries

if TYPE_CHECKING:
    from tidings.lang.sql.query.binder import Binder


def bind_select(binder: Binder, node: exp.Select, name: str, ctes: Mapping[str, Any], outer: Outer | None) -> Bound:
    """The plan of one SELECT."""
    ctx = binder.ctx
    if refused := refused_clauses(node):
        raise ctx.unsupported(*refused)
    around = None if outer is None else replace(outer, stands=dict(outer.stands))
    scope, plan, analysed = binder.from_clause(node, ctes, around)
    subqueries = Subqueries(binder, scope, ctes)
    node = in_canonical_order(ctx, subqueries.lifted(_with_inline_windows(node)))
    items, select_list, named, generators = _items(ctx, node, scope)
    block = _Select(ctx, node, scope, named, subqueries, plan, [e for _, e in items])
    block.where()
    block.check()
    columns = ctx.analyze(
        _mirrored(block, analysed).select(*map(subqueries.shown, map(plainly_grouped, select_list))), node
    )
    names = tuple(n or c.name for (n, _), c in zip(items, columns, strict=True))
    block.group()
    if outer is not None and around is not None:
        outer.total, outer.defaults = around.total, around.defaults
    block.attach_subqueries()
    block.windows()
    out = [Item(n, c.type, e) for n, c, e in zip(kept_apart(names), columns, block.outputs, strict=True)]
    used = scope.outer.used.values() if block.ties and scope.outer is not None else ()
    ties = [Item(f"__d{n}", f.type, e) for n, ((f, _), e) in enumerate(zip(used, block.ties, strict=False))]
    out += ties
    limit, offset = (count(ctx, node.args.get(a)) for a in ("limit", "offset"))
    distinct = bool(node.args.get("distinct"))
    if generators:
        if limit is not None or offset is not None:
            raise ctx.unsupported("LIMIT beside a function that makes rows", node)
        plan, out, names = expanded(ctx, Project(block.plan, ctx.alias("rows"), tuple(out)), names, generators)
        made = Project(plan, ctx.alias(name), tuple(out))
        return Bound(distinct_rows(ctx, made, name) if distinct else made, names)
    single = limit is not None and limit > 0 and offset is None and not ties and at_most_one_row(block.plan)
    if single or (limit is None and offset is None):
        rows: Relation = Project(block.plan, ctx.alias(name), tuple(out))
        return Bound(distinct_rows(ctx, rows, name) if distinct else rows, names)
    if node.args.get("order") is None:
        raise ctx.unsupported("LIMIT without ORDER BY", node)
    hidden = block.order_items(out)
    rows = Project(block.plan, ctx.alias(name), (*out, *hidden.items))
    rows = distinct_rows(ctx, rows, name) if distinct else rows
    per = tuple(i.name for i in ties)
    return Bound(first_rows(ctx, rows, out, hidden.order, offset or 0, limit, name, per), names)


def _items(
    ctx: Context, node: exp.Select, scope: Scope
) -> tuple[list[tuple[str | None, Expression]], list[Expression], dict[str, Expression], dict[int, Generator]]:
    """Output columns as (name if the text gives one, bound expression), the analyzer's list, the aliases.

    A function that makes rows stands there as its arguments, and last by the place of the first of them.
    """
    generators: dict[int, Generator] = {}
    items: list[tuple[str | None, Expression]] = []
    seen: list[Expression] = []
    earlier: dict[str, Expression] = {}
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            for name, bound in _star(ctx, item, scope):
                items.append((name, bound))
                seen.append(_spelled(name, bound, scope).as_(name, quoted=True))
            continue
        asked = generator(item)
        if asked is not None:
            generators[len(items)] = asked
            for argument in asked.arguments:
                seen.append(for_analysis(argument, scope, earlier).as_(f"argument{len(items)}"))
                items.append((f"argument{len(items)}", bind_expression(ctx, argument, scope, earlier)))
            continue
        inner = item.this if isinstance(item, exp.Alias) else item
        bound_item = bind_expression(ctx, inner, scope, earlier)
        given = item.alias if isinstance(item, exp.Alias) else None
        if given is not None:
            check_reserved(given, ctx.place(item.args["alias"]))
            earlier[given.lower()] = bound_item
        elif isinstance(inner, exp.Column | exp.Dot):
            given = inner.name
        items.append((given, bound_item))
        seen.append(for_analysis(item, scope, earlier))
    for at, asked in generators.items():
        earlier.update({n.lower(): items[at][1] for n in asked.names})
    return items, seen, earlier, generators


def _star(ctx: Context, item: Expression, scope: Scope) -> list[tuple[str, Expression]]:
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


def _spelled(name: str, bound: Expression, scope: Scope) -> Expression:
    """A column of a star in the names of the analyzer's stand-ins."""
    known = {f.ref: column(s.name, n) for s in scope.sources for n, f in s.columns}
    if not all(r in known for r in refs(bound)):
        return exp.column(exp.to_identifier(name, quoted=True))
    return substitute(bound, known).copy()


@dataclass(slots=True)
class _Select:
    """One SELECT on its way through the stages; ``outputs`` are its items over ``plan``."""

    ctx: Context
    node: exp.Select
    scope: Scope
    named: dict[str, Expression]
    subqueries: Subqueries
    plan: Relation
    outputs: list[Expression]
    order: list[Expression] = field(default_factory=list)
    qualify: list[Expression] = field(default_factory=list)
    ties: list[Expression] = field(default_factory=list)
    """In a subquery: what stands for the columns it uses of the query around."""

    def __post_init__(self) -> None:
        order, qualify = self.node.args.get("order"), self.node.args.get("qualify")
        ordered = [self._order_key(o.this) for o in order.expressions] if order is not None else []
        if self.node.args.get("limit") or self.node.args.get("offset"):
            self.order = ordered
        if qualify is not None:
            self.qualify = list(conjuncts(self._condition(qualify.this)))

    def check(self) -> None:
        """Resolve the names of the clauses to come, so that an unknown one is told as such."""
        self._grouping(self.node.args.get("group"))
        having = self.node.args.get("having")
        if having is not None:
            self._condition(having.this)

    def where(self) -> None:
        """WHERE, and in a subquery the domain of what it uses of the query around."""
        clause, outer = self.node.args.get("where"), self.scope.outer
        bound = bind_condition(self.ctx, clause.this, self.scope, {}) if clause is not None else None
        conditions = [*self.scope.deferred, *(conjuncts(bound) if bound is not None else ())]
        if outer is not None and outer.domain is not None:
            conditions = self._join_domain(outer, outer.domain, conditions)
        plain = tuple(c for c in conditions if not self.subqueries.among(c) and not reads_clock(c))
        if plain:
            self.plan = Filter(self.plan, plain)
        for condition in conditions:
            if condition not in plain:
                self._keep(condition)

    def _keep(self, condition: Expression) -> None:
        """Keep the rows for which a condition holds that may read the clock or subqueries."""
        timed = reads_clock(condition)
        if not timed and self.subqueries.among(condition):
            self.plan = self.subqueries.filtered(self.plan, condition)
            return
        self.plan, value = self.subqueries.valued(self.plan, condition)
        self.plan = held_now(self.ctx, self.plan, value) if timed else Filter(self.plan, (value,))

    def _join_domain(self, outer: Outer, domain: Scan, conditions: list[Expression]) -> list[Expression]:
        """Join the domain, or let own columns stand for it where the conditions set all of it equal to such."""
        types = {f.ref: f.type for f in self.plan.fields}
        own: dict[Ref, Expression] = {}
        left = []
        for condition in conditions:
            sides = equality(condition)
            pairs = ((sides[0], sides[1]), (sides[1], sides[0])) if sides is not None and not sides[2] else ()
            stand = next((s for s in outer.stands.values() for a, b in pairs if _may_stand(s, a, b, types)), None)
            if stand is None or stand.ref in own:
                left.append(condition)
            else:
                own[stand.ref] = next(b for a, b in pairs if ref(a) == stand.ref)
        if len(own) < len(outer.stands):
            self.plan = Join((self.plan, domain), ())
            self.ties = [f.expression for f in outer.stands.values()]
            return conditions
        self.ties = [own[f.ref] for f in outer.stands.values()]
        fields = {f.ref: f for f in self.plan.fields}
        outer.stands = {r: fields[ref(own[f.ref]) or f.ref] for r, f in outer.stands.items()}
        for group in (self.outputs, self.order, self.qualify):
            group[:] = [substitute(e, own) for e in group]
        self.named = {n: substitute(e, own) for n, e in self.named.items()}
        there = [exp.Not(this=exp.Is(this=e.copy(), expression=exp.Null())) for e in self.ties]
        return [*there, *(substitute(c, own) for c in left)]

    def attach_subqueries(self) -> None:
        """Give the subqueries of the list, of ORDER BY and of QUALIFY a column each."""
        for group in (self.outputs, self.order, self.qualify):
            for n, expression in enumerate(group):
                if self.subqueries.among(expression):
                    self.plan, group[n] = self.subqueries.valued(self.plan, expression)

    def _bound(self, tree: Expression) -> Expression:
        return bind_expression(self.ctx, tree, self.scope, self.named)

    def _condition(self, tree: Expression) -> Expression:
        return bind_condition(self.ctx, tree, self.scope, self.named)

    def _order_key(self, tree: Expression) -> Expression:
        """What ORDER BY names: an output by number or name, else any expression."""
        number = ordinal(self.ctx, tree, self.outputs)
        if number is not None:
            return number
        if isinstance(tree, exp.Column) and not tree.table and tree.name.lower() in self.named:
            return self.named[tree.name.lower()]
        return self._bound(tree)

    def group(self) -> None:
        """GROUP BY, aggregates and HAVING."""
        clause, having = self.node.args.get("group"), self.node.args.get("having")
        conditions = list(conjuncts(self._condition(having.this))) if having is not None else []
        mentioned = [*self.outputs, *conditions, *self.order, *self.qualify, *self.ties]
        if clause is None and having is None and not any(map(stages.has_aggregate, mentioned)):
            return
        grouping = self._grouping(clause)
        valued = self._attach_inside_keys(grouping.keys)
        mentioned = self._attach_inside_aggregates(mentioned)
        alias = self.ctx.alias("groups")
        keys, aggregates = stages.Stage(alias, "key"), stages.Stage(alias, "agg")
        for key in (*grouping.keys, *self.ties):
            keys.name(key)
        over = [stages.without_aggregates(e, keys, aggregates) for e in mentioned]
        items = (self._computed(keys, valued), self._in_fixed_order(self._computed(aggregates, {})))
        self.plan = aggregated(self.ctx, self.plan, keys, aggregates, items, grouping)
        self.subqueries.forget_columns()
        self._redistribute(over, len(conditions))
        if self.scope.outer is not None and clause is None:
            self.scope.outer.total = not conditions
            types = {i.name: i.type for i in items[1]}
            self.scope.outer.defaults = [stages.of_nothing(e, aggregates, types) for e in self.outputs]

    def _computed(self, stage: stages.Stage, valued: Mapping[Expression, Expression]) -> list[Item]:
        """What a stage computes, with types; ``valued`` are expressions whose subqueries have columns by now."""
        known = {e: grouping_type(e) for e in stage.computed}
        asked = [e for e, type in known.items() if type is None]
        types = self.ctx.types([valued.get(e, e) for e in asked], self.plan.fields, self.node)
        known.update(zip(asked, types, strict=True))
        return [Item(n, known[e] or "void", valued.get(e, e)) for e, n in stage.computed.items()]

    def _in_fixed_order(self, aggregates: list[Item]) -> list[Item]:
        fields = self.plan.fields
        return [Item(i.name, i.type, in_fixed_order(self.ctx, i.expression, i.type, fields)) for i in aggregates]

    def _attach_inside_keys(self, keys: list[Expression]) -> dict[Expression, Expression]:
        """Give subqueries of GROUP BY their columns; the keys over them."""
        valued = {}
        for key in keys:
            if self.subqueries.among(key):
                self.plan, valued[key] = self.subqueries.valued(self.plan, key)
        return valued

    def _attach_inside_aggregates(self, mentioned: list[Expression]) -> list[Expression]:
        """Give subqueries inside an aggregate their columns before the grouping."""
        out = []
        for expression in mentioned:
            tree = exp.Paren(this=expression.copy())
            for call in [n for n in tree.walk() if stages.is_aggregate_call(n) and self.subqueries.among(n)]:
                self.plan, value = self.subqueries.valued(self.plan, call)
                call.replace(value)
            inner: Expression = tree.this
            out.append(inner.pop())
        return out

    def _redistribute(self, over: list[Expression], conditions: int) -> None:
        """Take the rewritten expressions back; HAVING becomes a filter."""
        first, last = len(self.outputs), len(self.outputs) + conditions
        for condition in over[first:last]:
            self._keep(condition)
        ordered = last + len(self.order)
        qualified = ordered + len(self.qualify)
        self.outputs, self.order = over[:first], over[last:ordered]
        self.qualify, self.ties = over[ordered:qualified], over[qualified:]

    def _grouping(self, clause: exp.Group | None) -> Grouping:
        """The expressions to group by, and in which sets."""
        if clause is None:
            return Grouping([])
        if clause.args.get("all"):
            return Grouping([e for e in self.outputs if not stages.has_aggregate(e)])
        keys = {tree: self._group_key(tree) for tree in listed(clause)}
        sets = grouping_sets(clause)
        return Grouping(
            list(dict.fromkeys(keys.values())), None if sets is None else [[keys[e] for e in one] for one in sets]
        )

    def _group_key(self, tree: Expression) -> Expression:
        number = ordinal(self.ctx, tree, self.outputs)
        return self._bound(tree).unnest() if number is None else number

    def windows(self) -> None:
        """Window functions and QUALIFY."""
        mentioned = [*self.outputs, *self.order, *self.qualify]
        if not any(map(stages.has_window, mentioned)):
            return
        self._project_arguments(mentioned)
        mentioned = [*self.outputs, *self.order, *self.qualify]
        for window in (w for e in mentioned for w in e.find_all(exp.Window)):
            stages.check_order(self.ctx, window)
        stage = stages.Stage(self.ctx.alias("windows"), "w")
        over = [stages.without_windows(e, stage) for e in mentioned]
        types = self.ctx.types(list(stage.computed), self.plan.fields, self.node)
        fixed = map(window_in_fixed_order, stage.computed, types)
        settled = (stages.settled(stages.partitioned(w, self.ties), self.plan.fields) for w in fixed)
        names = stage.computed.values()
        items = tuple(Item(n, t, w) for n, t, w in zip(names, types, settled, strict=True))
        self.plan = Window(self.plan, stage.alias, items)
        outputs, order = len(self.outputs), len(self.order)
        self.outputs, self.order = over[:outputs], over[outputs : outputs + order]
        self.qualify = over[outputs + order :]
        for condition in self.qualify:
            self._keep(condition)

    def _project_arguments(self, mentioned: list[Expression]) -> None:
        """Compute what windows partition by below them, so that partitions are columns."""
        stage = stages.Stage(self.ctx.alias("rows"), "p")
        for window in (w for e in mentioned for w in e.find_all(exp.Window)):
            for part in window.args.get("partition_by") or []:
                if ref(part) is None:
                    stage.name(part)
        if not stage.computed:
            return
        types = self.ctx.types(list(stage.computed), self.plan.fields, self.node)
        kept = [Item(f"{f.alias}.{f.name}", f.type, f.expression) for f in self.plan.fields]
        new = [Item(n, t, e) for (e, n), t in zip(stage.computed.items(), types, strict=True)]
        by = {f.ref: column(stage.alias, f"{f.alias}.{f.name}") for f in self.plan.fields}
        self.plan = Project(self.plan, stage.alias, (*kept, *new))

        def moved(e: Expression) -> Expression:
            return substitute(stages.with_computed(e, stage), by)

        groups = (self.outputs, self.order, self.qualify, self.ties)
        self.outputs, self.order, self.qualify, self.ties = (list(map(moved, es)) for es in groups)

    def order_items(self, out: list[Item]) -> _Hidden:
        """The order over the output, with columns of its own for what the output does not have."""
        by_expression = {i.expression: i.name for i in out}
        missing = [e for e in self.order if e not in by_expression]
        types = self.ctx.types(missing, self.plan.fields, self.node)
        hidden = {e: Item(f"__o{n}", t, e) for n, (e, t) in enumerate(zip(missing, types, strict=True))}
        order = []
        for part, expression in zip(self.node.args["order"].expressions, self.order, strict=True):
            placed = part.copy()
            name = by_expression[expression] if expression in by_expression else hidden[expression].name
            placed.set("this", exp.column(name))
            order.append(placed)
        return _Hidden(list(hidden.values()), order)


class _Hidden(NamedTuple):
    items: list[Item]
    order: list[exp.Ordered]


def _may_stand(stand: Field, around: Expression, own: Expression, types: Mapping[Ref, str]) -> bool:
    """Whether a column of the subquery may stand for one of the query around that it is set equal to."""
    found = ref(own)
    return ref(around) == stand.ref and found is not None and types.get(found) == stand.type


def _mirrored(block: _Select, analysed: exp.Select) -> exp.Select:
    """The clauses the analyzer sees as they are."""
    for arg in ("where", "group", "having", "qualify"):
        if block.node.args.get(arg):
            clause = for_analysis(plainly_grouped(block.node.args[arg]), block.scope, block.named)
            if arg != "group" or clause.expressions or clause.args.get("all"):
                analysed.set(arg, block.subqueries.shown(clause))
    return analysed


def _with_inline_windows(node: exp.Select) -> exp.Select:
    """Named windows written out where they are used."""
    definitions = {w.name.lower(): w for w in node.args.get("windows") or []}
    if not definitions:
        return node
    tree = node.copy()
    tree.set("windows", None)
    for window in list(tree.find_all(exp.Window)):
        named = definitions.get((window.alias or "").lower())
        if named is not None:
            for arg in ("partition_by", "order", "spec"):
                found = named.args.get(arg)
                window.set(arg, [e.copy() for e in found] if isinstance(found, list) else found and found.copy())
            window.set("alias", None)
    return tree


_CLAUSES = {
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "fetch": "FETCH",
    "pivots": "PIVOT and UNPIVOT",
    "sample": "TABLESAMPLE",
    "into": "SELECT INTO",
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "kind": "SELECT AS STRUCT",
}


def refused_clauses(node: Expression) -> tuple[str, Expression] | None:
    """The first clause of a query that has no incremental form yet, and where it stands."""
    group, limit, distinct = (node.args.get(a) for a in ("group", "limit", "distinct"))
    if group is not None and group.args.get("totals"):
        return "WITH TOTALS", group
    if isinstance(limit, exp.Fetch):
        return "FETCH", limit
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None:
        return "DISTINCT ON", distinct
    for arg, name in _CLAUSES.items():
        clause = node.args.get(arg)
        if clause:
            found = clause[0] if isinstance(clause, list) else clause
            return name, found if isinstance(found, exp.Expr) else node
    return None
