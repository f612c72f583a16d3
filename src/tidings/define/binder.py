"""Binds views to the relations that they read: when they are created or restored, and when one of these changes.

When a relation is altered or replaced, every view that reads it, directly or through others, is bound to what it is to
be.  If that fails for one, or would give it other columns, the change is refused with the names of all such views, and
nothing is altered.  The same goes for rules and continuous queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tidings.errors import BreaksViews, TidingsError
from tidings.ir.expression import Expression
from tidings.ir.relation import Item, Project, Relation
from tidings.ir.text import show
from tidings.lang.datalog.statements import is_stored_by_cost
from tidings.lang.sql import statement
from tidings.lang.sql.bind import bind
from tidings.rewrite.pipeline import normalise
from tidings.store.relation.relations import Relations
from tidings.store.relation.view import Refresh, StoredView, View, stored
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline

AnyView = View | StoredView

CheckChange: TypeAlias = Callable[[str, Relations], None]
"""Refuses to alter or replace a relation so, given its name and the relations with the change made."""


@dataclass(frozen=True, slots=True)
class ViewBinder:
    """Binds the views of one database."""

    storage: Storage
    timeline: Timeline
    checks: tuple[CheckChange, ...] = ()
    """Refuse what would break rules and continuous queries that depend on the relation."""

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def plan(self, query: Expression, text: str, name: str, query_text: str | None = None) -> Relation:
        """The bound plan of a view's query; places refer to the text, ``query_text`` is the query's part of it."""
        return bind(query, text, self.relations, self.storage.backend, name, query_text)

    def view(self, name: str, query: str, columns: tuple[str, ...], relations: Relations | None = None) -> View:
        """A view from the text of its query, bound to the database's relations or to others."""
        (parsed,) = statement.read(query)
        assert isinstance(parsed, statement.Query)
        among = relations or self.relations
        plan = bind(parsed.query, query, among, self.storage.backend, name, parsed.query_text)
        by_cost = is_stored_by_cost(query)
        return View(name, query, named_columns(plan, name, columns), query, columns, by_cost)

    def stored(
        self,
        view: View,
        strict: bool,
        refresh: Refresh,
        grouping_names: Mapping[str, str],
        relations: Relations | None = None,
    ) -> StoredView:
        """A view to be stored, still without rows; ``grouping_names`` are by the texts of groupings it had before."""
        normal = normalise(view.plan, (relations or self.relations).definitions(self.timeline.time))
        return stored(view, normal, self.timeline.time, strict=strict, refresh=refresh, known=grouping_names)

    def rebound_readers(self, name: str, changed: Relations) -> list[tuple[AnyView, AnyView]]:
        """The views that read a relation, each as it is and as it will be over the changed relations.

        ``changed`` is a copy of the relations with the change made; the views are put into it as they are bound.
        """
        rebound: list[tuple[AnyView, AnyView]] = []
        broken: dict[str, str] = {}
        for reader in self.relations.readers(name):
            old = reader.view if isinstance(reader, StoredView) else reader
            try:
                new = replace(self.view(old.name, old.query, old.named, changed), fragments=old.fragments)
            except TidingsError as error:
                broken[old.name] = error.message
                continue
            if new.columns != old.columns:
                broken[old.name] = "its columns would be others"
                continue
            bound = self._rebound_stored(reader, new, changed) if isinstance(reader, StoredView) else new
            changed.replace([bound])
            rebound.append((reader, bound))
        if broken:
            raise BreaksViews(name=name, dependents=", ".join(broken), reason="; ".join(broken.values()))
        for check in self.checks:
            check(name, changed)
        return rebound

    def _rebound_stored(self, reader: StoredView, view: View, changed: Relations) -> StoredView:
        """A stored view with another plan; it keeps the rows it had, as far as it has the same parts."""
        new = self.stored(view, reader.strict, reader.refresh, grouping_names(reader), changed)
        new.tables |= {n: t for n, t in reader.tables.items() if n in new.tables and new.tables[n].columns == t.columns}
        new.cursor = reader.cursor
        return new


def grouping_names(view: StoredView) -> dict[str, str]:
    """The names of a stored view's groupings, by their texts."""
    return {show(node): name for name, node in view.groupings.items()}


def named_columns(plan: Relation, name: str, columns: tuple[str, ...]) -> Relation:
    """A view's query under the names that the view gives its columns."""
    if not columns:
        return plan
    items = (Item(n, f.type, f.expression) for n, f in zip(columns, plan.fields, strict=True))
    return Project(plan, f"{name}_named", tuple(items))
