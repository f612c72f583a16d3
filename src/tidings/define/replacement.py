"""Replaces a view by another of the same name, and keeps what it can.

If the new query is the old one after binding, nothing is computed at all.  If both views are stored, groupings that
both have are kept, and the new rows are computed from those.  Views that read it are bound to the new one.

A name that comes to mean something else does so at an instant of its own; positions of subscribers from before it are
of no use any more (:mod:`tidings.read.subscriptions`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from tidings.define.binder import AnyView, ViewBinder, grouping_names
from tidings.errors import CircularView, TidingsError
from tidings.ir.relation import Relation
from tidings.ir.text import show
from tidings.lang.sql import statement
from tidings.rewrite.pipeline import normalise
from tidings.store import replace_view
from tidings.store.relation.relations import Relations
from tidings.store.relation.view import Refresh, StoredView, View
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class ReplacementOutcome:
    """What became of a part of a view that was replaced: itself, one of its groupings, or a view that reads it."""

    relation: str
    outcome: str
    reason: str


def as_table(outcomes: list[ReplacementOutcome]) -> pa.Table:
    """Outcomes as rows."""
    names = ("relation", "outcome", "reason")
    return pa.table({n: pa.array([getattr(o, n) for o in outcomes], pa.string()) for n in names})


@dataclass(frozen=True, slots=True)
class ViewReplacement:
    """Replaces views."""

    storage: Storage
    scheduler: Scheduler
    timeline: Timeline
    binder: ViewBinder

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def replace(self, old: AnyView, view: View, create: statement.CreateView) -> list[ReplacementOutcome]:
        """Put a view in the place of another, as a statement says; what became of its parts and readers."""
        self._check_circle(view)
        changed = self.relations.copy()
        changed.replace([view])
        readers = self.binder.rebound_readers(view.name, changed)
        same = view.columns == old.columns and self._is_same_query(view.plan, old.plan)
        if same and isinstance(old, StoredView) and create.stored:
            new = replace(old, view=view, strict=create.strict, refresh=Refresh(create.refresh))
            replace_view.redefine(self.storage, new)
            return [ReplacementOutcome(view.name, "kept", "its query is the same")]
        filled, outcomes = self._filled(old, view, create)
        if same:
            replace_view.replace(self.storage, old, filled, [], None)
            return outcomes
        replace_view.replace(self.storage, old, filled, readers, self.timeline.reserve_instant())
        outdated = (v.name for _, v in readers if isinstance(v, StoredView))
        return outcomes + [ReplacementOutcome(name, "to be recomputed", f"it reads {view.name}") for name in outdated]

    def _check_circle(self, view: View) -> None:
        """Refuse a view that would read itself."""
        below = self.relations.below(view.plan)
        if view.name in below:
            through = sorted(v.name for v in self.relations.readers(view.name) if v.name in below)
            raise CircularView(name=view.name, path=" through ".join([view.name, *through]))

    def _is_same_query(self, plan: Relation, other: Relation) -> bool:
        definitions = self.relations.definitions(self.timeline.time)
        return show(normalise(plan, definitions)) == show(normalise(other, definitions))

    def _filled(
        self, old: AnyView, view: View, create: statement.CreateView
    ) -> tuple[AnyView, list[ReplacementOutcome]]:
        """The view that takes the place of another, with its rows if it is stored."""
        if not create.stored:
            reason = "it is not stored any more" if isinstance(old, StoredView) else "it is not stored"
            return view, [ReplacementOutcome(view.name, "redefined", reason)]
        if isinstance(old, StoredView):
            return self._filled_from(old, view, create)
        new = self.binder.stored(view, create.strict, Refresh(create.refresh), {})
        self.scheduler.fill(new, self.timeline.present(view.plan))
        return new, [ReplacementOutcome(view.name, "computed", "it was not stored before")]

    def _filled_from(
        self, old: StoredView, view: View, create: statement.CreateView
    ) -> tuple[StoredView, list[ReplacementOutcome]]:
        """A stored view with the groupings that it shares with the one before it, and the rest computed."""
        new = self.binder.stored(view, create.strict, Refresh(create.refresh), grouping_names(old))
        at = self.timeline.present(view.plan)
        shared = [n for n, node in new.groupings.items() if old.groupings.get(n) == node]
        if shared:
            try:
                self.scheduler.refresh(old, at)
            except TidingsError:
                shared = []
        tables = {name: old.tables[name] for name in shared if old.until == at}
        new.tables |= tables
        self.scheduler.fill(new, at, tables)
        new.rows.id = old.rows.id
        reason = f"from {', '.join(tables)}" if tables else "its query is another"
        outcomes = [ReplacementOutcome(view.name, "recomputed", reason)]
        for name in new.groupings:
            how = ("kept", "the same grouping") if name in tables else ("computed", "a new grouping")
            outcomes.append(ReplacementOutcome(name, *how))
        return new, outcomes
