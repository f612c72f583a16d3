"""Subqueries in expressions, unnested.

A subquery that uses columns of the query around it is a function of their values.  Its *domain* is the relation of all
values that occur there; joined into the subquery's own FROM clause, it makes the subquery a plain relation with one
more column per value used, and the query around joins it back on those (Neumann and Kemper's dependent join, pushed
down until it vanishes).  Where the subquery itself sets such a value equal to a column of its own, that column serves,
and no domain is needed.

In the text a subquery is first replaced by a marker, a call ``__subquery_0(columns it uses…)``, so that grouping and
windows treat those columns like any others.  A marker is resolved when the plan it applies to is known:

- ``EXISTS`` and ``IN`` that must hold become a semi join, ``NOT EXISTS`` and ``NOT IN`` an anti join;
- everywhere else, and for scalar subqueries, the value is a column of an outer join.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.ir.expression import Expression, column, operand, read, show_name, typed_null
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
from tidings.ir.traverse import rebuild
from tidings.lang.sql.scope import Outer, Scope

if TYPE_CHECKING:
    from tidings.lang.sql.query import Binder

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

    @property
    def tie_fields(self) -> tuple[Field, ...]:
        return self.plan.fields[len(self.plan.fields) - self.ties :]


@dataclass(slots=True)
class Subqueries:
    """The subqueries of one SELECT."""

    binder: Binder
    scope: Scope
    ctes: Mapping[str, Any]
    found: list[Subquery] = field(default_factory=list)
    _columns: dict[Expression, Expression] = field(default_factory=dict)

    def forget_columns(self) -> None:
        """The plan is grouped from here on: columns attached so far are gone."""
        self._columns.clear()

    # from text to markers

    def lifted(self, node: exp.Select) -> exp.Select:
        """The SELECT with its subqueries bound and replaced by markers."""
        clauses = [c for a in ("where", "having", "qualify", "order") if (c := node.args.get(a)) is not None]
        if not any(self._subqueries(c) for c in (*clauses, *node.expressions)):
            return node
        tree = node.copy()
        for clause in (*tree.expressions, *(tree.args.get(a) for a in ("where", "having", "qualify", "order"))):
            for part in self._subqueries(clause) if clause is not None else []:
                marker = self._bind(part)
                if part is clause:
                    tree.set("expressions", [marker if e is part else e for e in tree.expressions])
                else:
                    part.replace(marker)
        return tree

    def _subqueries(self, clause: Expression) -> list[Expression]:
        """The outermost subqueries of a clause."""
        found: list[Expression] = []

        def go(node: Expression) -> None:
            if isinstance(node, exp.Any | exp.All) and node.find(exp.Query) is not None:
                raise self.binder.ctx.unsupported("ANY and ALL with a subquery", node)
            query = node.args.get("query") if isinstance(node, exp.In) else None
            if (
                (isinstance(node, exp.Exists) and isinstance(node.this, exp.Query))
                or isinstance(node, exp.Query)
                or query is not None
            ):
                found.append(node)
            else:
                for child in node.iter_expressions():
                    go(child)

        go(clause)
        return found

    def _bind(self, node: Expression) -> Expression:
        """Bind one subquery; twice where it uses the query around it: to learn what, then with the domain of that."""
        kind, tree = "scalar", node
        if isinstance(node, exp.Exists):
            kind, tree = "exists", node.this
        elif isinstance(node, exp.In):
            kind, tree = "in", node.args["query"]
        ctx, number = self.binder.ctx, len(self.found)
        taken = set(ctx.used)
        outer = Outer(self.scope)
        bound = self.binder.query(tree, f"subquery{number + 1}", self.ctes, outer)
        domain = f"{_DOMAIN}{number}"
        if outer.used:
            ctx.used.clear()
            ctx.used.update(taken)
            alias = ctx.alias("domain")
            fields = {r: Field(alias, f"d{n}", f.type) for n, (r, (f, _)) in enumerate(outer.used.items())}
            scan = Scan(domain, alias, tuple(Column(f.name, f.type) for f in fields.values()))
            outer = Outer(self.scope, outer.used, fields, scan)
            bound = self.binder.query(tree, f"subquery{number + 1}", self.ctes, outer)
        if kind != "exists" and len(bound.names) != 1:
            raise ctx.unsupported("a subquery of several columns in an expression", node)
        type = bound.plan.fields[0].type if kind == "scalar" else "boolean"
        self.found.append(Subquery(kind, bound.plan, domain, len(outer.stands), type, outer))
        used = [exp.column(parts[-1], *reversed(parts[:-1]), quoted=True) for _, parts in outer.used.values()]
        wanted = [node.this.copy()] if isinstance(node, exp.In) else []
        return exp.Anonymous(this=f"{_MARKER}{number}", expressions=[*used, *wanted])

    def shown(self, tree: Expression) -> Expression:
        """An expression as the analyzer may see it: markers are NULLs of their types."""
        return tree.copy().transform(
            lambda n: n if (s := self._marked(n)) is None else typed_null(s.type) if s.type != "void" else exp.Null()
        )

    def _marked(self, node: Expression) -> Subquery | None:
        name = str(node.this) if isinstance(node, exp.Anonymous) else ""
        return self.found[int(name.removeprefix(_MARKER))] if name.startswith(_MARKER) else None

    def among(self, expression: Expression) -> bool:
        """Whether an expression holds a marker."""
        return any(self._marked(n) is not None for n in expression.walk())

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
        inner = self._resolved(subquery, plan, arguments)
        conditions = self._tied(subquery, arguments)
        if subquery.kind == "in":
            conditions.append(_member(arguments[-1], inner.fields[0].expression, maybe=negated))
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
            case _:
                return self._in(subquery, plan, inner, tied, arguments[-1])

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
        if subquery.outer.default is not None:
            missing = exp.Is(this=column(alias, "there"), expression=exp.Null())
            result = exp.If(this=missing, true=subquery.outer.default.copy(), false=result)
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
        self, subquery: Subquery, plan: Relation, inner: Relation, tied: list[Expression], wanted: Expression
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
        match = exp.EQ(this=operand(wanted), expression=column(alias, item.name))
        plan = OuterJoin(plan, known, (*again, match))
        text = f"CASE WHEN {alias}.there THEN TRUE WHEN COALESCE({counted}.n, 0) = 0 THEN FALSE"
        value = read(f"{text} WHEN NULL OR {counted}.nulls > 0 THEN NULL ELSE FALSE END")
        open_ = value.args["ifs"][2].this
        open_.set("this", exp.Is(this=operand(wanted), expression=exp.Null()))
        return plan, value

    def _resolved(self, subquery: Subquery, plan: Relation, arguments: list[Expression]) -> Relation:
        """The subquery's plan with the domain it needs, taken from the plan around."""

        def domain(node: Relation) -> Relation:
            if not isinstance(node, Scan) or node.relation != subquery.domain:
                return node
            items = (Item(c.name, c.type, e) for c, e in zip(node.columns, arguments, strict=False))
            values = Project(plan, self.binder.ctx.alias("around"), tuple(items))
            keys = tuple(Item(f.name, f.type, f.expression) for f in values.fields)
            return Aggregate(values, node.alias, keys, ())

        return rebuild(subquery.plan, domain)

    def _tied(self, subquery: Subquery, arguments: list[Expression]) -> list[Expression]:
        return [_same(a, f.expression) for a, f in zip(arguments, subquery.tie_fields, strict=False)]


def _same(around: Expression, inside: Expression) -> Expression:
    return exp.NullSafeEQ(this=operand(around), expression=operand(inside))


def _member(wanted: Expression, item: Expression, *, maybe: bool) -> Expression:
    """Whether an item equals the wanted; with ``maybe`` also where a NULL leaves it open, as NOT IN must assume."""
    equal = exp.EQ(this=operand(wanted), expression=operand(item))
    if not maybe:
        return equal
    unknown = (exp.Is(this=operand(e), expression=exp.Null()) for e in (wanted, item))
    return exp.Paren(this=exp.or_(equal, *unknown))
