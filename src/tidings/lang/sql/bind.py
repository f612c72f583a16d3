"""From a parsed query to the relational IR.

The binder resolves names, expands stars and turns each SELECT into ``project(filter(join(…)))``.  It knows no
types: for every SELECT it hands the analyzer the same SELECT with each source replaced by a typed empty stand-in
and takes names and types from there.  So the analyzer, Spark's own when Spark is the engine, has the last word
on what is valid, and the IR carries its types.

What cannot be maintained is refused here, with the place in the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from sqlglot import exp

from tidings.analysis import functions
from tidings.analysis.influents import reads
from tidings.errors import (
    DuplicateAlias,
    DuplicateColumn,
    InvalidExpression,
    NonDeterministic,
    Place,
    ReservedName,
    UnknownColumn,
    UnknownRelation,
    UnsupportedConstruct,
    UnsupportedType,
    closest,
)
from tidings.ir import types
from tidings.ir.expression import Expression, cast, column, conjuncts, show_name, substitute, typed_null
from tidings.ir.relation import Column, Filter, Item, Join, Project, Relation, Scan, Union, Values
from tidings.lang.sql.parse import place
from tidings.lang.sql.scope import Scope, Source


class Catalog(Protocol):
    """What the binder asks about relations: their names and columns."""

    def names(self) -> list[str]: ...

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        """The relation's name as declared and its columns, or None."""


class Analyzer(Protocol):
    """Names and types of a query over typed stand-ins; raises :class:`AnalysisFailed`."""

    def analyze(self, query: exp.Query) -> tuple[Column, ...]: ...

    def names(self, text: str, relations: Mapping[str, tuple[Column, ...]]) -> tuple[str, ...] | None:
        """The output names of a query's own text over relations, where the engine speaks Spark's SQL itself."""


