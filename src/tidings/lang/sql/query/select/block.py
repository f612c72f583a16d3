"""One SELECT on its way through its clauses, in the order in which SQL evaluates them.

Each stage takes the plan so far and the expressions that are still to come, and leaves a plan one operator higher with
the expressions rewritten over its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from tidings.errors import InvalidExpression
from tidings.ir.expression import Expression, Ref, column, conjuncts, equality, ref, refs, substitute
from tidings.ir.relation import Field, Filter, Item, Join, Project, Relation, Scan, Window
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.clock import filtered_now, reads_clock
from tidings.lang.sql.query.expression import bind_condition, bind_expression
from tidings.lang.sql.query.floating import in_fixed_order, window_in_fixed_order
from tidings.lang.sql.query.scope import Outer, Scope
from tidings.lang.sql.query.select import stages
from tidings.lang.sql.query.select.asked_once import keeps_order
from tidings.lang.sql.query.select.grouping import (
    GroupedItems,
    Grouping,
    aggregated,
    grouping_sets,
    grouping_type,
    listed,
)
from tidings.lang.sql.query.select.order import ordinal
from tidings.lang.sql.query.select.window_frames import by_place, checked_frames, needs_places, place
from tidings.lang.sql.query.subquery.subqueries import Subqueries
from tidings.lang.sql.query.time_windows import sessions


@dataclass(slots=True)
class SelectBlock:
    """One SELECT on its way through the stages; ``outputs`` are its items over ``plan``."""

    ctx: Context
    node: exp.Select
    scope: Scope
    aliases: dict[str, Expression]
    """What the list gives a name, by that name."""
    subqueries: Subqueries
    plan: Relation
    outputs: list[Expression]
    order: list[Expression] = field(init=False, default_factory=list)
    qualify: list[Expression] = field(init=False, default_factory=list)
    ties: list[Expression] = field(init=False, default_factory=list)
    """In a subquery: what stands for the columns it uses of the query around."""
    session: Expression | None = field(init=False, default=None)
    """The span of a row, where sessions are grouped by."""

    def __post_init__(self) -> None:
        qualify = self.node.args.get("qualify")
        ordered = [self._order_key(o.this) for o in self._order_clause()]
        if self.node.args.get("limit") or self.node.args.get("offset") or keeps_order(self.node):
            self.order = ordered
        if qualify is not None:
            self.qualify = list(conjuncts(self._condition(qualify.this)))

    def check(self) -> None:
        """Resolve the names of the clauses to come, so that an unknown one is told as such; windows need an order."""
        for window in (w for e in (*self.outputs, *self.order, *self.qualify) for w in e.find_all(exp.Window)):
            stages.check_order(self.ctx, window)
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
                self._filter(condition)

    def _filter(self, condition: Expression) -> None:
        """Filter by a condition that may read the clock or subqueries."""
        timed = reads_clock(condition)
        if not timed and self.subqueries.among(condition):
            self.plan = self.subqueries.filtered(self.plan, condition)
            return
        self.plan, value = self.subqueries.valued(self.plan, condition)
        self.plan = filtered_now(self.ctx, self.plan, value) if timed else Filter(self.plan, (value,))

    def _join_domain(self, outer: Outer, domain: Scan, conditions: list[Expression]) -> list[Expression]:
        """Join the domain, or let own columns stand for it where the conditions set all of it equal to such."""
        types = {f.ref: f.type for f in self.plan.fields}
        equal_columns: dict[Ref, Expression] = {}
        left = []
        for condition in conditions:
            sides = equality(condition)
            pairs = ((sides[0], sides[1]), (sides[1], sides[0])) if sides is not None and not sides[2] else ()
            stand = next((s for s in outer.stands.values() for a, b in pairs if _may_stand(s, a, b, types)), None)
            if stand is None or stand.ref in equal_columns:
                left.append(condition)
            else:
                equal_columns[stand.ref] = next(b for a, b in pairs if ref(a) == stand.ref)
        if len(set(equal_columns.values())) < len(outer.stands):  # a column can stand for one value only
            self.plan = Join((self.plan, domain), ())
            self.ties = [f.expression for f in outer.stands.values()]
            return conditions
        self.ties = [equal_columns[f.ref] for f in outer.stands.values()]
        fields = {f.ref: f for f in self.plan.fields}
        outer.stands = {r: fields[ref(equal_columns[f.ref]) or f.ref] for r, f in outer.stands.items()}
        for group in (self.outputs, self.order, self.qualify):
            group[:] = [substitute(e, equal_columns) for e in group]
        self.aliases = {n: substitute(e, equal_columns) for n, e in self.aliases.items()}
        there = [exp.Not(this=exp.Is(this=e.copy(), expression=exp.Null())) for e in self.ties]
        return [*there, *(substitute(c, equal_columns) for c in left)]

    def attach_subqueries(self) -> None:
        """Give the subqueries of the list, of ORDER BY and of QUALIFY a column each."""
        for group in (self.outputs, self.order, self.qualify):
            for n, expression in enumerate(group):
                if self.subqueries.among(expression):
                    self.plan, group[n] = self.subqueries.valued(self.plan, expression)

    def _bound(self, tree: Expression) -> Expression:
        return bind_expression(self.ctx, tree, self.scope, self.aliases)

    def _condition(self, tree: Expression) -> Expression:
        return bind_condition(self.ctx, tree, self.scope, self.aliases)

    def _order_clause(self) -> list[exp.Ordered]:
        """The parts of ORDER BY; ALL stands for every output."""
        clause = self.node.args.get("order")
        parts = list(clause.expressions) if clause is not None else []
        if [part.this for part in parts] != [exp.var("ALL")]:
            return parts
        every = [parts[0].copy() for _ in self.outputs]
        for number, part in enumerate(every, 1):
            part.set("this", exp.Literal.number(number))
        return every

    def _order_key(self, tree: Expression) -> Expression:
        """What ORDER BY names: an output by number or name, else any expression."""
        number = ordinal(self.ctx, tree, self.outputs)
        if number is not None:
            return number
        if isinstance(tree, exp.Column) and not tree.table and tree.name.lower() in self.aliases:
            return self.aliases[tree.name.lower()]
        return self._bound(tree)

    def group(self) -> None:
        """GROUP BY, aggregates and HAVING."""
        clause, having = self.node.args.get("group"), self.node.args.get("having")
        conditions = list(conjuncts(self._condition(having.this))) if having is not None else []
        mentioned = [*self.outputs, *conditions, *self.order, *self.qualify]
        if clause is None and having is None and not any(map(stages.has_aggregate, mentioned)):
            return
        grouping = self._grouping(clause)
        valued = self._attach_inside_keys(grouping.keys)
        mentioned = self._attach_inside_aggregates(mentioned)
        if self.session in grouping.keys:
            grouping, mentioned, valued = self._in_sessions(grouping, mentioned, valued)
        alias = self.ctx.alias("groups")
        keys, aggregates = stages.Stage(alias, "key"), stages.Stage(alias, "agg")
        for key in grouping.keys:
            keys.name(key)
        ties = stages.Stage(alias, "tie")
        for tie in self.ties:
            if grouping.sets is not None or tie not in keys.computed:
                ties.name(tie)
        over = [stages.without_aggregates(e, (keys, ties), aggregates) for e in mentioned]
        items = GroupedItems(
            self._computed(keys, valued), self._computed(ties, {}), self._in_fixed_order(self._computed(aggregates, {}))
        )
        domain = self.scope.outer.domain if self.scope.outer is not None else None
        self.plan = aggregated(self.ctx, self.plan, (keys, aggregates), items, grouping, domain)
        self.ties = [(ties if t in ties.computed else keys).name(t) for t in self.ties]
        self.subqueries.forget_columns()
        self._require_grouped(over)
        self._redistribute(over, len(conditions))

    def _require_grouped(self, over: list[Expression]) -> None:
        """Refuse columns that are neither keys nor inside an aggregate, should the analyzer let them pass."""
        known = {f.ref for f in self.plan.fields}
        left = next((r for e in over for r in refs(e) if r not in known), None)
        if left is not None:
            reason = f"the column {left[1]} is neither grouped by nor inside an aggregate"
            raise InvalidExpression(self.ctx.place(self.node), reason=reason)

    def _in_sessions(
        self, grouping: Grouping, mentioned: list[Expression], valued: dict[Expression, Expression]
    ) -> tuple[Grouping, list[Expression], dict[Expression, Expression]]:
        """Put the rows of each group into sessions; what is grouped by and mentioned is over these rows."""
        span = self.session
        assert span is not None
        if grouping.sets is not None:
            raise self.ctx.unsupported("session_window() in several grouping sets", self.node)
        others = [k for k in (*grouping.keys, *self.ties) if k != span]
        computed = [valued.get(k, k) for k in others]
        types = self.ctx.types(computed, self.plan.fields, self.node)
        rows = sessions(self.ctx, self.plan, span, list(zip(computed, types, strict=True)))
        self.plan, moved = rows.plan, rows.moved
        self.ties = list(map(moved, self.ties))
        keys = list(map(moved, grouping.keys))
        return Grouping(keys), list(map(moved, mentioned)), {moved(k): moved(v) for k, v in valued.items()}

    def _computed(self, stage: stages.Stage, valued: Mapping[Expression, Expression]) -> list[Item]:
        """What a stage computes, with types; ``valued`` are expressions whose subqueries have columns by now."""
        known = {e: grouping_type(e) for e in stage.computed}
        untyped = [e for e, type in known.items() if type is None]
        types = self.ctx.types([valued.get(e, e) for e in untyped], self.plan.fields, self.node)
        known.update(zip(untyped, types, strict=True))
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
            calls = (n for n in tree.walk() if stages.is_aggregate_call(n) and grouping_type(n) is None)
            for call in [n for n in calls if self.subqueries.among(n)]:
                self.plan, value = self.subqueries.valued(self.plan, call)
                call.replace(value)
            inner: Expression = tree.this
            out.append(inner.pop())
        return out

    def _redistribute(self, over: list[Expression], conditions: int) -> None:
        """Take the rewritten expressions back; HAVING becomes a filter."""
        first, last = len(self.outputs), len(self.outputs) + conditions
        for condition in over[first:last]:
            self._filter(condition)
        ordered = last + len(self.order)
        self.outputs, self.order, self.qualify = over[:first], over[last:ordered], over[ordered:]

    def _grouping(self, clause: exp.Group | None) -> Grouping:
        """The expressions to group by, and in which sets."""
        if clause is None:
            return Grouping([])
        if clause.args.get("all"):
            return Grouping([e for e in self.outputs if not stages.has_aggregate(e)])
        keys = {tree: self._group_key(tree) for tree in listed(clause)}
        sets = grouping_sets(clause)
        return Grouping(
            list(dict.fromkeys(keys.values())), None if sets is None else [[keys[e] for e in trees] for trees in sets]
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
        self._place_rows()
        mentioned = [*self.outputs, *self.order, *self.qualify]
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
            self._filter(condition)

    def _place_rows(self) -> None:
        """Number the rows below windows that pick a row of a frame of values."""
        groups = (self.outputs, self.order, self.qualify)
        for group in groups:
            group[:] = [checked_frames(self.ctx, e) for e in group]
        windows = [w for group in groups for e in group for w in e.find_all(exp.Window) if needs_places(w)]
        if not windows:
            return
        stage = stages.Stage(self.ctx.alias("places"), "n")
        numbers = {w: stage.name(place(w)) for w in windows}
        fields = self.plan.fields
        items = [
            Item(n, "int", stages.settled(stages.partitioned(w, self.ties), fields)) for w, n in stage.computed.items()
        ]
        self.plan = Window(self.plan, stage.alias, tuple(items))
        for group in groups:
            group[:] = [stages.replaced(e, {w: by_place(w, n) for w, n in numbers.items()}) for e in group]

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
        passed = [Item(f"{f.alias}.{f.name}", f.type, f.expression) for f in self.plan.fields]
        new = [Item(n, t, e) for (e, n), t in zip(stage.computed.items(), types, strict=True)]
        by = {f.ref: column(stage.alias, f"{f.alias}.{f.name}") for f in self.plan.fields}
        self.plan = Project(self.plan, stage.alias, (*passed, *new))

        def moved(e: Expression) -> Expression:
            return substitute(stages.with_computed(e, stage), by)

        groups = (self.outputs, self.order, self.qualify, self.ties)
        self.outputs, self.order, self.qualify, self.ties = (list(map(moved, es)) for es in groups)

    def order_items(self, out: list[Item]) -> HiddenOrder:
        """The order over the output, with columns of its own for what the output does not have."""
        by_expression = {i.expression.unnest(): i.name for i in out}
        missing = [e for e in self.order if e.unnest() not in by_expression]
        types = self.ctx.types(missing, self.plan.fields, self.node)
        hidden = {e: Item(f"__o{n}", t, e) for n, (e, t) in enumerate(zip(missing, types, strict=True))}
        order = []
        for part, expression in zip(self._order_clause(), self.order, strict=True):
            placed = part.copy()
            name = by_expression.get(expression.unnest()) or hidden[expression].name
            placed.set("this", exp.column(name))
            order.append(placed)
        return HiddenOrder(list(hidden.values()), order)


class HiddenOrder(NamedTuple):
    """An ORDER BY over the output and over columns that only the order needs."""

    items: list[Item]
    order: list[exp.Ordered]


def _may_stand(stand: Field, around: Expression, inside: Expression, types: Mapping[Ref, str]) -> bool:
    """Whether a column of the subquery may stand for one of the query around that it is set equal to."""
    inner = ref(inside)
    return ref(around) == stand.ref and inner is not None and types.get(inner) == stand.type
