"""Subqueries in expressions: from text to markers, and from markers to joins.

In the text a subquery is first replaced by a marker, a call ``__subquery_0(columns it uses…)``, so that grouping and
windows treat those columns like any others.  A marker is resolved when the plan it applies to is known:

- ``EXISTS``, ``IN`` and ``ANY`` that must hold become a semi join, ``NOT EXISTS``, ``NOT IN`` and ``ALL`` an anti join;
- everywhere else, and for scalar subqueries and totals, the value is a column of an outer join.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, typed_null
from tidings.ir.relation import Filter, Relation, SemiJoin
from tidings.lang.sql.query.comparison import Comparison, quantified, row
from tidings.lang.sql.query.outer_aggregates import require_grouped
from tidings.lang.sql.query.scope import Scope
from tidings.lang.sql.query.subquery.attach import attached, resolved, ties, without_domain
from tidings.lang.sql.query.subquery.dependent import Subquery, bind_dependent
from tidings.lang.sql.query.subquery.totals import is_row_by_row

if TYPE_CHECKING:
    from tidings.lang.sql.query.binder import Binder

_MARKER = "__subquery_"
_DOMAIN = "__domain_"


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
        tree.set("expressions", [self._item(e) for e in tree.expressions])
        for arg in clauses:
            tree.set(arg, self.marked(tree.args[arg]))
        return tree

    def _item(self, item: Expression) -> Expression:
        """An item of the list with its subqueries replaced, under the name it has as it is written."""
        if isinstance(item, exp.Alias | exp.Aliases) or functions.is_generator(item) or not self._subqueries(item):
            return self.marked(item)
        written = item.sql(DIALECT, normalize_functions="lower")
        return self.marked(item).as_(written, quoted=True)

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
        self.bound.append(Subquery(kind, bound.plan, domain, len(outer.stands), type, comparison))
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
        if subquery is None or subquery.kind == "scalar" or is_row_by_row(subquery):
            plan, value = self.valued(plan, condition)
            return Filter(plan, (value,))
        require_grouped(self.binder.ctx, node)
        arguments = list(node.expressions)
        lifted = without_domain(subquery, arguments)
        if lifted is not None:
            inner, conditions, items = lifted
        else:
            inner = resolved(self.binder.ctx, subquery, plan, arguments)
            conditions, items = ties(subquery, arguments), [f.expression for f in inner.fields]
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
            require_grouped(self.binder.ctx, marker)
            if marker not in self._columns:
                plan, self._columns[marker] = attached(self.binder.ctx, subquery, plan, list(marker.expressions))
            node.replace(exp.Paren(this=self._columns[marker].copy()))
        result: Expression = tree.this
        return plan, result.pop()
