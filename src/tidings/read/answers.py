"""Answers about plans: their rows at an instant, and how these changed from one instant to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tidings.analysis.influents import reads
from tidings.errors import InvalidInterval
from tidings.ir.relation import Relation
from tidings.read import in_transaction
from tidings.result import Delta, Result
from tidings.store.relation.view import StoredView
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler


class SystemTables(Protocol):
    """Has the rows of the tables that show what the database knows of itself."""

    def entry(self, name: str) -> pa.Table:
        """The rows of one of the tables, as changes that bring them."""


@dataclass(slots=True)
class Answers:
    """Answers questions about one database."""

    scheduler: Scheduler
    timeline: Timeline
    system_tables: SystemTables

    def at(self, plan: Relation, at: int) -> Result:
        """The rows of a plan at an instant."""
        names = reads(plan) & self.scheduler.relations.system_tables.keys()
        entries = {name: self.system_tables.entry(name) for name in names}
        return Result(in_transaction.answer(self.scheduler, plan, at, instead=entries))

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
