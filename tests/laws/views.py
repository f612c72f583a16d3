"""Random view texts of the supported class: SELECT, WHERE, inner joins of all kinds, UNION ALL, VALUES, WITH.

A query is written together with its output columns, so that the next view can read it.  ``size`` estimates how many
rows it has at most; joins that would grow too large are not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.laws.expressions import LITERALS, Expressions, Scope
from tests.laws.schema import KINDS, NAMES, NUMERIC, Column, quote

LARGEST = 500
"""No query is estimated to have more rows than this."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Something FROM can name: its text there, its columns, its estimated size."""

    text: str
    columns: tuple[Column, ...]
    size: float = 6
    ordered: bool = True
    """Whether the engines agree on the order of columns; they do not on that of ``*`` over USING."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query's text and what is known about its result."""

    text: str
    columns: tuple[Column, ...]
    size: float
    ordered: bool = True


@dataclass(frozen=True, slots=True)
class From:
    """A FROM clause: text, what it brings into scope, and the conditions a WHERE should add."""

    text: str
    scope: Scope
    size: float
    merged: bool
    """Whether USING or NATURAL made one column of two."""
    wheres: tuple[str, ...]


@dataclass(slots=True)
class Writer:
    """Writes queries over the relations given; ``aliases`` counts so that none repeats."""

    rng: Random
    aliases: int = field(default=0)

    def view(self, below: Sequence[Relation]) -> Query:
        """The query of a view: a SELECT, a union, or either below a WITH."""
        dice = self.rng.random()
        if dice < 0.2:
            return self.with_cte(below)
        return self.union(below) if dice < 0.4 else self.select(below)

    def with_cte(self, below: Sequence[Relation]) -> Query:
        """``WITH c AS (…) SELECT … FROM c x JOIN c y …``: a common table expression used twice."""
        inner = self.select(below, most=2, simple=True)
        name = self.rng.choice(["c", "Shared Rows"])
        names, columns = "", inner.columns
        if inner.ordered and self.rng.random() < 0.3:
            columns = tuple(self.renamed(inner.columns))
            names = f" ({', '.join(quote(c.name) for c in columns)})"
        cte = Relation(quote(name), columns, inner.size, inner.ordered)
        outer = self.select([cte, cte, cte, self.rng.choice(below)], most=2)
        return Query(
            f"WITH {quote(name)}{names} AS ({inner.text}) {outer.text}", outer.columns, outer.size, outer.ordered
        )

    def union(self, below: Sequence[Relation]) -> Query:
        """``… UNION ALL …``; numbers of unlike types meet in the same column."""
        first = self.select(below, most=2, simple=True, stars=False)
        queries = [first]
        for _ in range(self.rng.choice([1, 1, 2])):
            wanted = [self.mixed(c.kind) for c in first.columns]
            queries.append(self.select(below, most=2, simple=True, wanted=wanted))
        kinds = [max((q.columns[n].kind for q in queries), key=_width) for n in range(len(first.columns))]
        columns: list[Column] = []
        for c, kind in zip(first.columns, kinds, strict=True):
            columns.append(Column(_fitting(c.name, kind, {n.name.lower() for n in (*first.columns, *columns)}), kind))
        text = " UNION ALL ".join(self.enclosed(q) for q in queries)
        named = [f"{quote(c.name)} AS {quote(d.name)}" for c, d in zip(first.columns, columns, strict=True)]
        if tuple(columns) != first.columns:
            text = f"SELECT {', '.join(named)} FROM ({text}) AS {self.alias()}"
        return Query(text, tuple(columns), sum(q.size for q in queries))

    def mixed(self, kind: str) -> str:
        return self.rng.choice(NUMERIC) if kind in NUMERIC and self.rng.random() < 0.4 else kind

    def enclosed(self, query: Query) -> str:
        return f"({query.text})" if self.rng.random() < 0.3 else query.text

    # SELECT

    def select(
        self,
        below: Sequence[Relation],
        *,
        most: int = 3,
        simple: bool = False,
        stars: bool = True,
        wanted: Sequence[str] | None = None,
    ) -> Query:
        """One SELECT over at most ``most`` sources; ``wanted`` are the kinds of its columns."""
        source = self.from_clause(below, most, simple)
        writer = Expressions(self.rng, source.scope)
        conditions = list(source.wheres)
        if self.rng.random() < 0.25:
            conditions.append(writer.lenient())
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if wanted is None and stars and self.rng.random() < 0.2 and _distinct(source.scope.visible):
            items, columns = self.star(source)
            return Query(f"SELECT {items}{source.text}{where}", columns, source.size, not source.merged)
        items, columns = self.items(writer, wanted or self.kinds(source.scope), exact=wanted is not None)
        return Query(f"SELECT {items}{source.text}{where}", columns, source.size)

    def kinds(self, scope: Scope) -> list[str]:
        """What to select: mostly kinds that are there."""
        there = [c.kind for _, c in scope.columns] or ["int"]
        return [self.rng.choice(there if self.rng.random() < 0.8 else KINDS) for _ in range(self.rng.randint(1, 4))]

    def star(self, source: From) -> tuple[str, tuple[Column, ...]]:
        columns = [c for _, c in source.scope.visible]
        if len(columns) > 1 and self.rng.random() < 0.3:
            gone = columns.pop(self.rng.randrange(len(columns)))
            return f"* EXCEPT ({quote(gone.name)})", tuple(columns)
        return "*", tuple(columns)

    def items(self, writer: Expressions, kinds: Sequence[str], *, exact: bool) -> tuple[str, tuple[Column, ...]]:
        """A select list; later items may use the names of earlier ones."""
        columns: list[Column] = []
        texts: list[str] = []
        for number, kind in enumerate(kinds):
            taken = {c.name.lower() for c in columns}
            bare = [(a, c) for a, c in writer.scope.columns if c.kind == kind and c.name.lower() not in taken]
            if bare and not exact and self.rng.random() < 0.3:
                alias, column = self.rng.choice(bare)
                texts.append(writer.spell(alias, column, as_declared=True))
                columns.append(column)
                continue
            text = writer.of(kind)
            free = [n for n in NAMES[kind] if n.lower() not in taken]
            name = self.rng.choice(free) if free else _unused(f"{kind}_{number}", taken)
            texts.append(f"{text} AS {quote(name)}")
            columns.append(Column(name, kind))
            if not any(c.name.lower() == name.lower() for _, c in writer.scope.columns):
                writer.scope.aliases.append(Column(name, kind))
        return ", ".join(texts), tuple(columns)

    # FROM

    def from_clause(self, below: Sequence[Relation], most: int, simple: bool) -> From:
        """Sources joined by ON, USING, NATURAL, CROSS and commas, which all bind alike in Spark."""
        if not simple and self.rng.random() < 0.03:
            return From("", Scope(), 1, False, ())
        alias, first = self.source(below, simple)
        scope = Scope([(alias, c) for c in first.columns], [(alias, c) for c in first.columns])
        clause = From(f" FROM {self.aliased(first, alias)}", scope, first.size, False, ())
        for _ in range(self.rng.choice(range(most))):
            clause = self.joined(clause, *self.source(below, simple))
        return clause

    def joined(self, left: From, alias: str, relation: Relation) -> From:
        """One more source; the clause as it was if the join would be too large."""
        kind = self.rng.choice(["on", "on", "on", "using", "natural", "comma", "cross"])
        shared = _shared(left.scope.visible, relation)
        if (kind == "using" and not shared) or (kind == "natural" and not _natural(left.scope.visible, relation)):
            kind = "on"
        size = left.size * relation.size / (1 if kind == "cross" else 3)
        if size > LARGEST:
            return left
        named, own = self.aliased(relation, alias), [(alias, c) for c in relation.columns]
        columns, visible = left.scope.columns + own, left.scope.visible + own
        names = shared if kind == "natural" else self.rng.sample(shared, k=min(len(shared), self.rng.randint(1, 2)))
        wheres = left.wheres
        match kind:
            case "on":
                condition = self.linking(Scope(columns, visible), own)
                text = f" {self.rng.choice(['JOIN', 'INNER JOIN'])} {named} ON {condition}"
            case "comma":  # its condition stands in WHERE, where later joins may make bare names ambiguous
                text = f", {named}"
                wheres += (self.linking(Scope(columns), own),)
            case "cross":
                text = f" CROSS JOIN {named}"
            case "natural":
                text = f" NATURAL JOIN {named}"
            case _:
                text = f" JOIN {named} USING ({', '.join(map(quote, names))})"
        merged = kind in ("using", "natural")
        if merged:
            visible = _merge(left.scope.visible, own, names)
        return From(left.text + text, Scope(columns, visible), size, left.merged or merged, wheres)

    def source(self, below: Sequence[Relation], simple: bool) -> tuple[str, Relation]:
        """A relation to read: one below, constant rows, or a query in parentheses."""
        dice = self.rng.random()
        if dice < 0.08:
            return self.alias(), self.values()
        if dice < 0.25 and not simple:
            inner = self.union(below) if self.rng.random() < 0.3 else self.select(below, most=2, simple=True)
            return self.alias(), Relation(f"({inner.text})", inner.columns, inner.size, inner.ordered)
        return self.alias(), self.rng.choice(below)

    def alias(self) -> str:
        self.aliases += 1
        return f"{self.rng.choice('xYz')}{self.aliases}"

    def aliased(self, relation: Relation, alias: str) -> str:
        return relation.text.format(alias) if "{}" in relation.text else f"{relation.text} AS {alias}"

    def values(self) -> Relation:
        """``(VALUES …) AS v (…)``; the first row has no NULL, which would have no type."""
        kinds = [self.rng.choice(["int", "int", "dec", "str", "date", "bool"]) for _ in range(self.rng.randint(1, 2))]
        columns = [Column(NAMES[kind][n], kind) for n, kind in enumerate(kinds[:1])]
        columns += [Column(NAMES[kind][0] + "2", kind) for kind in kinds[1:]]
        rows = [[self.rng.choice(LITERALS[k]) for k in kinds]]
        for _ in range(self.rng.randint(0, 2)):
            rows.append(["NULL" if self.rng.random() < 0.2 else self.rng.choice(LITERALS[k]) for k in kinds])
        listed = ", ".join(f"({', '.join(r)})" for r in rows)
        names = ", ".join(quote(c.name) for c in columns)
        return Relation(f"(VALUES {listed}) AS {{}} ({names})", tuple(columns), len(rows))

    def linking(self, scope: Scope, own: list[tuple[str, Column]]) -> str:
        """A join condition: equalities, something else, or both."""
        writer = Expressions(self.rng, scope)
        others = [c for c in scope.columns if c not in own]
        pairs = [(a, b) for a in others for b in own if _comparable(a[1].kind, b[1].kind)]
        same = [(a, b) for a, b in pairs if a[1] == b[1]]
        parts = []
        for _ in range(self.rng.choice([0, 1, 1, 1, 1, 2]) if pairs else 0):
            a, b = self.rng.choice(same if same and self.rng.random() < 0.8 else pairs)
            sides = [writer.spell(*a), writer.spell(*b)]
            self.rng.shuffle(sides)
            parts.append(f" {self.rng.choice(['=', '=', '=', '<=>'])} ".join(sides))
        if not parts or self.rng.random() < 0.2:
            parts.append(writer.lenient(1))
        return " AND ".join(parts)

    def renamed(self, columns: Sequence[Column]) -> list[Column]:
        """Other names of the same kinds."""
        out: list[Column] = []
        for n, c in enumerate(columns):
            free = [m for m in NAMES[c.kind] if m.lower() not in {o.name.lower() for o in out}]
            out.append(Column(self.rng.choice(free) if free else f"{c.kind}_{n}", c.kind))
        return out


