"""The continuous queries of a database, as rows and as text: ``tidings.continuous_queries`` and ``SHOW``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidings.clock import instant
from tidings.continuous.registry import QueryRegistry
from tidings.continuous.runs import ContinuousRuns
from tidings.continuous.schedule import schedule_text
from tidings.engine.changes import without_version
from tidings.ir.column import Column
from tidings.result import Result
from tidings.rules.system_tables import as_inserts
from tidings.store.rules.continuous_queries import QueryRecord
from tidings.store.timeline import Timeline

CONTINUOUS_QUERIES = "tidings.continuous_queries"

COLUMNS = tuple(
    Column(*part.split())
    for part in (
        "name string, schedule string, delivered bigint, since timestamp, until timestamp, lag double, ran timestamp,"
        " took double, due timestamp, widened int, method string, created timestamp, error string, text string"
    ).split(",")
)
"""The columns of ``tidings.continuous_queries``; ``lag`` and ``took`` are in seconds."""

_SHOWN = ["name", "schedule", "delivered", "until", "lag", "due", "error"]


@dataclass(frozen=True, slots=True)
class QueryDescriptions:
    """Describes the continuous queries of one database."""

    runs: ContinuousRuns
    timeline: Timeline

    @property
    def _registry(self) -> QueryRegistry:
        return self.runs.registry

    def changes(self) -> pa.Table:
        """The rows of the system table, as changes that insert them."""
        bound = {query.id: query for query in self._registry.queries()}
        rows = []
        for record in self._registry.records:
            query = bound.get(record.id)
            schedule, delivered, lag, method = None, None, None, None
            if query is not None:
                schedule, method = schedule_text(query.schedule), self.runs.matches.method(query)
                delivered = query.answers.history.size(max(query.answers.last, self.timeline.time))
                behind = self.timeline.clock.now() - (record.until or record.created)
                lag = max(0, behind) / 1_000_000 if self.runs.has_news(query) else 0.0
            rows.append(_row(record, schedule, delivered, lag, method))
        return as_inserts(COLUMNS, rows)

    def queries(self) -> Result:
        """The queries by name: when they run, what they delivered, how far they are, and what is wrong with them."""
        return Result(without_version(self.changes()).select(_SHOWN).sort_by("name"))

    def create_query(self, name: str) -> str:
        """The CREATE CONTINUOUS QUERY statement of a query, as it was written."""
        return self._registry.record(name).text


def _row(
    record: QueryRecord, schedule: str | None, delivered: int | None, lag: float | None, method: str | None
) -> tuple[Any, ...]:
    def shown(at: int | None) -> Any:
        return None if at is None else instant(at)

    took = None if record.took is None else record.took / 1_000_000
    return (
        *(record.name, schedule, delivered, shown(record.since), shown(record.until), lag, shown(record.ran), took),
        *(shown(record.due), record.widened, method, shown(record.created), record.error, record.text),
    )
