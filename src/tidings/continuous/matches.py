"""Finds the rows that have come into the answers of queries, each with the first instant at which it was there.

This is the general way: the changes of a query at every instant, aggregates, outer joins, deletes and the passing of
time included.  A row that is new to a query was in no earlier answer, so the instant at which it first came is the one
at which it first matched.  Where the meaning of a query changed, because a relation below it was altered, replaced or
loaded, it goes on from that instant, with all rows that it has there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tidings.continuous.query import ContinuousQuery
from tidings.continuous.query_deltas import QueryDeltas
from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import added_up, came, versioned, without_version
from tidings.errors import StaleWriter, TidingsError
from tidings.ir.column import Column
from tidings.ir.expression import TIME
from tidings.read import in_transaction
from tidings.waves.scheduler import Scheduler


@dataclass(slots=True)
class Matches:
    """Finds what matches the continuous queries of one database."""

    scheduler: Scheduler
    _deltas: QueryDeltas = field(init=False)

    def __post_init__(self) -> None:
        self._deltas = QueryDeltas(self.scheduler)

    def until(self, queries: Sequence[ContinuousQuery], until: int) -> dict[int, pa.Table | TidingsError]:
        """The first matches of each query after what is known of it, by its number; or what went wrong with it.

        Each row is there once, with the instant ``__t``; it may have been delivered before.
        """
        by_start: dict[int, list[ContinuousQuery]] = {}
        for query in queries:
            by_start.setdefault(self.start(query), []).append(query)
        found: dict[int, pa.Table | TidingsError] = {}
        for start, group in by_start.items():
            found |= self._of_group(group, start, until)
        return found

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
