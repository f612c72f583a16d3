"""Name resolution inside one SELECT: what a name in it may refer to.

Names are compared without regard to case.  A dotted name is read as Spark reads it: as ``source.column.fields…``
if the first part names a source that has such a column, else as ``column.fields…``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from tidings.errors import AmbiguousColumn, Place, UnknownColumn, UnknownField, UnknownRelation, closest
from tidings.ir import types
from tidings.ir.expression import Expression, Ref, show_name, substitute, typed_null
from tidings.ir.relation import Field, Relation, Scan


@dataclass(frozen=True, slots=True)
class ScopeRelation:
    """One relation of a FROM clause: the name it goes by, and its columns with the names users see."""

    name: str
    relation: Relation
    columns: tuple[tuple[str, Field], ...]


@dataclass(slots=True)
class Scope:
    """The sources seen so far, and the columns an unqualified ``*`` stands for, in its order."""

    sources: list[ScopeRelation] = field(default_factory=list)
    visible: list[tuple[str, Field]] = field(default_factory=list)
    outer: Outer | None = None
    deferred: list[Expression] = field(default_factory=list)
    """Conditions of inner joins that use the query around: they wait for WHERE, where it is joined."""

    def add(self, source: ScopeRelation) -> None:
        """Add a source to those there are."""
        self.join(Scope([source], list(source.columns)))

    def join(self, other: Scope, merged: frozenset[str] = frozenset(), *, theirs: bool = False) -> None:
        """Bring in all that another scope has.

        Columns named in ``merged`` (by USING or NATURAL) are shown once, first.  They are those of the sources before
        it, or, for a right join, ``theirs``.
        """
        first = [(n, f) for n, f in self.visible if n.lower() in merged]
        if theirs:
            columns = {n.lower(): f for n, f in other.visible}
            first = [(n, columns[n.lower()]) for n, _ in first]
        rest = [(n, f) for n, f in self.visible if n.lower() not in merged]
        self.sources = [*self.sources, *other.sources]
        self.visible = first + rest + [(n, f) for n, f in other.visible if n.lower() not in merged]

    def rebase(self, new: Mapping[Ref, Field]) -> None:
        """Tell the columns in scope the names they have from now on."""
        self.sources = [
            ScopeRelation(s.name, s.relation, tuple((n, new.get(f.ref, f)) for n, f in s.columns)) for s in self.sources
        ]
        self.visible = [(n, new.get(f.ref, f)) for n, f in self.visible]
        self.deferred = [substitute(c, {r: f.expression for r, f in new.items()}) for c in self.deferred]

    def source(self, name: str) -> ScopeRelation | None:
        return next((s for s in self.sources if s.name.lower() == name.lower()), None)

    def star(self, of: str | None, place: Place | None) -> list[tuple[str, Expression]]:
        """The columns ``*`` or ``of.*`` stands for; ``of`` is a source or a struct."""
        if of is None:
            return [(n, f.expression) for n, f in self.visible]
        source = self.source(of)
        if source is not None:
            return [(n, f.expression) for n, f in source.columns]
        struct = self._pick(of, self.visible, place)
        if struct is None or not types.fields(struct.type):
            raise UnknownRelation(place, closest(of, [s.name for s in self.sources]), name=of)
        return [(n, access(struct.expression, struct, [n], place)) for n, _ in types.fields(struct.type)]

    def resolve(self, parts: list[str], place: Place | None) -> Expression:
        """The bound expression a dotted name stands for."""
        expression = self.find(parts, place)
        if expression is None:
            hint = closest(parts[-1], [n for n, _ in self.visible]) or "there is no FROM clause"
            raise UnknownColumn(place, hint, name=".".join(map(show_name, parts)))
        return expression

    def find(self, parts: list[str], place: Place | None) -> Expression | None:
        """Like :meth:`resolve`, but None where nothing fits; the queries around come last."""
        located = self.locate(parts, place)
        if located is not None:
            return access(located[0].expression, located[0], located[1], place)
        return self.outer.capture(parts, place) if self.outer is not None else None

    def locate(self, parts: list[str], place: Place | None = None) -> tuple[Field, list[str]] | None:
        """The column of this SELECT's sources a dotted name begins with, and the fields after it."""
        source = self.source(parts[0]) if len(parts) > 1 else None
        if source is not None:
            column = self._pick(parts[1], source.columns, place)
            if column is not None:
                return column, parts[2:]
        column = self._pick(parts[0], self.visible, place)
        return None if column is None else (column, parts[1:])

    def _pick(
        self, name: str, columns: list[tuple[str, Field]] | tuple[tuple[str, Field], ...], place: Place | None
    ) -> Field | None:
        fitting = [f for n, f in columns if n.lower() == name.lower()]
        if len(fitting) > 1:
            owners = [s.name for f in fitting for s in self.sources if f in [c for _, c in s.columns]]
            candidates = ", ".join(f"{show_name(o)}.{show_name(name)}" for o in owners)
            raise AmbiguousColumn(place, name=show_name(name), candidates=candidates)
        return fitting[0] if fitting else None