def _unused(name: str, taken: set[str]) -> str:
    return name if name not in taken else _unused(f"{name}_2", taken)


def _comparable(one: str, other: str) -> bool:
    return one == other or (one in NUMERIC and other in NUMERIC)


def _width(kind: str) -> int:
    return NUMERIC.index(kind) if kind in NUMERIC else 0


def _fitting(name: str, kind: str, taken: set[str]) -> str:
    """The name if it stands for this kind, else one that nothing else has."""
    known = {n.lower(): k for k, names in NAMES.items() for n in names}
    stands_for = known.get(name.lower()) or name.partition("_")[0]
    return name if stands_for == kind else _unused(f"{kind}_1", taken)


def _distinct(visible: list[tuple[str, Column]]) -> bool:
    names = [c.name.lower() for _, c in visible]
    return bool(names) and len(set(names)) == len(names)


def _shared(group: list[tuple[str, Column]], relation: Relation) -> list[str]:
    """Names both sides have, each standing for one column on the left."""
    left = [c.name.lower() for _, c in group]
    return [c.name for c in relation.columns if left.count(c.name.lower()) == 1]


def _natural(group: list[tuple[str, Column]], relation: Relation) -> bool:
    """Whether NATURAL is unambiguous and has columns to join by, without which DuckDB refuses it."""
    left = [c.name.lower() for _, c in group]
    return bool(_shared(group, relation)) and all(left.count(c.name.lower()) <= 1 for c in relation.columns)


def _merge(
    left: list[tuple[str, Column]], right: list[tuple[str, Column]], names: list[str]
) -> list[tuple[str, Column]]:
    """The columns after USING, the common ones first."""
    common = {n.lower() for n in names}
    first = [c for c in left if c[1].name.lower() in common]
    rest = [c for c in left + right if c[1].name.lower() not in common]
    return first + rest
