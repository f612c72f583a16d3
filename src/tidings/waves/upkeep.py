"""Keeps stored views up to date: each after those it reads, and all of one call in one transaction of the catalog.

A wave may fail: at some instant in the batch the query has no answer, as ``CAST('x' AS INT)`` has none, or a total does
not fit its type on the way, or what it has to read is older than what is retained.  Then the stored view begins anew
with the rows it has now, as if it had been stored just now; if there are none either, it stays where it was and is
marked as failed.  A strict one always stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidings.analysis.influents import influents
from tidings.errors import EngineFailed, HistoryGone, InternalError, RecomputeRefused, TidingsError
from tidings.errors.unexpected import internal_errors
from tidings.ir.relation import Relation
from tidings.store import stored_views
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import Refresh, StoredView
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves import shared
from tidings.waves.executor import Executor
from tidings.waves.fill import fill
from tidings.waves.planner import Planner
from tidings.waves.recursion.deltas import Recursion
from tidings.waves.view_deltas import ViewDeltas


@dataclass(slots=True)
class Upkeep:
    """Keeps the stored views of one database up to date."""

    planner: Planner
    executor: Executor
    recursion: Recursion
    timeline: Timeline
    view_deltas: ViewDeltas = field(init=False)
    _failed: dict[str, tuple[int, TidingsError]] = field(init=False, default_factory=dict)
    """Views that failed in the present call, and on the way to which instant."""
    _depth: int = field(init=False, default=0)
    """How many calls are under way: one view may need another to be brought up to date first."""

    def __post_init__(self) -> None:
        self.view_deltas = ViewDeltas(self.planner, self.executor, self.recursion)

    @property
    def storage(self) -> Storage:
        return self.planner.storage

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def advance(self, views: list[StoredView], until: int) -> list[TidingsError]:
        """Bring some views up to an instant; returns what went wrong with those that failed."""
        failures: list[TidingsError] = []
        behind = [v for v in views if v.is_outdated or v.until < until]
        if not behind:
            return failures
        self._depth += 1
        try:
            with self.storage.together():
                stored = {v.name for v in self.relations.stored()}
                unstored = {name: plan for name, plan in self.relations.definitions().items() if name not in stored}
                for group in shared.groups(behind, unstored):
                    failures += self._advance_group(group, until)
        finally:
            self._depth -= 1
            if not self._depth:
                self._failed.clear()
        return failures

    def require_advanced(self, views: list[StoredView], until: int) -> None:
        """Bring some views up to an instant; raises what went wrong first, after all have been tried."""
        failures = self.advance(views, until)
        if failures:
            raise failures[0]

    def catch_up(self, plan: Relation, until: int, groupings: Mapping[str, Relation] | None = None) -> None:
        """Bring the stored views that a plan reads up to an instant; ``groupings`` are definitions it uses too."""
        self._catch_up([plan], until, groupings or {})

    def _catch_up(self, plans: list[Relation], until: int, groupings: Mapping[str, Relation]) -> None:
        if not self.planner.reads_stored(*plans, *groupings.values()):
            return
        definitions = self.planner.definitions((*plans, *groupings.values()), until) | dict(groupings)
        names = frozenset().union(*(influents(plan, definitions) for plan in plans))
        views = [v for v in self.relations.stored() if v.name in names and v.refresh is not Refresh.MANUAL]
        self.require_advanced(views, min(until, self.timeline.settled()))

    def fill(self, view: StoredView, at: int, filled: Mapping[str, Table] | None = None) -> None:
        """Give a stored view the rows that its query has at an instant, computed from scratch.

        ``filled`` are groupings that have their rows already.
        """
        self.catch_up(view.plan, at)
        fill(self.storage, self.executor.engines, view, at, filled or {})

    def is_pending(self, view: StoredView, until: int) -> bool:
        """Whether something that a view reads has changed since it was brought up to date."""
        if view.is_outdated:
            return True
        try:
            return bool(self.planner.changed(influents(view.plan, self.relations.definitions()), view.until, until))
        except HistoryGone:
            return True

    def _advance_group(self, views: list[StoredView], until: int) -> list[TidingsError]:
        """Bring views of one group up to an instant, at once if that goes well, else one by one."""
        done = self._advance_at_once(views, until)
        failures: list[TidingsError] = []
        for view in (v for v in views if v.name not in done):
            try:
                with internal_errors():
                    self._advance_view(view, until)
            except (EngineFailed, HistoryGone, InternalError, RecomputeRefused) as failure:
                failures.append(failure)
                self._failed[view.name] = until, failure
                stored_views.fail(self.storage, view, failure.message)
        return failures

    def _advance_at_once(self, views: list[StoredView], until: int) -> frozenset[str]:
        """Bring views that share work up to an instant; the names of those for which that went well."""
        ready = [v for v in views if v.error is None and not v.is_outdated and v.name not in self._failed]
        if len(ready) < 2:
            return frozenset()
        try:
            with internal_errors():
                self._catch_up([view.plan for view in ready], until, {})
                deltas = self.view_deltas.of_views(ready, until)
        except (EngineFailed, HistoryGone, InternalError, RecomputeRefused):
            return frozenset()  # then one by one, so that it shows which of them fails
        for view in (v for v in ready if v.name in deltas):
            stored_views.advance(self.storage, view, deltas[view.name], until)
        return frozenset(deltas)

    def _advance_view(self, view: StoredView, until: int) -> None:
        tried, failure = self._failed.get(view.name, (0, None))
        if failure is not None and tried == until:
            raise failure
        if view.is_outdated:
            self.fill(view, until)
        if view.until >= until:
            return
        try:
            self.catch_up(view.over, until, view.groupings)
            deltas = self.view_deltas.of_view(view, until)
        except (EngineFailed, HistoryGone) as failure:
            self._begin_anew(view, until, failure)
            return
        stored_views.advance(self.storage, view, deltas, until)

    def _begin_anew(self, view: StoredView, at: int, failure: TidingsError) -> None:
        """Fill a view whose changes cannot be computed with the rows it has now, if it has any."""
        if view.strict:
            raise failure
        try:
            self.fill(view, at)
        except EngineFailed:
            raise failure from None
