"""Subqueries in expressions, unnested.

A subquery that uses columns of the query around it is a function of their values.  Its *domain* is the relation of all
values that occur there; joined into the subquery's own FROM clause, it makes the subquery a plain relation with one
more column per value used, and the query around joins it back on those (Neumann and Kemper's dependent join, pushed
down until it vanishes).  Where the subquery itself sets such a value equal to a column of its own, that column serves,
and no domain is needed.

In the text a subquery is first replaced by a marker, a call ``__subquery_0(columns it uses…)``, so that grouping and
windows treat those columns like any others.  A marker is resolved when the plan it applies to is known:

- ``EXISTS``, ``IN`` and ``ANY`` that must hold become a semi join, ``NOT EXISTS``, ``NOT IN`` and ``ALL`` an anti join;
- everywhere else, and for scalar subqueries, the value is a column of an outer join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.errors import InvalidExpression
from tidings.ir.expression import (
    Expression,
    column,
    conjunction,
    literal,
    operand,
    read,
    refs,
    show_name,
    substitute,
    typed_null,
)
from tidings.ir.relation import (
    Aggregate,
    Column,
    Field,
    Filter,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    Scan,
    SemiJoin,
)
from tidings.ir.traverse import rebuild, walk
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.bound import Bound
from tidings.lang.sql.query.comparison import Comparison, quantified, row
from tidings.lang.sql.query.scope import Outer, Scope

if TYPE_CHECKING:
    from tidings.lang.sql.query.binder import Binder

_MARKER = "__subquery_"
_DOMAIN = "__domain_"


@dataclass(frozen=True, slots=True)
class Subquery:
    """A bound subquery: its plan ends with the columns that tie it to the query around."""

    kind: str
    plan: Relation
    domain: str
    ties: int
    type: str
    outer: Outer
    comparison: Comparison

    @property
    def tie_fields(self) -> tuple[Field, ...]:
        return self.plan.fields[len(self.plan.fields) - self.ties :]


@dataclass(slots=True)
class Subqueries:
    """The subqueries of one SELECT."""

    binder: Binder
    scope: Scope
    ctes: Mapping[str, Any]
    bound: list[Subquery] = field(init=False, default_factory=list)
    _markers: dict[Expression, Expression] = field(init=False, default_factory=dict)
    _columns: dict[Expression, Expression] = field(init=False, default_factory=dict)

    def forget_columns(self) -> None:
        """The plan is grouped from here on: columns attached so far are gone."""
        self._columns.clear()

    # from text to markers

    def lifted(self, node: exp.Select) -> exp.Select:
        """The SELECT with its subqueries bound and replaced by markers."""
        tree = node.copy()
        clauses = [a for a in ("where", "group", "having", "qualify", "order") if tree.args.get(a) is not None]
        if not any(map(self._subqueries, (*tree.expressions, *(tree.args[a] for a in clauses)))):
            return node
        tree.set("expressions", [self.marked(e) for e in tree.expressions])
        for arg in clauses:
            tree.set(arg, self.marked(tree.args[arg]))
        return tree

    def marked(self, tree: Expression) -> Expression:
        """A tree with its subqueries bound and replaced by markers; the tree itself is used up."""
        for part in self._subqueries(tree):
            marker = self._markers.get(part)
            if marker is None:
                marker = self._markers[part.copy()] = self._bind(part)
            if part is tree:
                return marker.copy()
            part.replace(marker.copy())
        return tree

    def _subqueries(self, clause: Expression) -> list[Expression]:
        """The outermost subqueries of a clause."""
        outermost: list[Expression] = []

        def go(node: Expression) -> None:
            if isinstance(node, exp.In) and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
                node.set("query", node.expressions[0].pop())
            if isinstance(node, exp.Any | exp.All) and node.find(exp.Query) is not None:
                raise self.binder.ctx.unsupported("ANY and ALL outside a comparison", node)
            if (
                (isinstance(node, exp.Exists) and isinstance(node.this, exp.Query))
                or isinstance(node, exp.Query)
                or (isinstance(node, exp.In) and node.args.get("query") is not None)
                or quantified(node) is not None
            ):
                outermost.append(node)
            else:
                for child in node.iter_expressions():
                    go(child)

        go(clause)
        return outermost

    def _bind(self, node: Expression) -> Expression:
        """Bind one subquery and leave a marker for it."""
        kind, tree, comparison, negated = "scalar", node, Comparison(exp.EQ), False
        values: list[Expression] = []
        if isinstance(node, exp.Exists):
            kind, tree = "exists", node.this
        elif isinstance(node, exp.In):
            kind, tree, values = "in", node.args["query"], row(node.this)
        elif (quantifier := quantified(node)) is not None:
            kind, tree, values = "in", quantifier.query, row(quantifier.value)
            comparison, negated = quantifier.comparison, quantifier.negated
        ctx, number = self.binder.ctx, len(self.bound)
        domain = f"{_DOMAIN}{number}"
        bound, outer = bind_dependent(self.binder, tree, f"subquery{number + 1}", self.scope, self.ctes, domain)
        if kind == "in" and len(bound.names) == 1 and isinstance(node.this.unnest(), exp.Struct):  # one struct
            values = [node.this]
        if kind == "scalar" and len(bound.names) != 1:
            raise ctx.unsupported("a subquery of several columns in an expression", node)
        if kind == "in" and len(bound.names) != len(values):
            reason = f"{len(values)} values are compared with a subquery of {len(bound.names)} columns"
            raise InvalidExpression(ctx.place(node), reason=reason)
        if len(values) > 1 and comparison.operator is not exp.EQ:
            raise ctx.unsupported("a comparison of rows with ANY or ALL other than =", node)
        type = bound.plan.fields[0].type if kind == "scalar" else "boolean"
        self.bound.append(Subquery(kind, bound.plan, domain, len(outer.stands), type, outer, comparison))
        marker = exp.Anonymous(this=f"{_MARKER}{number}", expressions=[*outer.mentioned, *(w.copy() for w in values)])
        return exp.Paren(this=exp.Not(this=marker)) if negated else marker

    def shown(self, tree: Expression) -> Expression:
        """An expression as the analyzer may see it: markers are NULLs of their types."""
        return tree.copy().transform(
            lambda n: n if (s := self._marked(n)) is None else typed_null(s.type) if s.type != "void" else exp.Null()
        )

    def _marked(self, node: Expression) -> Subquery | None:
        name = str(node.this) if isinstance(node, exp.Anonymous) else ""
        return self.bound[int(name.removeprefix(_MARKER))] if name.startswith(_MARKER) else None

    def among(self, expression: Expression) -> bool:
        """Whether an expression holds a marker."""
        return bool(self.markers(expression))

    def markers(self, expression: Expression) -> list[Expression]:
        return [n for n in expression.walk() if self._marked(n) is not None]

    # from markers to joins

    def filtered(self, plan: Relation, condition: Expression) -> Relation:
        """The rows of a plan for which a condition with subqueries is true."""
        node, negated = condition.unnest(), False
        while isinstance(node, exp.Not):
            node, negated = node.this.unnest(), not negated
        subquery = self._marked(node)
        if subquery is None or subquery.kind == "scalar":
            plan, value = self.valued(plan, condition)
            return Filter(plan, (value,))
        arguments = list(node.expressions)
        lifted = _without_domain(subquery, arguments)
        if lifted is not None:
            inner, conditions, items = lifted
        else:
            inner = self._resolved(subquery, plan, arguments)
            conditions, items = self._tied(subquery, arguments), [f.expression for f in inner.fields]
        if subquery.kind == "in":
            compared = subquery.comparison.may_hold if negated else subquery.comparison.holds
            conditions += compared(arguments[subquery.ties :], items)
        return SemiJoin(plan, inner, tuple(conditions), negated)

    def valued(self, plan: Relation, expression: Expression) -> tuple[Relation, Expression]:
        """The plan with a column for every subquery of an expression, and the expression over them."""
        tree = exp.Paren(this=expression.copy())
        for node in [n for n in tree.walk() if self._marked(n) is not None]:
            subquery, marker = self._marked(node), node.copy()
            assert subquery is not None
            if marker not in self._columns:
                plan, self._columns[marker] = self._value(subquery, plan, list(marker.expressions))
            node.replace(exp.Paren(this=self._columns[marker].copy()))
        result: Expression = tree.this
        return plan, result.pop()

    def _value(self, subquery: Subquery, plan: Relation, arguments: list[Expression]) -> tuple[Relation, Expression]:
        inner = self._resolved(subquery, plan, arguments)
        tied = self._tied(subquery, arguments)
        match subquery.kind:
            case "scalar":
                return self._scalar(subquery, plan, inner, tied)
            case "exists":
                plan, counted = self._counted(subquery, plan, inner, tied)
                return plan, read(f"COALESCE({counted}.n, 0) > 0")
            case _ if subquery.comparison.operator is exp.EQ and len(arguments) == subquery.ties + 1:
                return self._in(subquery, plan, inner, tied, arguments[-1])
            case _:
                return self._compared(subquery, plan, inner, arguments)

    def _scalar(
        self, subquery: Subquery, plan: Relation, inner: Relation, tied: list[Expression]
    ) -> tuple[Relation, Expression]:
        """The only value; none is NULL, or what an aggregate says of no rows."""
        value, ties = inner.fields[0], subquery.tie_fields
        if not subquery.outer.total:
            alias = self.binder.ctx.alias("only")
            several = "RAISE_ERROR('a scalar subquery has more than one row')"
            of = f"{show_name(value.alias)}.{show_name(value.name)}"
            only = read(f"CASE WHEN COUNT(*) > 1 THEN CAST({several} AS {value.type}) ELSE MAX({of}) END")
            keys = tuple(Item(f.name, f.type, f.expression) for f in ties)
            inner = Aggregate(inner, alias, keys, (Item("value", value.type, only),))
            value, ties = inner.fields[-1], inner.fields[:-1]
            tied = [_same(c.left, t.expression) for c, t in zip(tied, ties, strict=True)]  # type: ignore[attr-defined]
        if not tied:
            return Join((plan, inner), ()), value.expression
        alias = self.binder.ctx.alias("value")
        there = Item("there", "boolean", exp.true())
        items = tuple(Item(f.name, f.type, f.expression) for f in inner.fields)
        known = Project(inner, alias, (*items, there))
        again = [_same(c.left, column(alias, t.name)) for c, t in zip(tied, ties, strict=True)]  # type: ignore[attr-defined]
        result: Expression = column(alias, value.name)
        default = next(iter(subquery.outer.defaults), None)
        if default is not None:
            missing = exp.Is(this=column(alias, "there"), expression=exp.Null())
            result = exp.If(this=missing, true=default.copy(), false=result)
        return OuterJoin(plan, known, tuple(again)), result

    def _counted(
        self, subquery: Subquery, plan: Relation, inner: Relation, tied: list[Expression], extra: tuple[Item, ...] = ()
    ) -> tuple[Relation, str]:
        """The plan with the number of the subquery's rows, and more about them."""
        alias = self.binder.ctx.alias("counted")
        keys = tuple(Item(f.name, f.type, f.expression) for f in subquery.tie_fields)
        total = Item("n", "bigint", exp.Count(this=exp.Star(), big_int=True))
        groups = Aggregate(inner, alias, keys, (total, *extra))
        if not keys:
            return Join((plan, groups), ()), alias
        again = [_same(c.left, column(alias, k.name)) for c, k in zip(tied, keys, strict=True)]  # type: ignore[attr-defined]
        return OuterJoin(plan, groups, tuple(again)), alias

    def _in(
        self, subquery: Subquery, plan: Relation, inner: Relation, tied: list[Expression], tested: Expression
    ) -> tuple[Relation, Expression]:
        """``x IN (…)`` as a value: true for a match, unknown where a NULL leaves it open, false else."""
        item = inner.fields[0]
        of = f"{show_name(item.alias)}.{show_name(item.name)}"
        nulls = Item("nulls", "bigint", read(f"COUNT(CASE WHEN {of} IS NULL THEN 1 END)"))
        plan, counted = self._counted(subquery, plan, inner, tied, (nulls,))
        alias = self.binder.ctx.alias("matched")
        keys = tuple(Item(f.name, f.type, f.expression) for f in (item, *subquery.tie_fields))
        distinct = Aggregate(inner, f"{alias}_rows", keys, ())
        there = Item("there", "boolean", exp.true())
        known = Project(distinct, alias, (*(Item(f.name, f.type, f.expression) for f in distinct.fields), there))
        again: list[Expression] = [
            _same(c.left, column(alias, k.name))  # type: ignore[attr-defined]
            for c, k in zip(tied, keys[1:], strict=True)
        ]
        match = exp.EQ(this=operand(tested), expression=column(alias, item.name))
        plan = OuterJoin(plan, known, (*again, match))
        text = f"CASE WHEN {alias}.there THEN TRUE WHEN COALESCE({counted}.n, 0) = 0 THEN FALSE"
        value = read(f"{text} WHEN NULL OR {counted}.nulls > 0 THEN NULL ELSE FALSE END")
        open_ = value.args["ifs"][2].this
        open_.set("this", exp.Is(this=operand(tested), expression=exp.Null()))
        return plan, value

    def _compared(
        self, subquery: Subquery, plan: Relation, inner: Relation, arguments: list[Expression]
    ) -> tuple[Relation, Expression]:
        """Any other comparison as a value: for all values that occur, how many items meet it, and may meet it."""
        ctx = self.binder.ctx
        tested = arguments[subquery.ties :]
        types = [*(f.type for f in subquery.tie_fields), *ctx.types(tested, plan.fields, tested[0])]
        items = tuple(Item(f"v{n}", t, a) for n, (t, a) in enumerate(zip(types, arguments, strict=True)))
        values = Project(plan, ctx.alias("around"), items)
        occurring = Aggregate(values, ctx.alias("occurring"), tuple(map(_as_item, values.fields)), ())
        occurring_values = [f.expression for f in occurring.fields]
        compared = [f.expression for f in inner.fields]
        maybe = subquery.comparison.may_hold(occurring_values[subquery.ties :], compared)
        tied = [_same(o, f.expression) for o, f in zip(occurring_values, subquery.tie_fields, strict=False)]
        meets = conjunction(subquery.comparison.holds(occurring_values[subquery.ties :], compared))
        met = exp.Count(this=exp.Case(ifs=[exp.If(this=meets, true=literal(1))]), big_int=True)
        keys = tuple(map(_as_item, occurring.fields))
        counted = Aggregate(
            Join((occurring, inner), (*tied, *maybe)), ctx.alias("compared"), keys, (Item("n", "bigint", met),)
        )
        again = tuple(_same(a, column(counted.alias, k.name)) for a, k in zip(arguments, keys, strict=True))
        value = read(f"CASE WHEN {counted.alias}.n > 0 THEN TRUE WHEN {counted.alias}.n = 0 THEN NULL ELSE FALSE END")
        return OuterJoin(plan, counted, again), value

    def _resolved(self, subquery: Subquery, plan: Relation, arguments: list[Expression]) -> Relation:
        """The subquery's plan with the domain it needs, taken from the plan around."""
        return with_domain(self.binder.ctx, subquery.plan, subquery.domain, plan, arguments)

    def _tied(self, subquery: Subquery, arguments: list[Expression]) -> list[Expression]:
        return [_same(a, f.expression) for a, f in zip(arguments, subquery.tie_fields, strict=False)]


