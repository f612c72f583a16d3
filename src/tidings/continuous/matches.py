"""Finds the rows that have come into the answers of queries, each with the first instant at which it was there.

The general way are the changes of a query at every instant, aggregates, outer joins, deletes and the passing of
time included.  A row that is new to a query was in no earlier answer, so the instant at which it first came is the one
at which it first matched.  Where the meaning of a query changed, because a relation below it was altered, replaced or
loaded, it goes on from that instant, with all rows that it has there.

The other way is the query's rewriting (:mod:`tidings.continuous.rewritten`), where that is true and estimated to be
faster.  Both say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tidings.continuous.query import ContinuousQuery
from tidings.continuous.query_deltas import QueryDeltas
from tidings.continuous.rewritten import RewrittenMatches
from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import added_up, came, versioned, without_version
from tidings.errors import StaleWriter, TidingsError
from tidings.ir.column import Column
from tidings.ir.expression import TIME
from tidings.read import in_transaction
from tidings.waves.scheduler import Scheduler
from tidings.waves.strategy import MARGIN
from tidings.waves.wave import WaveRequest


@dataclass(slots=True)
class Matches:
    """Finds what matches the continuous queries of one database."""

    scheduler: Scheduler
    rewritten: RewrittenMatches
    _deltas: QueryDeltas = field(init=False)
    _reasons: dict[int, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._deltas = QueryDeltas(self.scheduler)

    def method(self, query: ContinuousQuery) -> str | None:
        """How what matches a query was found last, and why so; None if it has not run yet in this process."""
        return self._reasons.get(query.id)

    def until(self, queries: Sequence[ContinuousQuery], until: int) -> dict[int, pa.Table | TidingsError]:
        """The first matches of each query after what is known of it, by its number; or what went wrong with it.

        Each row is there once, with the instant ``__t``; it may have been delivered before.
        """
        by_start: dict[int, list[ContinuousQuery]] = {}
        found: dict[int, pa.Table | TidingsError] = {}
        for query in queries:
            try:
                if self._is_rewritten(query, until):
                    found[query.id] = first_matches([self.rewritten.first(query, self.start(query), until)])
                else:
                    by_start.setdefault(max(self.start(query), self._lost_before(query)), []).append(query)
            except StaleWriter:
                raise
            except TidingsError as error:
                found[query.id] = error
        for start, group in by_start.items():
            found |= self._of_group(group, start, until)
        return found

    def _is_rewritten(self, query: ContinuousQuery, until: int) -> bool:
        """Whether a rewriting is to say what matched; the reason is noted."""
        method, start = query.statement.options.method, self.start(query)
        if method == "changes":
            self._reasons[query.id] = "changes: as it was defined"
            return False
        obstacle = self._obstacle(query, start, until)
        if obstacle is not None:
            self._reasons[query.id] = f"changes: {obstacle}"
            return False
        if method == "rewriting" or start < self._lost_before(query):
            why = "as it was defined" if method == "rewriting" else "the changes are not retained"
            self._reasons[query.id] = f"rewriting: {why}"
            return True
        rewriting = self.rewritten.estimate(query, until)
        self.scheduler.catch_up(query.plan, until)
        changes = self.scheduler.planner.plan(WaveRequest(query.name, query.plan, start, until)).choice.estimate
        is_faster = changes is not None and rewriting.seconds + MARGIN < changes.seconds
        ways = [("changes", changes), ("rewriting", rewriting)]
        (name, chosen), (other_name, other) = reversed(ways) if is_faster else ways
        self._reasons[query.id] = f"{name}: about {chosen or 'nothing'}; {other_name} would take {other}"
        return is_faster

    def _obstacle(self, query: ContinuousQuery, start: int, until: int) -> str | None:
        """Why a rewriting cannot say what matched."""
        known = query.record.until
        if known is None and start:
            return "what matches at its beginning has to be asked for"
        if known is not None and self.meant_since(query) > known:
            return "it means something else than before"
        return self.rewritten.obstacle(query, start, until)

    def _lost_before(self, query: ContinuousQuery) -> int:
        """The instant before which the changes of a query's tables are not retained, if it has not run yet."""
        if query.record.until is not None:
            return 0
        return max((self.scheduler.relations.rows(t).forgotten for t in query.tables), default=0)

    def start(self, query: ContinuousQuery) -> int:
        """The instant from which on the changes of a query are asked for."""
        return query.record.since if query.record.until is None else max(query.record.until, self.meant_since(query))

    def meant_since(self, query: ContinuousQuery) -> int:
        """The instant since which a query means what it means now; 0 if it always did."""
        defined_since = self.scheduler.storage.defined_since
        return max((defined_since.get(name.lower(), 0) for name in query.below), default=0)

    def _of_group(self, queries: list[ContinuousQuery], start: int, until: int) -> dict[int, pa.Table | TidingsError]:
        """The first matches of queries whose changes are asked for from one instant on; one that fails fails alone."""
        try:
            deltas = self._deltas.over({q.name: q.plan for q in queries}, start, until)
            return {q.id: first_matches([*self._at_start(q, start), deltas[q.name]]) for q in queries}
        except StaleWriter:
            raise
        except TidingsError as error:
            if len(queries) == 1:
                return {queries[0].id: error}
        alone = (self._of_group([query], start, until) for query in queries)
        return {id: found for result in alone for id, found in result.items()}

    def _at_start(self, query: ContinuousQuery, start: int) -> list[pa.Table]:
        """The rows that a query has where its changes begin; none where they are known already."""
        known = query.record.until
        if known is not None and self.meant_since(query) <= known:
            return []
        rows = in_transaction.answer(self.scheduler, query.plan, start)
        columns = tuple(Column(f.name, f.type) for f in query.plan.fields)
        return [versioned(rows, start).cast(arrow_schema(columns, versioned=True))]


def first_matches(parts: Sequence[pa.Table]) -> pa.Table:
    """The rows that came by some changes, each once, at the first instant at which it did.

    >>> delta = pa.table({"a": [1, 2, 1, 1], "__t": [9, 7, 5, 6], "__w": [1, 2, 1, -1]})
    >>> first_matches([delta]).select(["a", "__t"]).to_pylist()
    [{'a': 1, '__t': 5}, {'a': 2, '__t': 7}]
    """
    changes = pa.concat_tables([came(part.cast(parts[0].schema)) for part in parts])
    ordered = changes.take(pc.sort_indices(changes, [(TIME, "ascending")]))
    places, _ = added_up(without_version(ordered), 1)
    return ordered.take(places)