class Used(NamedTuple):
    """A value of the query around that a subquery uses: a column, or an aggregate over the rows there."""

    field: Field
    written: Expression
    """The value, as it may be written in the query around."""


@dataclass(slots=True)
class Outer:
    """The query around a subquery, and what the subquery uses of it.

    While the subquery is read for the first time, what it uses is collected and stands as NULL.  When it is read again,
    a column of its own stands for each: of the *domain*, the relation of all values that occur around it, or of one of
    its sources, where the subquery sets the two equal.
    """

    scope: Scope
    used: dict[Ref, Used] = field(default_factory=dict)
    stands: dict[Ref, Field] = field(default_factory=dict)
    domain: Scan | None = None

    @property
    def around(self) -> Scope:
        """The nearest query around that has names of its own, as the queries of a WITH do not."""
        scope = self.scope
        while not scope.sources and scope.outer is not None:
            scope = scope.outer.scope
        return scope

    @property
    def mentioned(self) -> list[Expression]:
        """What the subquery uses, as it may be written in the query around."""
        return [used.written.copy() for used in self.used.values()]

    def locate(self, parts: list[str], place: Place | None) -> tuple[Field, list[str]] | None:
        located = self.scope.locate(parts, place)
        if located is None and self.scope.outer is not None:
            return self.scope.outer.locate(parts, place)
        return located

    def capture(self, parts: list[str], place: Place | None) -> Expression | None:
        """What stands inside for a column of the query around."""
        located = self.locate(parts, place)
        if located is None:
            return None
        around, path = located
        names = parts[: len(parts) - len(path)]
        self.used.setdefault(around.ref, Used(around, exp.column(names[-1], *reversed(names[:-1]), quoted=True)))
        stand = self.stands.get(around.ref)
        return access(typed_null(around.type) if stand is None else stand.expression, around, path, place)

    def shown(self, parts: list[str]) -> Expression | None:
        """A NULL of the right type, for the analyzer."""
        located = self.locate(parts, None)
        return None if located is None else access(typed_null(located[0].type), located[0], located[1], None)


def access(base: Expression, column: Field, path: list[str], place: Place | None) -> Expression:
    """A column, or a field inside it; ``base`` stands for the column."""
    expression, type = base, column.type
    for name in path:
        if type.startswith("map<"):
            expression = exp.Bracket(this=expression, expressions=[exp.Literal.string(name)])
            type = types.canonical(types.parse(type).expressions[1])
            continue
        inner = types.fields(type.removeprefix("array<").removesuffix(">") if type.startswith("array<") else type)
        match = next(((n, t) for n, t in inner if n.lower() == name.lower()), None)
        if match is None:
            hint = closest(name, [n for n, _ in inner])
            raise UnknownField(place, hint, value=show_name(column.name), type=column.type, name=show_name(name))
        expression = exp.Dot(this=expression, expression=exp.to_identifier(match[0], quoted=True))
        type = f"array<{match[1]}>" if type.startswith("array<") else match[1]
    return expression
