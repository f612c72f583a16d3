"""Queries: SELECT, set operations, VALUES, names of tables and views, common table expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import DuplicateAlias, InvalidExpression, SessionRelation, UnknownColumn, UnknownRelation, closest
from tidings.ir.expression import Expression, cast, show_name, typed_null
from tidings.ir.relation import (
    Column,
    Fixpoint,
    Item,
    Project,
    Relation,
    Scan,
    SetKind,
    SetOperation,
    Union,
    Values,
)
from tidings.ir.rename import rename
from tidings.ir.traverse import walk
from tidings.lang.datalog.compile import bind_view
from tidings.lang.sql.context import Context
from tidings.lang.sql.embedded import EmbeddedProgram, program_of
from tidings.lang.sql.names import check_reserved, in_session
from tidings.lang.sql.query.bound import Bound, distinct_rows
from tidings.lang.sql.query.expression import bind_expression
from tidings.lang.sql.query.recursive import bind_recursive, is_recursive, member_name
from tidings.lang.sql.query.scope import Outer, Scope
from tidings.lang.sql.query.select.asked_once import around, has_order, keeps_order
from tidings.lang.sql.query.select.clauses import refused_clauses
from tidings.lang.sql.query.select.order import count, first_rows, ordinal
from tidings.lang.sql.query.select.select import bind_select
from tidings.lang.sql.query.sources import bind_from
from tidings.lang.sql.query.subquery.dependent import beside_domain

NamedQueries = Mapping[str, "Cte"]


@dataclass(frozen=True, slots=True)
class Cte:
    """A common table expression, and those its own text may use."""

    tree: exp.CTE
    visible: NamedQueries
    around: Scope | None = None
    """What the text may use besides, where the WITH is that of a subquery: the query around it."""
    rows: Scan | Fixpoint | None = None
    """What it is, where it is bound already: a recursive one, or the rows of such a one inside its own text."""


@dataclass(slots=True)
class Binder:
    """Binds the queries of one text."""

    ctx: Context

    def query(self, node: Expression, name: str, ctes: NamedQueries, outer: Outer | None = None) -> Bound:
        """A query expression, whose result goes by ``name``; ``outer`` is the query around a subquery."""
        if refused := refused_clauses(node):
            raise self.ctx.unsupported(*refused)
        ctes = self.with_clause(node, ctes, outer)
        match node:
            case exp.Subquery() | exp.Values() | exp.SetOperation() if has_order(node) and (
                keeps_order(node) or not isinstance(node, exp.SetOperation)
            ):
                return bind_select(self, around(node, self.ctx.fresh("subquery")), name, ctes, outer)
            case exp.Subquery():
                return self.query(node.this, name, ctes, outer)
            case exp.Select() if (program := program_of(node)) is not None:
                return Bound.of(self._program(program, name))
            case exp.Select():
                return bind_select(self, node, name, ctes, outer)
            case exp.SetOperation():
                return self._set_operation(node, name, ctes, outer)
            case exp.Values():
                return beside_domain(self.ctx, Bound.of(self.values(node, name)), outer)
            case exp.Table() if not node.args.get("joins"):
                return beside_domain(self.ctx, self.named(node, name, ctes), outer)
            case exp.Table():
                construct = "a parenthesised join"
            case _:
                construct = f"a {node.key.upper()} statement"
        raise self.ctx.unsupported(construct, node)

    def _program(self, program: EmbeddedProgram, name: str) -> Relation:
        """The rows of a Datalog program."""
        plan = bind_view(program.text, name, self.ctx.namespace, self.ctx.analyzer, self.ctx.text, program.offset)
        return rename(plan, {f.alias: self.ctx.alias(f.alias) for n in walk(plan) for f in n.fields}.__getitem__)

    def with_clause(self, node: Expression, ctes: NamedQueries, outer: Outer | None = None) -> NamedQueries:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        names = {t.name.lower() for t in node.find_all(exp.Table)}
        here: set[str] = set()
        for cte in clause.expressions:
            check_reserved(cte.alias, self.ctx.place(cte.args["alias"]))
            if cte.alias.lower() in here:
                hint = "give one of them another name"
                raise DuplicateAlias(self.ctx.place(cte.args["alias"]), hint, name=cte.alias)
            here.add(cte.alias.lower())
            if not isinstance(cte.this, exp.Query | exp.Values | exp.Table):
                article = "an" if cte.this.key[0] in "aeiou" else "a"
                hint = "run the statement by itself, before the query"
                raise self.ctx.unsupported(f"{article} {cte.this.key.upper()} statement in WITH", cte, hint)
            if outer is None and cte.alias.lower() not in names:  # then nobody else looks whether it is valid
                Binder(replace(self.ctx, used=set(self.ctx.used))).query(cte.this, cte.alias, ctes)
            recursive = clause.args.get("recursive") and is_recursive(cte)
            rows = self._recursive(cte, ctes) if recursive else None
            ctes = {**ctes, cte.alias.lower(): Cte(cte, ctes, None if outer is None else outer.around, rows)}
        return ctes

    def _recursive(self, cte: exp.CTE, ctes: NamedQueries) -> Fixpoint:
        """The rows of a common table expression that reads itself."""

        def branch(node: Expression, columns: tuple[Column, ...] | None) -> Bound:
            visible = dict(ctes)
            if columns is not None:
                visible[cte.alias.lower()] = Cte(cte, ctes, rows=Scan(member_name(cte.alias), "itself", columns))
            return self.query(node, cte.alias, visible)

        return bind_recursive(self.ctx, cte, lambda first: self.renamed(first.names, cte), branch)

    def _set_operation(self, node: exp.SetOperation, name: str, ctes: NamedQueries, outer: Outer | None) -> Bound:
        left, right = (self.query(side, name, ctes, outer) for side in (node.left, node.right))
        if node.args.get("by_name"):
            right = self._by_name(node, left.names, right)
        branches = (left.plan, right.plan)
        sides = [exp.select(*(typed_null(f.type).as_(f"c{i}") for i, f in enumerate(b.fields))) for b in branches]
        columns = self.ctx.analyze(exp.union(*sides, distinct=False), node)
        merged = tuple(Column(f.name, c.type) for f, c in zip(left.plan.fields, columns, strict=True))
        first, second = (self._widen(b, merged) for b in branches)
        distinct = bool(node.args.get("distinct"))
        plan: Relation
        if isinstance(node, exp.Union):
            plan = Union((first, second), self.ctx.alias(name), merged)
            plan = distinct_rows(self.ctx, plan, name) if distinct else plan
        else:
            kind = SetKind.EXCEPT if isinstance(node, exp.Except) else SetKind.INTERSECT
            plan = SetOperation(kind, not distinct, first, second, self.ctx.alias(name), merged)
        cut = self._cut_to_limit(node, plan, left.names, name)
        if cut is None:  # by something else than its columns: then it is a query over it
            return bind_select(self, around(node, self.ctx.fresh("subquery")), name, ctes, outer)
        return Bound(cut, left.names)

    def _by_name(self, node: exp.SetOperation, names: tuple[str, ...], right: Bound) -> Bound:
        """The right side with its columns in the order of the left one's."""
        fields = dict(zip((n.lower() for n in right.names), right.plan.fields, strict=False))
        if sorted(fields) != sorted(n.lower() for n in names) or len(fields) < len(right.names):
            reason = f"the sides of a set operation BY NAME have the columns {', '.join(names)} and "
            raise InvalidExpression(self.ctx.place(node), reason=reason + ", ".join(right.names))
        ordered = [*(fields[n.lower()] for n in names), *right.plan.fields[len(names) :]]
        items = tuple(Item(f.name, f.type, f.expression) for f in ordered)
        return Bound(Project(right.plan, self.ctx.alias("named"), items), names)

    def _cut_to_limit(
        self, node: exp.SetOperation, plan: Relation, names: tuple[str, ...], name: str
    ) -> Relation | None:
        """ORDER BY with LIMIT after a set operation; None where it is not ordered by columns."""
        limit, offset = (count(self.ctx, node.args.get(a)) for a in ("limit", "offset"))
        if limit is None and offset is None:
            return plan
        order = node.args.get("order")
        if order is None:
            raise self.ctx.unsupported("LIMIT without ORDER BY", node)
        by_name = {n.lower(): f.name for n, f in zip(names, plan.fields, strict=False)}
        parts = []
        for part in order.expressions:
            named = part.this.name.lower() if isinstance(part.this, exp.Column) else ""
            output = ordinal(self.ctx, part.this, [f.name for f in plan.fields]) or by_name.get(named)
            if output is None:
                return None
            placed = part.copy()
            placed.set("this", exp.column(output))
            parts.append(placed)
        out = [Item(f.name, f.type, f.expression) for f in plan.fields]
        ties = tuple(f.name for f in plan.fields[len(names) :])
        return first_rows(self.ctx, plan, out, parts, offset or 0, limit, name, ties)

    def _widen(self, branch: Relation, columns: tuple[Column, ...]) -> Relation:
        """Cast a union branch to the common types.

        Without it a delta that has only one of the branches would carry that branch's narrower types.
        """
        pairs = list(zip(branch.fields, columns, strict=True))
        if all(f.type == c.type for f, c in pairs):
            return branch
        items = (
            Item(c.name, c.type, f.expression if f.type == c.type else cast(f.expression, c.type)) for f, c in pairs
        )
        return Project(branch, self.ctx.alias("widened"), tuple(items))

    def values(self, node: exp.Values, name: str) -> Values:
        rows = [r.expressions if isinstance(r, exp.Tuple) else [r] for r in node.expressions]
        empty = Scope()
        cells = tuple(tuple(bind_expression(self.ctx, c, empty, {}) for c in row) for row in rows)
        if len({len(row) for row in rows}) > 1:
            raise InvalidExpression(self.ctx.place(node), reason="the rows of VALUES differ in their number of columns")
        source = node.copy()
        source.set("alias", exp.TableAlias(this=exp.to_identifier("v")))
        columns = self.ctx.analyze(exp.select("*").from_(source), node)
        names = list(self.renamed(tuple(f"col{i + 1}" for i in range(len(columns))), node))
        return Values(
            self.ctx.alias(name), tuple(Column(n, c.type) for n, c in zip(names, columns, strict=True)), cells
        )

    def from_clause(
        self, node: exp.Select, ctes: NamedQueries, outer: Outer | None
    ) -> tuple[Scope, Relation, exp.Select]:
        """The sources in scope, their join, and the analyzer's stand-in for the clause."""
        return bind_from(self, node, ctes, outer)

    def renamed(self, names: tuple[str, ...], node: Expression) -> tuple[str, ...]:
        """The columns' names after an alias that lists them, as in ``t AS x (a, b)``."""
        listed = _alias_columns(node)
        if not listed:
            return names
        if len(listed) != len(names):
            reason = f"the relation has {len(names)} columns, its alias names {len(listed)}"
            raise InvalidExpression(self.ctx.place(node.args["alias"]), reason=reason)
        for identifier in listed:
            check_reserved(identifier.name, self.ctx.place(identifier))
        return tuple(i.name for i in listed)

    def named(self, node: exp.Table, name: str, ctes: NamedQueries) -> Bound:
        """A table, a view or a common table expression by its name."""
        if not isinstance(node.this, exp.Identifier):
            if functions.function_name(node.this) == "changes":
                raise self.ctx.unsupported("CHANGES", node)
            raise self.ctx.no_table_function(node)
        at = self.ctx.place(node.this)
        cte = ctes.get(node.name.lower()) if not node.db else None
        if cte is not None and cte.rows is not None:
            return Bound.of(replace(cte.rows, alias=self.ctx.alias(name)))
        if cte is not None:
            bound = self._of_cte(cte, name)
            return Bound(bound.plan, self.renamed(bound.names, cte.tree))
        declared = self.ctx.namespace.columns(".".join(p.name for p in node.parts)) or self._of_session(node)
        if declared is None:
            known = [*self.ctx.namespace.names(), *(c.tree.alias for c in ctes.values())]
            full = ".".join(p.name for p in node.parts)
            raise UnknownRelation(at, closest(full, known), name=full)
        return Bound.of(Scan(declared[0], self.ctx.alias(name), declared[1]))

    def _of_cte(self, cte: Cte, name: str) -> Bound:
        """The query of a common table expression, where what is around its WITH is out of reach."""
        try:
            return self.query(cte.tree.this, name, cte.visible)
        except UnknownColumn as unknown:
            if cte.around is None or cte.around.locate(str(unknown.parameters["name"]).split(".")) is None:
                raise
            construct = "WITH that uses the query around, in a subquery inside"
            raise self.ctx.unsupported(construct, cte.tree) from None

    def _of_session(self, node: exp.Table) -> tuple[str, tuple[Column, ...]] | None:
        """A view or table of the user's session; refused in what is kept."""
        parts = [p.name for p in node.parts]
        name = ".".join(show_name(part) for part in parts)
        columns = self.ctx.analyzer.session_columns(name)
        if columns is not None and not self.ctx.reads_session:
            raise SessionRelation(self.ctx.place(node.this), name=".".join(parts))
        return None if columns is None else (in_session(name), columns)


def _alias_columns(node: Expression) -> list[exp.Identifier]:
    alias = node.args.get("alias")
    return list(alias.args.get("columns") or []) if alias is not None else []
