"""How far the stored views of a database have come."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.analysis.influents import CLOCK, influents
from tidings.errors import HistoryGone
from tidings.store.fold import TableStatus
from tidings.store.relation.relations import Relations
from tidings.store.relation.view import StoredView
from tidings.store.rules.messages import DeliveryStatus
from tidings.worker_thread import WorkerStatus


@dataclass(frozen=True, slots=True)
class ViewStatus:
    """How far a stored view has come, and why it stays there."""

    name: str
    refresh: str
    position: int | None
    """The instant its rows are of; None if they have to be computed anew."""
    lag: int
    """Microseconds from there, or from the first commit if that is later, to the last commit."""
    pending: int | None
    """Changed rows that it has not taken in yet; None if that is not known."""
    error: str | None
    """What went wrong when it was last tried."""

    @property
    def failed(self) -> bool:
        return self.error is not None


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A rule that fails, and why; ``tidings.rules`` says the same."""

    rule: str
    error: str


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a database: the last commit, its stored views, how rows are stored, and what goes wrong."""

    time: int
    views: tuple[ViewStatus, ...]
    tables: tuple[TableStatus, ...] = ()
    """Tables, stored views and their groupings."""
    failing_rules: tuple[RuleFailure, ...] = ()
    runner: WorkerStatus = field(default_factory=WorkerStatus)
    """How the thread is doing that ``start()`` starts."""
    deliveries: DeliveryStatus = field(default_factory=DeliveryStatus)
    """How the thread is doing that ``deliveries.start()`` starts, and what is being sent."""

    def view(self, name: str) -> ViewStatus:
        """The state of one view."""
        return next(v for v in self.views if v.name.lower() == name.lower())


def status(
    relations: Relations,
    time: int,
    tables: tuple[TableStatus, ...] = (),
    failing_rules: tuple[RuleFailure, ...] = (),
    runner: WorkerStatus | None = None,
    began: int = 0,
) -> Status:
    """The state of a database at the time of its last commit; ``began`` is that of the first."""
    views = tuple(_view_status(relations, view, time, began) for view in relations.stored())
    return Status(time, views, tables, failing_rules, runner or WorkerStatus())


def refresh_text(view: StoredView) -> str:
    """When a stored view is refreshed, as the option of CREATE MATERIALIZED VIEW says it."""
    return f"{view.refresh} strict" if view.strict else str(view.refresh)


def _view_status(relations: Relations, view: StoredView, time: int, began: int) -> ViewStatus:
    return ViewStatus(
        view.name,
        refresh_text(view),
        None if view.is_outdated else view.until,
        max(0, time - max(view.until, began)),
        None if view.is_outdated else _pending(relations, view, time),
        view.error,
    )


def _pending(relations: Relations, view: StoredView, time: int) -> int | None:
    """The number of changed rows that a view has not taken in yet; None if they are not retained."""
    below = influents(view.plan, relations.definitions()) - {CLOCK}
    try:
        return sum(relations.rows(r).history.change_count(view.until, max(view.until, time)) for r in below)
    except HistoryGone:
        return None
