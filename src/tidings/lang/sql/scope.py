"""Name resolution inside one SELECT: what a name in it may refer to.

Names are compared without regard to case.  A dotted name is read as Spark reads it: as ``source.column.fields…``
if the first part names a source that has such a column, else as ``column.fields…``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tidings.errors import AmbiguousColumn, Place, UnknownColumn, UnknownField, UnknownRelation, closest
from tidings.ir import types
from tidings.ir.expression import Expression, show_name
from tidings.ir.relation import Field, Relation


@dataclass(frozen=True, slots=True)
class Source:
    """One relation of a FROM clause: the name it goes by, and its columns with the names users see."""

    name: str
    relation: Relation
    columns: tuple[tuple[str, Field], ...]


@dataclass(slots=True)
class Scope:
    """The sources seen so far, and the columns an unqualified ``*`` stands for, in its order."""

    sources: list[Source] = field(default_factory=list)
    visible: list[tuple[str, Field]] = field(default_factory=list)

    def add(self, source: Source, merged: frozenset[str] = frozenset()) -> None:
        """Bring a source in.  Columns named in ``merged`` (by USING or NATURAL) are shown once, first."""
        first = [(n, f) for n, f in self.visible if n.lower() in merged]
        rest = [(n, f) for n, f in self.visible if n.lower() not in merged]
        self.sources.append(source)
        self.visible = first + rest + [(n, f) for n, f in source.columns if n.lower() not in merged]

    def source(self, name: str) -> Source | None:
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
        return [(n, _access(struct, [n], place)) for n, _ in types.fields(struct.type)]

    def resolve(self, parts: list[str], place: Place | None) -> Expression:
        """The bound expression a dotted name stands for."""
        found = self.find(parts, place)
        if found is None:
            hint = closest(parts[-1], [n for n, _ in self.visible]) or "there is no FROM clause"
            raise UnknownColumn(place, hint, name=".".join(map(show_name, parts)))
        return found

    def find(self, parts: list[str], place: Place | None) -> Expression | None:
        """Like :meth:`resolve`, but None where nothing fits."""
        source = self.source(parts[0]) if len(parts) > 1 else None
        if source is not None:
            column = self._pick(parts[1], source.columns, place)
            if column is not None:
                return _access(column, parts[2:], place)
        column = self._pick(parts[0], self.visible, place)
        return None if column is None else _access(column, parts[1:], place)

    def _pick(
        self, name: str, columns: list[tuple[str, Field]] | tuple[tuple[str, Field], ...], place: Place | None
    ) -> Field | None:
        fitting = [f for n, f in columns if n.lower() == name.lower()]
        if len(fitting) > 1:
            owners = [s.name for f in fitting for s in self.sources if f in [c for _, c in s.columns]]
            candidates = ", ".join(f"{show_name(o)}.{show_name(name)}" for o in owners)
            raise AmbiguousColumn(place, name=show_name(name), candidates=candidates)
        return fitting[0] if fitting else None


def _access(column: Field, path: list[str], place: Place | None) -> Expression:
    """A column, or a field inside it."""
    expression, type = column.expression, column.type
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
