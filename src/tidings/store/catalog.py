"""What a database holds: its tables and views, by name, without regard to case."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.analysis.influents import reads
from tidings.errors import DependentObjects, DuplicateRelation, UnknownRelation, closest
from tidings.ir.relation import Column, Relation
from tidings.store.table import Table


@dataclass(frozen=True, slots=True)
class View:
    """A named query: its text as given and its bound plan."""

    name: str
    text: str
    plan: Relation

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(f.name, f.type) for f in self.plan.fields)


@dataclass(slots=True)
class Catalog:
    """Tables and views; see :class:`tidings.lang.sql.bind.Catalog` for what the binder asks of it."""

    _tables: dict[str, Table] = field(default_factory=dict)
    _views: dict[str, View] = field(default_factory=dict)

    def names(self) -> list[str]:
        return [t.name for t in self._tables.values()] + [v.name for v in self._views.values()]

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        found = self.find(relation)
        return None if found is None else (found.name, found.columns)

    def find(self, name: str) -> Table | View | None:
        return self._tables.get(name.lower()) or self._views.get(name.lower())

    def table(self, name: str) -> Table:
        """The table of this name, or a refusal."""
        found = self._tables.get(name.lower())
        if found is None:
            raise UnknownRelation(None, closest(name, [t.name for t in self._tables.values()]), name=name)
        return found

    def tables(self) -> list[Table]:
        return list(self._tables.values())

    def definitions(self) -> dict[str, Relation]:
        """The plans of all views by name."""
        return {v.name: v.plan for v in self._views.values()}

    def add(self, relation: Table | View) -> None:
        self.check_free(relation.name)
        if isinstance(relation, Table):
            self._tables[relation.name.lower()] = relation
        else:
            self._views[relation.name.lower()] = relation

    def check_free(self, name: str) -> None:
        if self.find(name) is not None:
            raise DuplicateRelation(name=name)

    def drop(self, name: str, kind: str) -> Table | View:
        """Remove a table or view nobody reads."""
        found: Table | View | None = (self._tables if kind == "TABLE" else self._views).get(name.lower())
        if found is None:
            raise UnknownRelation(name=name)
        readers = [v.name for v in self._views.values() if found.name in reads(v.plan)]
        if readers:
            raise DependentObjects(name=found.name, dependents=", ".join(sorted(readers)))
        self._tables.pop(name.lower(), None)
        self._views.pop(name.lower(), None)
        return found
