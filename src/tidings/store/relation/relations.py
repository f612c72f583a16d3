"""What a database holds: its tables and views, by name, without regard to case."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.analysis.influents import reads
from tidings.errors import DependentObjects, DuplicateRelation, NotATable, UnknownEvent, UnknownRelation, closest
from tidings.errors.base import Place
from tidings.ir.fragments import FragmentScheme
from tidings.ir.relation import Column, Relation
from tidings.store.relation.constraints import NONE, Constraints
from tidings.store.relation.table import Table
from tidings.store.relation.view import GROUPS, StoredView, View


@dataclass(slots=True)
class Relations:
    """Tables and views; see :class:`tidings.lang.sql.context.Namespace` for what the binder asks of it."""

    _tables: dict[str, Table] = field(default_factory=dict)
    _views: dict[str, View | StoredView] = field(default_factory=dict)
    system_tables: dict[str, tuple[Column, ...]] = field(default_factory=dict)
    """Tables that show what the database knows of itself; queries may read them, views may not."""
    system_rows: Callable[[str], pa.Table] | None = None
    """Has the rows of these, as changes that insert them."""

    def names(self) -> list[str]:
        return [t.name for t in self._tables.values()] + [v.name for v in self._views.values()]

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        known = self.find(relation)
        if known is None and relation.lower() in self.system_tables:
            return relation.lower(), self.system_tables[relation.lower()]
        return None if known is None else (known.name, known.columns)

    def find(self, name: str) -> Table | View | StoredView | None:
        return self._tables.get(name.lower()) or self._views.get(name.lower())

    def table(self, name: str) -> Table:
        """The table of this name, or a refusal."""
        table = self._tables.get(name.lower())
        if table is None and (view := self._views.get(name.lower())) is not None:
            raise NotATable(name=view.name)
        if table is None:
            raise UnknownRelation(None, closest(name, [t.name for t in self._tables.values()]), name=name)
        return table

    def event(self, name: str, place: Place | None = None) -> Table:
        """The event of this name, or a refusal."""
        event = self._tables.get(name.lower())
        if event is not None and event.role == "event":
            return event
        hint = closest(name, [t.name for t in self._tables.values() if t.role == "event"])
        raise UnknownEvent(place, hint if hint and hint.startswith("did") else None, name=name)

    def rows(self, name: str) -> Table:
        """The rows of a table or stored view, or of a grouping stored for one."""
        table, view = self._tables.get(name.lower()), self._views.get(name.lower())
        if table is not None:
            return table
        if isinstance(view, StoredView):
            return view.rows
        owner = self._views.get(name.lower().rpartition(GROUPS)[0])
        if isinstance(owner, StoredView) and name in owner.tables:
            return owner.tables[name]
        grouping = next((v.tables[name] for v in self.stored() if name in v.tables), None)
        return self.table(name) if grouping is None else grouping

    @property
    def count(self) -> int:
        """How many tables and views there are."""
        return len(self._tables) + len(self._views)

    def stored(self) -> list[StoredView]:
        """The stored views, each after those it reads."""
        return [v for v in self._views.values() if isinstance(v, StoredView)]

    def views(self) -> list[View | StoredView]:
        """All views, each after those it reads."""
        return list(self._views.values())

    def unstored(self) -> list[View]:
        """The views that are not stored, each after those it reads."""
        return [v for v in self._views.values() if isinstance(v, View)]

    def definitions(
        self, since: int | None = None, until: int = 0, names: Collection[str] | None = None
    ) -> dict[str, Relation]:
        """The plans of all views by name; stored ones only if their rows do not reach from one instant to another.

        With ``names`` those of some relations only.
        """
        views: Iterable[View | StoredView] = self._views.values()
        if names is not None:
            views = [view for name in names if (view := self._views.get(name.lower())) is not None]
        if since is None:
            return {v.name: v.plan for v in views}
        return {v.name: v.plan for v in views if not (isinstance(v, StoredView) and v.reaches(since, until))}

    def fragments(self, name: str) -> FragmentScheme | None:
        """What a table is fragmented by, if it is."""
        view = self._views.get(name.lower())
        return view.fragments if isinstance(view, View) else None

    def fragmented(self) -> dict[str, FragmentScheme]:
        """What each fragmented table is fragmented by, by their names."""
        views = (view for view in self._views.values() if isinstance(view, View))
        return {view.name: view.fragments for view in views if view.fragments is not None}

    def constraints(self, name: str) -> Constraints:
        """The constraints of a table; those of a fragmented one are what its fragments have in common."""
        table, scheme = self._tables.get(name.lower()), self.fragments(name)
        if table is not None or scheme is None:
            return NONE if table is None else table.constraints
        below = [self.table(fragment).constraints for fragment in scheme.tables()]
        return Constraints(
            key=scheme.key,
            required=tuple(dict.fromkeys(column for c in below for column in c.required)),
            defaults=tuple(dict(default for c in below for default in c.defaults).items()),
            append_only=all(c.append_only for c in below),
        )

    def fragment_of(self, name: str) -> str | None:
        """The fragmented table that a table is a fragment of, if it is of one."""
        return next((whole for whole, scheme in self.fragmented().items() if name in scheme.tables()), None)

    def primary_keys(self) -> dict[str, tuple[str, ...]]:
        """The columns of the primary key of each table, by name; none for a table without one."""
        return {table.name: table.constraints.key for table in self._tables.values()}

    def add(self, relation: Table | View | StoredView) -> None:
        self.check_free(relation.name)
        if isinstance(relation, Table):
            self._tables[relation.name.lower()] = relation
        else:
            self._views[relation.name.lower()] = relation

    def check_free(self, name: str) -> None:
        if self.find(name) is not None:
            raise DuplicateRelation(name=name)

    def drop(self, name: str, kind: str) -> Table | View | StoredView:
        """Remove a table or view nobody reads."""
        relation = self.droppable(name, kind)
        self.remove(relation)
        return relation

    def clear(self) -> None:
        """Remove all relations."""
        self._tables.clear()
        self._views.clear()

    def copy(self) -> Relations:
        """The same relations, to try out a definition."""
        return Relations(dict(self._tables), dict(self._views), self.system_tables)

    def replace(self, views: list[View | StoredView]) -> None:
        """Put views in the place of those of the same names, each after those it reads."""
        for view in views:
            self._views[view.name.lower()] = view
        ordered: dict[str, View | StoredView] = {}

        def place(view: View | StoredView) -> None:
            for below in sorted(reads(view.plan)):
                if below.lower() in self._views and below.lower() not in ordered:
                    place(self._views[below.lower()])
            ordered.setdefault(view.name.lower(), view)

        for view in self._views.values():
            place(view)
        self._views = ordered

    def readers(self, name: str) -> list[View | StoredView]:
        """The views that read a relation, directly or through others, each after those it reads."""
        readers: dict[str, View | StoredView] = {}
        for view in self._views.values():
            if reads(view.plan) & {name, *(v.name for v in readers.values())}:
                readers[view.name] = view
        return list(readers.values())

    def below(self, plan: Relation) -> set[str]:
        """The tables and views a plan reads, directly or through others, and the clock if it reads that."""
        names: set[str] = set()
        unvisited = list(reads(plan))
        while unvisited:
            name = unvisited.pop()
            if name not in names:
                names.add(name)
                view = self._views.get(name.lower())
                unvisited += reads(view.plan) if view is not None else []
        return names

    def remove(self, relation: Table | View | StoredView) -> None:
        self._tables.pop(relation.name.lower(), None)
        self._views.pop(relation.name.lower(), None)

    def droppable(self, name: str, kind: str) -> Table | View | StoredView:
        """The table or view of a name, if nobody reads it."""
        same_kind: Mapping[str, Table | View | StoredView] = self._tables if kind == "TABLE" else self._views
        relation = same_kind.get(name.lower())
        if relation is None:
            raise UnknownRelation(None, closest(name, [r.name for r in same_kind.values()]), name=name)
        readers = [v.name for v in self._views.values() if relation.name in reads(v.plan)]
        if readers:
            raise DependentObjects(name=relation.name, change="dropped", dependents=", ".join(sorted(readers)))
        return relation
