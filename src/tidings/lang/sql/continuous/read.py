"""From the tree of a query to its standard form.

Tables in FROM and JOIN, views, subqueries in FROM and WITH are joined into one list of tables; conditions become
alternatives; UNION gives the alternatives of both sides.  The tree is one that can be bound, so only what the form
cannot say is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Protocol

from sqlglot import exp

from tidings.analysis import functions
from tidings.ir.column import Field
from tidings.ir.expression import Expression, cast, column
from tidings.ir.standard_form import Alternative, GrowingTable, Instant, OutputColumn, StandardForm, TableUse
from tidings.lang.sql.context import Context
from tidings.lang.sql.continuous.conditions import Conditions, all_of
from tidings.lang.sql.continuous.obstacle import NotInClass
from tidings.lang.sql.continuous.scope import NameScope
from tidings.lang.sql.continuous.time_terms import TimeTerms, reads_clock
from tidings.lang.sql.parse import statements

_REFUSED = {
    "group": "GROUP BY",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "laterals": "LATERAL VIEW",
    "windows": "WINDOW",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
}
"""Clauses that make a row of the answer depend on several rows, or choose among them."""


class Catalog(Protocol):
    """What is asked about relations."""

    def growing_table(self, name: str) -> GrowingTable | str | None:
        """An append-only table with a time column; why a relation is none; nothing for a view that is a query."""

    def view_query(self, name: str) -> tuple[str, tuple[str, ...]]:
        """The text of the query of a view, and the names it gives its columns, if it does."""


Definitions = Mapping[str, tuple[Expression, tuple[str, ...], "Definitions"]]
"""The queries of WITH by name, with the names of their columns and those that were defined before."""


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """A source in FROM: its name, what it may be, and how it is joined."""

    name: str
    alternatives: list[Alternative]
    kind: str = ""
    on: Expression | None = None

    def joined(self, conditions: Conditions, scope: NameScope, source: Alternative) -> list[Alternative]:
        """One of the alternatives, with what the join demands."""
        rows = [replace(source, output=())]
        return rows if self.on is None else all_of([rows, conditions.alternatives(self.on, scope)])


@dataclass(slots=True)
class Reader:
    """Reads one query."""

    catalog: Catalog
    ctx: Context
    fields: list[Field] = field(default_factory=list)
    """The columns of all tables that have been met."""

    def standard_form(self, tree: Expression, names: tuple[str, ...]) -> StandardForm:
        """The standard form of a query whose columns have names."""
        alternatives = []
        for alternative in self._query(tree, None, {}):
            if len(alternative.output) != len(names):
                raise NotInClass("its columns cannot be told apart")
            output = (OutputColumn(n, o.expression) for n, o in zip(names, alternative.output, strict=True))
            alternatives.append(replace(alternative, output=tuple(output)))
        return StandardForm(tuple(alternatives))

    def _query(self, tree: Expression, around: NameScope | None, ctes: Definitions) -> list[Alternative]:
        tree = tree.unnest()
        if tree.args.get("with_") and tree.args["with_"].args.get("recursive"):
            raise NotInClass("it is recursive")
        for cte in tree.args["with_"].expressions if tree.args.get("with_") else []:
            columns = tuple(c.name for c in cte.args["alias"].columns)
            ctes = {**ctes, cte.alias.lower(): (cte.this, columns, ctes)}
        match tree:
            case exp.Union() if tree.args.get("by_name"):
                raise NotInClass("it has UNION BY NAME")
            case exp.Union():
                self._refuse_clauses(tree)
                first, second = (self._query(side, around, ctes) for side in (tree.left, tree.right))
                return first + self._named(second, tuple(o.name for o in first[0].output))
            case exp.Select():
                self._refuse_clauses(tree)
                return list(self._select(tree, around, ctes))
            case exp.Subquery():
                return self._query(tree.this, around, ctes)
            case _:
                raise NotInClass(f"{type(tree).__name__.upper()} is not a SELECT")

    def _refuse_clauses(self, tree: Expression) -> None:
        for clause, name in _REFUSED.items():
            if tree.args.get(clause):
                raise NotInClass(f"it has {name}")
        if isinstance(distinct := tree.args.get("distinct"), exp.Distinct) and distinct.args.get("on"):
            raise NotInClass("it has DISTINCT ON")

    def _select(self, tree: exp.Select, around: NameScope | None, ctes: Definitions) -> Iterator[Alternative]:
        if tree.args.get("from_") is None:
            raise NotInClass("it reads no table")
        conditions = Conditions(TimeTerms(self._type), lambda query, scope: self._query(query, scope, ctes))
        parts, tests = self._from(tree, ctes)
        where = tree.args.get("where")
        for sources in product(*(part.alternatives for part in parts)):
            scope, terms = NameScope(around=around), [[Alternative()]]
            for part, source in zip(parts, sources, strict=True):
                scope = scope.with_source(part.name, source.output)
                terms.append(part.joined(conditions, scope, source))
            for test in tests:
                rows = [
                    row
                    for source in test.alternatives
                    for row in test.joined(conditions, scope.with_source(test.name, source.output), source)
                ]
                terms.append([Alternative(absent=tuple(rows))] if test.kind == "ANTI" else rows)
            if where is not None:
                terms.append(conditions.alternatives(where.this, scope))
            output = tuple(self._output(tree, scope))
            yield from (replace(a, output=output) for a in all_of(terms))

    def _output(self, tree: exp.Select, scope: NameScope) -> Iterator[OutputColumn]:
        for item in tree.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                if any(star.args.values()):
                    raise NotInClass("a star with exceptions", item)
                yield from scope.stars(item.table if isinstance(item, exp.Column) else None)
                continue
            expression = item.unalias()
            for node in expression.walk():
                if isinstance(node, exp.Query):
                    raise NotInClass("a subquery in what is selected", item)
                if functions.is_aggregate(node):
                    raise NotInClass("it has an aggregate", node)
                if functions.is_window(node) or functions.is_generator(node):
                    raise NotInClass("what is selected depends on several rows, or makes several", node)
            if reads_clock(expression):
                raise NotInClass("the clock is selected", item)
            yield OutputColumn(item.alias_or_name, scope.resolved(expression))

    # FROM

    def _from(self, tree: exp.Select, ctes: Definitions) -> tuple[list[JoinedSource], list[JoinedSource]]:
        """What FROM joins, and what semi and anti joins only test for."""
        first = tree.args["from_"].this
        parts, tests = [JoinedSource(*self._source(first, ctes))], []
        for join in [*(first.args.get("joins") or ()), *(tree.args.get("joins") or ())]:
            side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
            is_test = kind in ("SEMI", "ANTI") and side in ("", "LEFT")
            if (side and not is_test) or kind not in ("", "INNER", "CROSS", "SEMI", "ANTI"):
                raise NotInClass(f"it has a {' '.join(filter(None, (side, kind)))} JOIN")
            if join.args.get("using") or join.args.get("method"):
                raise NotInClass("it has a join with USING or NATURAL")
            if join.this.args.get("joins"):
                raise NotInClass("it has joins in parentheses")
            source = JoinedSource(*self._source(join.this, ctes), kind, join.args.get("on"))
            tests.append(source) if is_test else parts.append(source)
        return parts, tests

    def _source(self, node: Expression, ctes: Definitions) -> tuple[str, list[Alternative]]:
        """The name of a source and what it may be."""
        if any(node.args.get(a) for a in ("pivots", "laterals", "sample", "version", "when")):
            raise NotInClass("a source that is no table", node)
        if isinstance(node, exp.Subquery) and node.alias:
            return node.alias, self._named(self._query(node.this, None, ctes), _alias_columns(node))
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise NotInClass("a source that is no table", node)
        name, alias = node.name, node.alias_or_name
        if not node.db and name.lower() in ctes:
            query, columns, before = ctes[name.lower()]
            return alias, self._named(self._named(self._query(query, None, before), columns), _alias_columns(node))
        relation = ".".join(part.name for part in node.parts)
        table = self.catalog.growing_table(relation)
        if isinstance(table, str):
            raise NotInClass(table)
        if table is None:
            text, columns = self.catalog.view_query(relation)
            (query,) = statements(text)
            return alias, self._named(self._named(self._query(query, None, {}), columns), _alias_columns(node))
        return alias, self._named([self._table(table, alias)], _alias_columns(node))

    def _named(self, alternatives: list[Alternative], names: tuple[str, ...]) -> list[Alternative]:
        """The same with other names of columns, if there are any."""
        if not names:
            return alternatives
        return [
            replace(a, output=tuple(OutputColumn(n, o.expression) for n, o in zip(names, a.output, strict=True)))
            for a in alternatives
        ]

    def _table(self, table: GrowingTable, preferred: str) -> Alternative:
        """A table whose rows are there from the instants that its time column tells."""
        alias = self.ctx.alias(preferred)
        self.fields += (Field(alias, c.name, c.type) for c in table.columns)
        came = column(alias, table.time)
        type = next(c.type for c in table.columns if c.name == table.time)
        time: Expression = came
        if type == "bigint":
            time = exp.Anonymous(this="TIMESTAMP_MICROS", expressions=[came])
        elif type != "timestamp":
            time = cast(came, "timestamp")
        output = tuple(OutputColumn(c.name, column(alias, c.name)) for c in table.columns)
        return Alternative((TableUse(table, alias, time),), lower=(Instant(time),), output=output)

    def _type(self, expression: Expression) -> str:
        """The type of an expression of the rows of tables."""
        match expression:
            case exp.Paren():
                return self._type(expression.this)
            case exp.Column():
                types = {f.ref: f.type for f in self.fields}
                return types[(expression.table, expression.name)]
            case exp.Literal() if not expression.is_string and "." not in str(expression.this):
                return "int"
            case exp.TsOrDsAdd():
                return "date"
            case exp.Add() | exp.Sub() if isinstance(expression.expression, exp.Interval) and (
                self._type(expression.this) == "timestamp"
            ):
                return "timestamp"
            case _:
                (type,) = self.ctx.types([expression], tuple(self.fields), expression)
                return type


def _alias_columns(node: Expression) -> tuple[str, ...]:
    alias = node.args.get("alias")
    return () if alias is None else tuple(c.name for c in alias.args.get("columns") or ())
