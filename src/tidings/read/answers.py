"""Answers about plans: their rows at an instant, and how these changed from one instant to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

import pyarrow as pa

from tidings.analysis.influents import reads
from tidings.engine.stepping_out import SteppingOut
from tidings.errors import InvalidInterval, UnsupportedStatement
from tidings.ir.relation import Relation
from tidings.read import in_transaction
from tidings.result import Delta, Result
from tidings.store.relation.view import StoredView
from tidings.store.timeline import Timeline
from tidings.waves.recursion.explanation import explained
from tidings.waves.scheduler import Scheduler
from tidings.waves.wave import WaveRequest

_NONE: Mapping[str, pa.Table] = MappingProxyType({})


class ExplainedStrategy(NamedTuple):
    """How the changes of a query would be computed."""

    plan: Relation
    definitions: dict[str, Relation]
    """The views below it whose queries stand for them."""
    choice: str
    """The strategy with its reason, and the engine with the reason for that."""


class SystemTableRows(Protocol):
    """Has the rows of the tables that show what the database knows of itself."""

    def changes(self, name: str) -> pa.Table:
        """The rows of one of the tables, as changes that insert them."""


@dataclass(slots=True)
class Answers:
    """Answers questions about one database."""

    scheduler: Scheduler
    timeline: Timeline
    system_tables: SystemTableRows

    def at(
        self,
        plan: Relation,
        at: int,
        given: Mapping[str, pa.Table] = _NONE,
        step_out: SteppingOut | None = None,
    ) -> Result:
        """The rows of a plan at an instant; ``given`` has the rows of relations that the catalog does not know.

        With ``step_out`` other threads may be let in while they are computed.
        """
        names = reads(plan) & self.scheduler.relations.system_tables.keys()
        rows = {name: self.system_tables.changes(name) for name in names} | dict(given)
        answer = in_transaction.answer(self.scheduler, plan, at, replaced=rows, step_out=step_out)
        return Result(answer, self.scheduler.storage.backend)

    def now(self, plan: Relation, step_out: SteppingOut | None = None) -> Result:
        """The rows of a plan at the present."""
        return self.at(plan, self.timeline.present(plan), step_out=step_out)

    def as_of(self, plan: Relation, at: int, step_out: SteppingOut | None = None) -> Result:
        """The rows of a plan as they were at an instant; what the clock will make of them is not known yet."""
        if at > self.timeline.present(plan) and self.timeline.reads_clock(plan):
            raise InvalidInterval(since=at, until=at, reason="it lies in the future")
        return self.at(plan, at, step_out=step_out)

    def changes(
        self, name: str, plan: Relation, since: int | None, until: int | None, *, per_commit: bool, strict: bool
    ) -> Delta:
        """How the rows of a plan changed over ``(since, until]``, by default from the beginning up to the present."""
        self._require_history(plan)
        present = self.timeline.present(plan)
        if since is None:
            since = self.timeline.beginning(plan) if until is None else min(until, self.timeline.beginning(plan))
        end = max(since, present) if until is None else until
        if since > end:
            raise InvalidInterval(since=since, until=end, reason="it ends before it begins")
        if until is not None and end > present and self.timeline.reads_clock(plan):
            raise InvalidInterval(since=since, until=end, reason="it ends in the future")
        changes = self.scheduler.delta(name, plan, since, end, net=not per_commit, strict=strict)
        delta = Delta(changes, self.scheduler.storage.backend)
        return delta if per_commit else delta.net()

    def _require_history(self, plan: Relation) -> None:
        """Refuse changes of tables that show what the database knows of itself."""
        system = sorted(reads(plan) & self.scheduler.relations.system_tables.keys())
        if system:
            hint = "it has no history; query it"
            raise UnsupportedStatement(None, hint, statement=f"a question for the changes of {system[0]}")

    def strategy(self, text: str, plan: Relation, since: int, until: int) -> ExplainedStrategy:
        """How the changes of a query or view over ``(since, until]`` would be computed."""
        self._require_history(plan)
        relations = self.scheduler.relations
        relation = relations.find(text)
        if isinstance(relation, StoredView):
            plan, groupings = relation.over, relation.groupings
            request = WaveRequest(relation.name, plan, since, until, groupings=groupings)
            definitions = relations.definitions(relation.since) | groupings
        else:
            request = WaveRequest("result" if relation is None else relation.name, plan, since, until, net=True)
            definitions = relations.definitions()
        wave = self.scheduler.plan(request)
        engine = self.scheduler.executor.choice(wave)
        how = [f"{wave.choice}\non {engine.execution}: {engine.why}"]
        how += explained(self.scheduler.recursion, [plan, *(request.groupings or {}).values()], since, until)
        return ExplainedStrategy(plan, definitions, "\n".join(how))
