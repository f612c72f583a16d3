"""Creates views, stored ones with their rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.define.binder import AnyView, CheckChange, ViewBinder, named_columns
from tidings.define.replacement import ReplacementOutcome, ViewReplacement
from tidings.errors import DuplicateRelation, InvalidExpression, TidingsError, UnknownRelation, WrongKind, closest
from tidings.lang.datalog.statements import is_stored_by_cost
from tidings.lang.sql import statement
from tidings.store import replace_view
from tidings.store.define import define
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import Refresh, StoredView, View
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.recursion.deltas import same_rows
from tidings.waves.scheduler import Scheduler


@dataclass(slots=True)
class Views:
    """The views of a database."""

    storage: Storage
    scheduler: Scheduler
    timeline: Timeline
    checks: tuple[CheckChange, ...] = ()
    binder: ViewBinder = field(init=False)
    replacement: ViewReplacement = field(init=False)

    def __post_init__(self) -> None:
        self.binder = ViewBinder(self.storage, self.timeline, self.checks)
        self.replacement = ViewReplacement(self.storage, self.scheduler, self.timeline, self.binder)

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def stored(self, name: str) -> StoredView:
        """The stored view of a name, or a refusal."""
        view = self.relations.find(name)
        if not isinstance(view, StoredView):
            if view is not None:
                kind = "a table" if isinstance(view, Table) else "a view that is not stored"
                raise WrongKind(None, "it is always up to date", name=view.name, kind=kind, expected="a stored view")
            stored = [n for n in self.relations.names() if isinstance(self.relations.find(n), StoredView)]
            raise UnknownRelation(None, closest(name, stored or self.relations.names()), name=name)
        return view

    def create(self, create: statement.CreateView) -> list[ReplacementOutcome]:
        """Create a view, or put it in the place of another; what became of the parts of the other."""
        old = self.relations.find(create.name)
        if isinstance(old, Table) or self.relations.fragments(create.name) or (old is not None and not create.replace):
            raise DuplicateRelation(name=create.name)
        plan = self.binder.plan(create.query, create.text, create.name, create.query_text)
        if create.columns and len(create.columns) != len(plan.fields):
            reason = f"the view names {len(create.columns)} columns, its query has {len(plan.fields)}"
            raise InvalidExpression(create.place, reason=reason)
        name = create.name if old is None else old.name
        named, by_cost = named_columns(plan, name, create.columns), is_stored_by_cost(create.query_text)
        view = View(name, create.text, named, create.query_text, create.columns, by_cost)
        if old is not None:
            return self.replacement.replace(old, view, create)
        define(self.storage, self._with_rows(view, create))
        return []

    def store_by_cost(self) -> bool:
        """Store the recursive views that are left to costs and are worth it by now; whether there are any."""
        stored = False
        for view in self.relations.unstored():
            node = same_rows(view.plan) if view.by_cost else None
            if node is None or not self.scheduler.recursion.storage_choice(node, self.timeline.time).stored:
                continue
            new = self.binder.stored(view, False, Refresh.ON_ADVANCE, {})
            try:
                self.scheduler.fill(new, self.timeline.present(view.plan))
            except TidingsError:
                self.scheduler.recursion.costs.pop(node.group)
                continue
            replace_view.replace(self.storage, view, new, [], None)
            stored = True
        return stored

    def _with_rows(self, view: View, create: statement.CreateView) -> AnyView:
        if not create.stored:
            return view
        stored = self.binder.stored(view, create.strict, Refresh(create.refresh), {})
        self.scheduler.fill(stored, self.timeline.present(view.plan))
        return stored
