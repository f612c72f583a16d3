"""How stored views stand."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.analysis.influents import CLOCK, influents
from tidings.errors import HistoryGone
from tidings.store.fold import TableStatus
from tidings.waves.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class ViewStatus:
    """How far a stored view has come, and why it stays there."""

    name: str
    refresh: str
    position: int | None
    """The instant its rows are of; None if they have to be computed anew."""
    lag: int
    """Microseconds from there to the last commit."""
    pending: int | None
    """Changed rows it has still to take in; None if that is not known."""
    error: str | None
    """What went wrong when it was last tried."""

    @property
    def failed(self) -> bool:
        return self.error is not None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a database: the last commit, its stored views, and how rows are held."""

    time: int
    views: tuple[ViewStatus, ...]
    tables: tuple[TableStatus, ...] = ()
    """Tables, stored views and what is kept for them."""

    def view(self, name: str) -> ViewStatus:
        """The state of one view."""
        return next(v for v in self.views if v.name.lower() == name.lower())


def status(scheduler: Scheduler, time: int, tables: tuple[TableStatus, ...] = ()) -> Status:
    """How the stored views stand at the time of the last commit."""
    return Status(
        time, tuple(_of(scheduler, name, time) for name in [v.name for v in scheduler.relations.stored()]), tables
    )


def _of(scheduler: Scheduler, name: str, time: int) -> ViewStatus:
    view = next(v for v in scheduler.relations.stored() if v.name == name)
    how = f"{view.refresh} strict" if view.strict else str(view.refresh)
    if view.is_outdated:
        return ViewStatus(name, how, None, max(0, time - view.until), None, view.error)
    below = influents(view.plan, scheduler.relations.definitions()) - {CLOCK}
    try:
        pending = sum(scheduler.relations.rows(r).change_count(view.until, max(view.until, time)) for r in below)
    except HistoryGone:
        return ViewStatus(name, how, view.until, max(0, time - view.until), None, view.error)
    return ViewStatus(name, how, view.until, max(0, time - view.until), pending, view.error)