def _without_domain(
    subquery: Subquery, arguments: list[Expression]
) -> tuple[Relation, list[Expression], list[Expression]] | None:
    """A subquery whose own WHERE compares with the query around: its rows, those conditions, and its items.

    ``P ⋉_{d} π(σ_c(R × D)) = P ⋉_{c with P for D} R`` if D occurs nowhere else: no domain is needed.
    """
    match subquery.plan:
        case Project(input=Filter(input=Join(inputs=(rows, Scan() as domain), conditions=()), conditions=conditions)):
            pass
        case _:
            return None
    elsewhere = (n for n in walk(rows) if isinstance(n, Scan) and n.relation == subquery.domain)
    if domain.relation != subquery.domain or next(elsewhere, None) is not None:
        return None
    around = dict(zip((f.ref for f in domain.fields), arguments, strict=False))
    alone = tuple(c for c in conditions if not any(r in around for r in refs(c)))
    both = [substitute(c, around) for c in conditions if c not in alone]
    items = [substitute(i.expression, around) for i in subquery.plan.items]
    return (Filter(rows, alone) if alone else rows), both, items


def bind_dependent(
    binder: Binder, tree: Expression, name: str, scope: Scope, ctes: Mapping[str, Any], domain: str
) -> tuple[Bound, Outer]:
    """Bind a query inside another.

    Twice where it uses the query around it: to learn what, then with the domain of that.
    """
    ctx = binder.ctx
    taken = set(ctx.used)
    outer = Outer(scope)
    bound = binder.query(tree, name, ctes, outer)
    if not outer.used:
        return bound, outer
    ctx.used.clear()
    ctx.used.update(taken)
    alias = ctx.alias("domain")
    fields = {r: Field(alias, f"d{n}", f.type) for n, (r, (f, _)) in enumerate(outer.used.items())}
    scan = Scan(domain, alias, tuple(Column(f.name, f.type) for f in fields.values()))
    outer = Outer(scope, outer.used, fields, scan)
    return binder.query(tree, name, ctes, outer), outer


def with_domain(
    ctx: Context, inner: Relation, domain: str, plan: Relation, arguments: Sequence[Expression]
) -> Relation:
    """A dependent plan with its domain: the values of the arguments that occur in the plan around."""

    def with_values(node: Relation) -> Relation:
        if not isinstance(node, Scan) or node.relation != domain:
            return node
        items = (Item(c.name, c.type, e) for c, e in zip(node.columns, arguments, strict=False))
        values = Project(plan, ctx.alias("around"), tuple(items))
        return Aggregate(values, node.alias, tuple(map(_as_item, values.fields)), ())

    return rebuild(inner, with_values)


def _as_item(field: Field) -> Item:
    return Item(field.name, field.type, field.expression)


def _same(around: Expression, inside: Expression) -> Expression:
    return exp.NullSafeEQ(this=operand(around), expression=operand(inside))