class AnalysisFailed(Exception):
    """The analyzer's verdict on a query, in one sentence, with the fragment it blames."""

    def __init__(self, reason: str, fragment: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fragment = fragment


def bind(
    query: Expression, text: str, catalog: Catalog, analyzer: Analyzer, name: str = "result", own: str | None = None
) -> Relation:
    """The relational form of a query; its columns have the names and types the analyzer gives them.

    ``text`` is what places refer to, ``own`` the query's part of it.
    """
    bound = _Binder(text, catalog, analyzer).query(query, name, {})
    if own is not None and _has_unnamed_items(query):
        bound = _with_names_of(own, bound, catalog, analyzer)
    at = place(text, query)
    check_names(list(bound.names), at)
    unsupported = next((f.type for f in bound.plan.fields if not types.is_supported(f.type)), None)
    if unsupported is not None:
        raise UnsupportedType(at, type=unsupported)
    return bound.plan


def _has_unnamed_items(query: Expression) -> bool:
    """Whether the engine has to invent a name for some output column."""
    first = query.unnest()
    while isinstance(first, exp.SetOperation):
        first = first.this.unnest()
    named = exp.Alias | exp.Column | exp.Dot | exp.Star
    return isinstance(first, exp.Select) and not all(isinstance(i, named) for i in first.expressions)


def _with_names_of(own: str, bound: Bound, catalog: Catalog, analyzer: Analyzer) -> Bound:
    """Take invented names from the analysis of the text itself: they repeat it as it was written."""
    scanned = {r: catalog.columns(r) for r in reads(bound.plan)}
    names = analyzer.names(own, {r: found[1] for r, found in scanned.items() if found is not None})
    match bound.plan:
        case Project() as plan if names is not None:
            items = zip(_kept_apart(names), plan.items, strict=True)
            return Bound(replace(plan, items=tuple(Item(n, i.type, i.expression) for n, i in items)), names)
        case Union() as plan if names is not None:
            columns = zip(_kept_apart(names), plan.columns, strict=True)
            return Bound(replace(plan, columns=tuple(Column(n, c.type) for n, c in columns)), names)
        case _:
            return bound


def check_names(names: list[str], at: Place | None) -> None:
    """Refuse reserved and repeated column names."""
    seen: set[str] = set()
    for name in names:
        check_reserved(name, at)
        if name.lower() in seen:
            raise DuplicateColumn(at, name=show_name(name))
        seen.add(name.lower())


def check_reserved(name: str, at: Place | None) -> None:
    if name.startswith("__"):
        raise ReservedName(at, name=name)


class Bound(NamedTuple):
    """A plan and the names users know its columns by; unlike the plan's own, these may repeat."""

    plan: Relation
    names: tuple[str, ...]

    @staticmethod
    def of(plan: Relation) -> Bound:
        return Bound(plan, tuple(f.name for f in plan.fields))


Named = Mapping[str, "_Cte"]


@dataclass(frozen=True, slots=True)
class _Cte:
    tree: exp.CTE
    visible: Named


@dataclass(slots=True)
class _Binder:
    text: str
    catalog: Catalog
    analyzer: Analyzer
    used: set[str] = field(default_factory=set)

    # queries

    def query(self, node: Expression, name: str, ctes: Named) -> Bound:
        """A query expression, whose result goes by ``name``."""
        ctes = self._with(node, ctes)
        match node:
            case exp.Subquery() if not _refused_clauses(node):
                return self.query(node.this, name, ctes)
            case exp.Select():
                return self._select(node, name, ctes)
            case exp.Union() if not node.args.get("distinct") and not _refused_clauses(node):
                return self._union(node, name, ctes)
            case exp.Values():
                return Bound.of(self._values(node, name))
            case exp.Table() if not node.args.get("joins"):
                return self._named(node, name, ctes)
            case exp.Table():
                construct = "a parenthesised join"
            case exp.Union():
                construct = "UNION without ALL" if node.args.get("distinct") else "a clause after UNION ALL"
            case exp.SetOperation():
                construct = node.key.upper()
            case _:
                construct = f"a {node.key.upper()} statement"
        raise self._unsupported(construct, node)

    def _with(self, node: Expression, ctes: Named) -> Named:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        if clause.args.get("recursive"):
            raise self._unsupported("WITH RECURSIVE", clause)
        for cte in clause.expressions:
            check_reserved(cte.alias, place(self.text, cte.args["alias"]))
            ctes = {**ctes, cte.alias.lower(): _Cte(cte, ctes)}
        return ctes

    def _union(self, node: exp.Union, name: str, ctes: Named) -> Bound:
        if node.args.get("by_name"):
            raise self._unsupported("UNION BY NAME", node)
        left, right = self.query(node.left, name, ctes), self.query(node.right, name, ctes)
        branches = (left.plan, right.plan)
        sides = [exp.select(*(typed_null(f.type).as_(f"c{i}") for i, f in enumerate(b.fields))) for b in branches]
        columns = self._analyze(exp.union(*sides, distinct=False), node)
        merged = tuple(Column(f.name, c.type) for f, c in zip(left.plan.fields, columns, strict=True))
        return Bound(Union(tuple(self._widen(b, merged) for b in branches), self._alias(name), merged), left.names)

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
        return Project(branch, self._alias("widened"), tuple(items))

    def _values(self, node: exp.Values, name: str) -> Values:
        rows = [r.expressions if isinstance(r, exp.Tuple) else [r] for r in node.expressions]
        empty = Scope()
        cells = tuple(tuple(self._expression(c, empty, {}) for c in row) for row in rows)
        if len({len(row) for row in rows}) > 1:
            raise InvalidExpression(
                place(self.text, node), reason="the rows of VALUES differ in their number of columns"
            )
        source = node.copy()
        source.set("alias", exp.TableAlias(this=exp.to_identifier("v")))
        columns = self._analyze(exp.select("*").from_(source), node)
        names = list(self._renamed(tuple(f"col{i + 1}" for i in range(len(columns))), node))
        return Values(self._alias(name), tuple(Column(n, c.type) for n, c in zip(names, columns, strict=True)), cells)

    def _select(self, node: exp.Select, name: str, ctes: Named) -> Bound:
        if refused := _refused_clauses(node):
            raise self._unsupported(*refused)
        scope, conditions, analysed = self._from(node, ctes)
        where = node.args.get("where")
        if where is not None:
            conditions += conjuncts(self._expression(where.this, scope, {}))
            analysed = analysed.where(where.this.copy())
        items, select_list = self._items(node, scope)
        columns = self._analyze(analysed.select(*select_list), node)
        names = tuple(n or c.name for (n, _), c in zip(items, columns, strict=True))
        inputs = tuple(s.relation for s in scope.sources)
        plan: Relation
        if not inputs:
            plan = Values(self._alias("one"), (), ((),))
        elif len(inputs) == 1:
            plan = inputs[0]
        else:
            plan, conditions = Join(inputs, tuple(conditions)), []
        if conditions:
            plan = Filter(plan, tuple(conditions))
        out = (Item(n, c.type, e) for n, c, (_, e) in zip(_kept_apart(names), columns, items, strict=True))
        return Bound(Project(plan, self._alias(name), tuple(out)), names)

    # FROM

    def _from(self, node: exp.Select, ctes: Named) -> tuple[Scope, list[Expression], exp.Select]:
        """The sources in scope, the join conditions, and the analyzer's stand-in for the clause."""
        scope, conditions = Scope(), list[Expression]()
        analysed = exp.Select()
        clause = node.args.get("from_")
        if clause is None:
            return scope, conditions, analysed
        first = self._source(clause.this, ctes)
        scope.add(first)
        analysed = analysed.from_(_stand_in(first))
        for join in node.args.get("joins") or []:
            source = self._source(join.this, ctes)
            if scope.source(source.name) is not None:
                raise DuplicateAlias(place(self.text, join.this), name=show_name(source.name))
            conditions += self._join(join, source, scope)
            mirror = join.copy()
            mirror.set("this", _stand_in(source))
            analysed.append("joins", mirror)
        return scope, conditions, analysed

    def _join(self, join: exp.Join, source: Source, scope: Scope) -> list[Expression]:
        """Bring one joined source into scope; the conditions it comes with."""
        side, kind, method = (str(join.args.get(a) or "").upper() for a in ("side", "kind", "method"))
        if side or kind not in ("", "INNER", "CROSS"):
            raise self._unsupported(" ".join(w for w in (side, kind, "JOIN") if w), join)
        shared = [i.name for i in join.args.get("using") or []]
        if method == "NATURAL":
            left = {n.lower() for n, _ in scope.visible}
            shared = [n for n, _ in source.columns if n.lower() in left]
        elif method:
            raise self._unsupported(f"{method} JOIN", join)
        at = place(self.text, join)
        alone = Scope([source], list(source.columns))
        conditions = [
            exp.EQ(this=scope.resolve([n], at).copy(), expression=alone.resolve([n], at).copy()) for n in shared
        ]
        scope.add(source, frozenset(n.lower() for n in shared))
        on = join.args.get("on")
        return conditions + (list(conjuncts(self._expression(on, scope, {}))) if on is not None else [])

    def _source(self, node: Expression, ctes: Named) -> Source:
        if node.args.get("joins"):
            raise self._unsupported("a parenthesised join", node)
        if node.args.get("pivots"):
            raise self._unsupported("PIVOT and UNPIVOT", node)
        if node.args.get("sample"):
            raise self._unsupported("TABLESAMPLE", node)
        alias = node.args.get("alias")
        given = ""
        if alias is not None:
            given = alias.name
            check_reserved(given, place(self.text, alias))
        match node:
            case exp.Table():
                name = given or node.name
                bound = self._named(node, name, ctes)
            case exp.Subquery():
                name = given or self._fresh("subquery")
                bound = self.query(node.this, name, self._with(node, ctes))
            case exp.Values():
                name = given or self._fresh("values")
                bound = Bound.of(self._values(node, name))
            case exp.Lateral():
                raise self._unsupported("LATERAL", node)
            case _:
                raise self._unsupported(f"{node.key.upper()} in FROM", node)
        names = self._renamed(bound.names, node) if not isinstance(node, exp.Values) else bound.names
        return Source(name, bound.plan, tuple(zip(names, bound.plan.fields, strict=True)))

    def _renamed(self, names: tuple[str, ...], node: Expression) -> tuple[str, ...]:
        """The columns' names after an alias that lists them, as in ``t AS x (a, b)``."""
        listed = _alias_columns(node)
        if not listed:
            return names
        if len(listed) != len(names):
            reason = f"the relation has {len(names)} columns, its alias names {len(listed)}"
            raise InvalidExpression(place(self.text, node.args["alias"]), reason=reason)
        for identifier in listed:
            check_reserved(identifier.name, place(self.text, identifier))
        return tuple(i.name for i in listed)

    def _named(self, node: exp.Table, name: str, ctes: Named) -> Bound:
        """A table, a view or a common table expression by its name."""
        if not isinstance(node.this, exp.Identifier):
            raise self._unsupported("a table function", node)
        at = place(self.text, node.this)
        cte = ctes.get(node.name.lower()) if not node.db else None
        if cte is not None:
            bound = self.query(cte.tree.this, name, cte.visible)
            return Bound(bound.plan, self._renamed(bound.names, cte.tree))
        found = self.catalog.columns(".".join(p.name for p in node.parts))
        if found is None:
            known = [*self.catalog.names(), *(c.tree.alias for c in ctes.values())]
            raise UnknownRelation(at, closest(node.name, known), name=".".join(p.name for p in node.parts))
        return Bound.of(Scan(found[0], self._alias(name), found[1]))

    # SELECT list and expressions

    def _items(self, node: exp.Select, scope: Scope) -> tuple[list[tuple[str | None, Expression]], list[Expression]]:
        """Output columns as (name if the text gives one, bound expression), and the list the analyzer sees."""
        items: list[tuple[str | None, Expression]] = []
        seen: list[Expression] = []
        earlier: dict[str, Expression] = {}
        for item in node.expressions:
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
                for name, bound in self._star(item, scope):
                    items.append((name, bound))
                    seen.append(self._spelled(bound, scope).as_(name, quoted=True))
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            bound_item = self._expression(inner, scope, earlier)
            given = item.alias if isinstance(item, exp.Alias) else None
            if given is not None:
                check_reserved(given, place(self.text, item.args["alias"]))
                earlier[given.lower()] = bound_item
            elif isinstance(inner, exp.Column | exp.Dot):
                given = inner.name
            items.append((given, bound_item))
            seen.append(item.copy())
        return items, seen

    def _star(self, item: Expression, scope: Scope) -> list[tuple[str, Expression]]:
        star = item if isinstance(item, exp.Star) else item.this
        if star.args.get("replace") or star.args.get("rename"):
            raise self._unsupported("a star with REPLACE or RENAME", item)
        columns = scope.star(item.table if isinstance(item, exp.Column) else None, place(self.text, item))
        left_out = {c.name.lower(): c for c in star.args.get("except_") or []}
        for name, tree in left_out.items():
            if name not in {n.lower() for n, _ in columns}:
                raise UnknownColumn(place(self.text, tree), closest(name, [n for n, _ in columns]), name=name)
        return [(n, f) for n, f in columns if n.lower() not in left_out]

    def _spelled(self, bound: Expression, scope: Scope) -> Expression:
        """A bound expression in the names of the analyzer's stand-ins."""
        return substitute(bound, {f.ref: column(s.name, n) for s in scope.sources for n, f in s.columns}).copy()

    def _expression(self, node: Expression, scope: Scope, earlier: Mapping[str, Expression]) -> Expression:
        """Bind every column; names of earlier items of the same SELECT list serve where no column fits."""
        self._check(node)

        def bound(part: Expression) -> Expression:
            if not isinstance(part, exp.Column):
                return part
            names, at = [p.name for p in part.parts], place(self.text, part)
            if names[0].lower() in earlier and scope.find(names, at) is None:
                found = earlier[names[0].lower()]
                for name in names[1:]:
                    found = exp.Dot(this=found.copy(), expression=exp.to_identifier(name, quoted=True))
                return exp.Paren(this=found.copy())
            return scope.resolve(names, at).copy()

        return node.copy().transform(bound)

    def _check(self, node: Expression) -> None:
        """Refuse what has no meaning row by row."""
        for part in node.walk():
            if isinstance(part, exp.Query):
                raise self._unsupported("a subquery in an expression", part)
            if isinstance(part, exp.Placeholder | exp.Parameter):
                raise self._unsupported("a parameter", part)
            if isinstance(part, exp.Star) and not isinstance(part.parent, exp.AggFunc):
                raise self._unsupported("a star inside an expression", part)
            if functions.is_non_deterministic(part):
                raise NonDeterministic(
                    place(self.text, part),
                    "compute the value outside and store it in a column",
                    function=_call(part),
                )
            if functions.reads_clock(part):
                raise NonDeterministic(
                    place(self.text, part),
                    "compare with a timestamp column instead of the clock",
                    function=_call(part),
                )
            if functions.is_window(part):
                raise self._unsupported("a window function", part)
            if functions.is_aggregate(part):
                raise self._unsupported("an aggregate function", part)
            if functions.is_generator(part):
                raise self._unsupported("a function that makes rows", part)

    # helpers

    def _analyze(self, query: exp.Query, node: Expression) -> tuple[Column, ...]:
        try:
            return self.analyzer.analyze(query)
        except AnalysisFailed as failed:
            at = place(self.text, node)
            if failed.fragment and (start := self.text.find(failed.fragment, at.start if at else 0)) >= 0:
                at = Place(self.text, start, start + len(failed.fragment))
            raise InvalidExpression(at, reason=failed.reason) from None

    def _alias(self, wanted: str) -> str:
        """An alias no other node of the plan has."""
        name = self._fresh(wanted)
        self.used.add(name.lower())
        return name

    def _fresh(self, wanted: str) -> str:
        taken = (f"{wanted}_{n}" for n in range(2, len(self.used) + 3))
        return wanted if wanted.lower() not in self.used else next(n for n in taken if n.lower() not in self.used)

    def _unsupported(self, construct: str, node: Expression) -> UnsupportedConstruct:
        at = place(self.text, node) or (place(self.text, node.parent) if node.parent is not None else None)
        return UnsupportedConstruct(at, _HINTS.get(construct, _HINT), construct=construct)


_HINT = "views are built from SELECT, WHERE, inner joins, UNION ALL, VALUES, subqueries in FROM and WITH"
_HINTS = {
    "UNION without ALL": "UNION ALL keeps duplicates and is maintained row by row",
    "LIMIT": "which rows a LIMIT keeps depends on their order; filter by a column instead",
}
_CLAUSES = {
    "distinct": "SELECT DISTINCT",
    "group": "GROUP BY",
    "having": "HAVING",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "limit": "LIMIT",
    "fetch": "FETCH",
    "offset": "OFFSET",
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT and UNPIVOT",
    "sample": "TABLESAMPLE",
    "into": "SELECT INTO",
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "kind": "SELECT AS STRUCT",
}


def _refused_clauses(node: Expression) -> tuple[str, Expression] | None:
    """The first clause of a query that has no incremental form yet, and where it stands."""
    for arg, name in _CLAUSES.items():
        clause = node.args.get(arg)
        if clause:
            found = clause[0] if isinstance(clause, list) else clause
            return name, found if isinstance(found, exp.Expr) else node
    return None


def _alias_columns(node: Expression) -> list[exp.Identifier]:
    alias = node.args.get("alias")
    return list(alias.args.get("columns") or []) if alias is not None else []


def _kept_apart(names: tuple[str, ...]) -> list[str]:
    """Names for a plan's columns: those given, a repeated one with a number.

    >>> _kept_apart(("a", "b", "A"))
    ['a', 'b', 'A_2']
    """
    out: list[str] = []
    for name in names:
        taken = {n.lower() for n in out}
        numbered = (f"{name}_{n}" for n in range(2, len(names) + 2))
        out.append(name if name.lower() not in taken else next(n for n in numbered if n.lower() not in taken))
    return out


def _stand_in(source: Source) -> exp.Subquery:
    """An empty relation with the source's name, column names and types."""
    columns = [typed_null(f.type).as_(name, quoted=True) for name, f in source.columns]
    return exp.select(*columns).subquery(exp.to_identifier(source.name, quoted=True))


def _call(node: Expression) -> str:
    return f"{functions.function_name(node)}()"
