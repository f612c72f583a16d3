"""Answers about plans: their rows at an instant, and how these changed from one instant to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock

import pyarrow as pa

from tidings.analysis.influents import reads
from tidings.errors import InvalidInterval, UnknownRelation
from tidings.exclusive import exclusive
from tidings.ir.relation import Relation
from tidings.read import in_transaction
from tidings.result import Delta, Result
from tidings.store.relation.view import StoredView
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler


def _none(name: str) -> pa.Table:
    raise UnknownRelation(name=name)


@dataclass(slots=True)
class Answers:
    """Answers questions about one database."""

    scheduler: Scheduler
    timeline: Timeline
    _mutex: RLock
    system_tables: Callable[[str], pa.Table] = _none
    """The rows of a table that shows what the database knows of itself, as changes that bring them."""

    def at(self, plan: Relation, at: int) -> Result:
        """The rows of a plan at an instant."""
        given = {name: self.system_tables(name) for name in reads(plan) & self.scheduler.relations.system_tables.keys()}
        return Result(in_transaction.answer(self.scheduler, plan, at, instead=given))

    def now(self, plan: Relation) -> Result:
        """The rows of a plan at the present."""
        return self.at(plan, self.timeline.present(plan))

    def as_of(self, plan: Relation, at: int) -> Result:
        """The rows of a plan as they were at an instant; what the clock will make of them is not known yet."""
        if at > self.timeline.present(plan) and self.timeline.reads_clock(plan):
            raise InvalidInterval(since=at, until=at, reason="it lies in the future")
        return self.at(plan, at)

    def changes(
        self, name: str, plan: Relation, since: int, until: int | None, *, per_commit: bool, strict: bool
    ) -> Delta:
        """How the rows of a plan changed over ``(since, until]``, by default up to the present."""
        present = self.timeline.present(plan)
        end = max(since, present) if until is None else until
        if since > end:
            raise InvalidInterval(since=since, until=end, reason="it ends before it begins")
        if until is not None and end > present and self.timeline.reads_clock(plan):
            raise InvalidInterval(since=since, until=end, reason="it ends in the future")
        found = Delta(self.scheduler.delta(name, plan, since, end, net=not per_commit, strict=strict))
        return found if per_commit else found.net()

    def way(self, text: str, plan: Relation, since: int, until: int) -> tuple[Relation, dict[str, Relation], str]:
        """How changes over ``(since, until]`` would be found: the plan, the definitions below it, and the choice."""
        relations, found = self.scheduler.relations, self.scheduler.relations.find(text)
        if isinstance(found, StoredView):
            plan = found.over
            wave = self.scheduler.plan(found.name, plan, since, until, net=False, groupings=found.groupings)
            definitions = relations.definitions(found.since) | found.groupings
        else:
            definitions = relations.definitions()
            wave = self.scheduler.plan("result" if found is None else found.name, plan, since, until, net=True)
        where = "on {}: {}".format(*self.scheduler.planner.execution(wave))
        return plan, definitions, f"{wave.choice}\n{where}"

    @exclusive
    def in_transaction(
        self, plan: Relation, now: int, changes: Mapping[str, pa.Table], instead: Mapping[str, pa.Table]
    ) -> pa.Table:
        """The rows of a plan inside a transaction that has made some changes; it may be in another thread.

        ``instead`` are rows that stand for whole tables.
        """
        at = self.timeline.time
        if self.timeline.reads_clock(plan):
            self.timeline.tell(now)
            at = now
        return in_transaction.answer(self.scheduler, plan, at, changes, instead)
