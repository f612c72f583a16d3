"""Making, replacing and refreshing views.

Replacing a view keeps what it can.  If the new query is the old one after binding, nothing is computed at all.  If both
are stored, groupings that both have are kept, and the new rows are computed from those.  Whatever reads the view has to
be bound again: if that fails, or would give it other columns, the replacement is refused.

A name that comes to mean something else gets an instant of its own, before which positions of subscribers are of no
use (:mod:`tidings.read.subscriptions`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from tidings.errors import (
    BreaksViews,
    CircularView,
    DuplicateRelation,
    InvalidExpression,
    TidingsError,
    UnknownRelation,
)
from tidings.ir.relation import Item, Project, Relation
from tidings.ir.text import show
from tidings.lang.sql import statement
from tidings.lang.sql.bind import bind
from tidings.rewrite.pipeline import normalise
from tidings.store import replace_view
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import Refresh, StoredView, View, stored
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler

AnyView = View | StoredView


@dataclass(frozen=True, slots=True)
class ReplacementOutcome:
    """What became of a part of a view that was replaced: itself, a grouping kept for it, or a view that reads it."""

    relation: str
    outcome: str
    reason: str


def as_table(outcomes: list[ReplacementOutcome]) -> pa.Table:
    """Outcomes as rows."""
    names = ("relation", "outcome", "reason")
    return pa.table({n: pa.array([getattr(o, n) for o in outcomes], pa.string()) for n in names})


@dataclass(slots=True)
class Views:
    """The views of a database."""

    storage: Storage
    scheduler: Scheduler
    timeline: Timeline

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def bound(self, name: str, query: str, columns: tuple[str, ...], relations: Relations | None = None) -> View:
        """A view as it was defined."""
        (read,) = statement.read(query)
        assert isinstance(read, statement.Query)
        plan = bind(read.query, query, relations or self.relations, self.storage.backend, name, read.query_text)
        return View(name, query, named_columns(plan, name, columns), query, columns)

    def kept(
        self, view: View, strict: bool, refresh: Refresh, known: dict[str, str], relations: Relations | None = None
    ) -> StoredView:
        """A view to be stored, still without rows."""
        normal = normalise(view.plan, (relations or self.relations).definitions(self.timeline.time))
        return stored(view, normal, self.timeline.time, strict=strict, refresh=refresh, known=known)

    def stored(self, name: str) -> StoredView:
        """The stored view of a name, or a refusal."""
        found = self.relations.find(name)
        if not isinstance(found, StoredView):
            raise UnknownRelation(None, "only stored views are refreshed", name=name)
        return found

    def create(self, read: statement.CreateView) -> list[ReplacementOutcome]:
        """Make a view, or put it in the place of another."""
        found = self.relations.find(read.name)
        if found is not None and (isinstance(found, Table) or not read.replace):
            raise DuplicateRelation(name=read.name)
        plan = bind(read.query, read.text, self.relations, self.storage.backend, read.name, read.query_text)
        if read.columns and len(read.columns) != len(plan.fields):
            reason = f"the view names {len(read.columns)} columns, its query has {len(plan.fields)}"
            raise InvalidExpression(read.place, reason=reason)
        name = read.name if found is None else found.name
        view = View(name, read.text, named_columns(plan, name, read.columns), read.query_text, read.columns)
        if found is not None and not isinstance(found, Table):
            return self._replace(found, view, read)
        made: AnyView = view
        if read.stored:
            made = self.kept(view, read.strict, Refresh(read.refresh), {})
            self.scheduler.fill(made, self.timeline.present(view.plan))
        self.storage.define(made)
        return []

    # replacing

    def _replace(self, old: AnyView, view: View, read: statement.CreateView) -> list[ReplacementOutcome]:
        self._check_circle(view)
        readers = self._rebound(view)
        definitions = self.relations.definitions(self.timeline.time)
        same = view.columns == old.columns and _same(view.plan, old.plan, definitions)
        if same and isinstance(old, StoredView) and read.stored:
            replace_view.redefine(
                self.storage, replace(old, view=view, strict=read.strict, refresh=Refresh(read.refresh))
            )
            return [ReplacementOutcome(view.name, "kept", "its query is the same")]
        new, outcomes = self._made(old, view, read)
        if same:
            replace_view.replace(self.storage, old, new, [], None)
            return outcomes
        replace_view.replace(self.storage, old, new, readers, self.timeline.own_instant())
        late = (v.name for _, v in readers if isinstance(v, StoredView))
        return outcomes + [ReplacementOutcome(name, "to be recomputed", f"it reads {view.name}") for name in late]

    def _made(self, old: AnyView, view: View, read: statement.CreateView) -> tuple[AnyView, list[ReplacementOutcome]]:
        """What is to be in the place of a view, with its rows if it is stored."""
        if not read.stored:
            reason = "it is not stored any more" if isinstance(old, StoredView) else "it is not stored"
            return view, [ReplacementOutcome(view.name, "redefined", reason)]
        if isinstance(old, StoredView):
            return self._refilled(old, view, read)
        new = self.kept(view, read.strict, Refresh(read.refresh), {})
        self.scheduler.fill(new, self.timeline.present(view.plan))
        return new, [ReplacementOutcome(view.name, "computed", "it was not stored before")]

    def _check_circle(self, view: View) -> None:
        """Refuse a view that would read itself."""
        if view.name in self.relations.below(view.plan):
            through = sorted(
                v.name for v in self.relations.readers(view.name) if v.name in self.relations.below(view.plan)
            )
            raise CircularView(name=view.name, path=" through ".join([view.name, *through]))

    def _rebound(self, view: View) -> list[tuple[AnyView, AnyView]]:
        """The views that read a view, as they are and bound to what it is to be; a refusal if one would break."""
        trial = self.relations.copy()
        trial.replace([view])
        found: list[tuple[AnyView, AnyView]] = []
        broken: dict[str, str] = {}
        for reader in self.relations.readers(view.name):
            plain = reader.view if isinstance(reader, StoredView) else reader
            try:
                again = self.bound(plain.name, plain.query, plain.named, trial)
            except TidingsError as error:
                broken[plain.name] = error.message
                continue
            if again.columns != plain.columns:
                broken[plain.name] = "its columns would be others"
            found.append((reader, self.over_again(reader, again, trial) if isinstance(reader, StoredView) else again))
        if broken:
            raise BreaksViews(name=view.name, dependents=", ".join(broken), reason="; ".join(broken.values()))
        return found

    def over_again(self, reader: StoredView, view: View, trial: Relations) -> StoredView:
        """A stored view bound again; its rows are those it had, as far as it has the same parts."""
        known = {show(node): name for name, node in reader.groupings.items()}
        new = self.kept(view, reader.strict, reader.refresh, known, trial)
        alike = {n: t for n, t in reader.tables.items() if n in new.tables and new.tables[n].columns == t.columns}
        new.tables |= alike
        new.since, new.until, new.error = reader.since, reader.until, reader.error
        return new

    def _refilled(
        self, old: StoredView, view: View, read: statement.CreateView
    ) -> tuple[StoredView, list[ReplacementOutcome]]:
        """A stored view with what it shares with the one before it, and the rest computed."""
        known = {show(node): name for name, node in old.groupings.items()}
        new = self.kept(view, read.strict, Refresh(read.refresh), known)
        at = self.timeline.present(view.plan)
        shared = [n for n, node in new.groupings.items() if old.groupings.get(n) == node]
        if shared:
            try:
                self.scheduler.refresh(old, at)
            except TidingsError:
                shared = []
        kept = {name: old.tables[name] for name in shared if old.until == at}
        new.tables |= kept
        self.scheduler.fill(new, at, kept)
        new.rows.id = old.rows.id
        same = "the same grouping"
        outcomes = [
            ReplacementOutcome(view.name, "recomputed", f"from {', '.join(kept)}" if kept else "its query is another")
        ]
        return new, outcomes + [
            ReplacementOutcome(n, "kept", same) if n in kept else ReplacementOutcome(n, "computed", "a new grouping")
            for n in new.groupings
        ]


def _same(one: Relation, other: Relation, definitions: dict[str, Relation]) -> bool:
    return show(normalise(one, definitions)) == show(normalise(other, definitions))


def named_columns(plan: Relation, name: str, columns: tuple[str, ...]) -> Relation:
    """A view's query under the names the view gives its columns."""
    if not columns:
        return plan
    items = (Item(n, f.type, f.expression) for n, f in zip(columns, plan.fields, strict=True))
    return Project(plan, f"{name}_named", tuple(items))
