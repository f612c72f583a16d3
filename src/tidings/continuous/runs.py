"""Runs continuous queries: those that are due together, as one batch that ends at one instant.

What they deliver is inserted by one transaction, and how far each has come is recorded with it.  So a row is delivered
exactly once, whenever the process ends.  A query that fails stays where it is and does not hold up the others.

A query that reads the answers of another runs in a later round of the same batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc

from tidings.continuous.delivered import DeliveredRows
from tidings.continuous.matches import Matches
from tidings.continuous.query import ContinuousQuery
from tidings.continuous.registry import QueryRegistry
from tidings.continuous.rewritten import RewrittenMatches
from tidings.continuous.schedule import next_due, widening
from tidings.engine.changes import without_version
from tidings.errors import InvalidContinuousQuery, StaleWriter, TidingsError
from tidings.ir.expression import TIME
from tidings.lang.sql.statements.continuous import MATCHED_AT, EveryInterval, EveryTick, OnCommit
from tidings.rules.transactions import RuleTransactions
from tidings.store.rules.continuous_queries import QueryRecord, move
from tidings.store.timeline import Timeline

IDLE = 60_000_000
"""A query whose tables have not changed is recorded as having come further when it is so far behind."""

Delivery = tuple[ContinuousQuery, pa.Table]
"""Rows of answers that a query is to deliver."""


@dataclass(slots=True)
class ContinuousRuns:
    """Runs the continuous queries of one database."""

    registry: QueryRegistry
    transactions: RuleTransactions
    timer: Callable[[], float] = perf_counter
    """Measures how long a batch takes, in seconds."""
    matches: Matches = field(init=False)
    _delivered: DeliveredRows = field(init=False)

    def __post_init__(self) -> None:
        parts = self.transactions.write_parts
        self.matches = Matches(parts.scheduler, RewrittenMatches(parts.scheduler, parts.plans))
        self._delivered = DeliveredRows(parts.enforcer.finder)

    @property
    def _timeline(self) -> Timeline:
        return self.transactions.write_parts.timeline

    def advance(self) -> bool:
        """Run what is due; whether anything was delivered."""
        due = [query for query in self.registry.queries() if self._is_due(query)]
        delivered = False
        while due and self.run(due):
            delivered = True
            due = [q for q in self.registry.queries() if isinstance(q.schedule, OnCommit) and self._reads_news(q)]
        self._move_idle()
        return delivered

    def _is_due(self, query: ContinuousQuery) -> bool:
        match query.schedule:
            case OnCommit():
                return self.has_news(query)
            case EveryInterval() | EveryTick():
                return query.record.due is not None and query.record.due <= self._timeline.clock.now()
            case _:
                return False

    def has_news(self, query: ContinuousQuery) -> bool:
        """Whether something may have come into the answer of a query that is not known yet."""
        until, timeline = query.record.until, self._timeline
        if until is None or self.matches.meant_since(query) > until:
            return True
        return (query.reads_clock and timeline.clock.now() > until) or self._reads_news(query)

    def _reads_news(self, query: ContinuousQuery) -> bool:
        """Whether a table that a query depends on has changed since it last ran."""
        until, time, rows = query.record.until, self._timeline.time, self.registry.relations.rows
        return until is not None and until < time and any(rows(t).history.changed(until, time) for t in query.tables)

    def run(self, queries: Sequence[ContinuousQuery]) -> bool:
        """Run queries up to the present, as one batch; whether they delivered anything."""
        began, timeline = self.timer(), self._timeline
        if any(query.reads_clock for query in queries):
            timeline.settle_until(timeline.now())
        timeline.has_subscribers, until = True, timeline.settled()
        found = self.matches.until(queries, until)
        deliveries: list[Delivery] = []
        for query in queries:
            matches = found[query.id]
            if isinstance(matches, TidingsError):
                self._postpone(query, matches)
            else:
                deliveries.append((query, self._new_answers(query, matches)))
        took = round((self.timer() - began) * 1_000_000)
        return self._deliver(deliveries, until, took)

    def require_run(self, query: ContinuousQuery) -> None:
        """Run one query up to the present, whatever its schedule says; raises if it fails."""
        self.run([query])
        error = next(r.error for r in self.registry.records if r.id == query.id)
        if error is not None:
            raise InvalidContinuousQuery(name=query.name, reason=error)

    def _new_answers(self, query: ContinuousQuery, matches: pa.Table) -> pa.Table:
        """The rows of answers for what matches and has not been delivered."""
        columns = [f.name for f in query.plan.fields]
        new = self._delivered.new(query.answers, matches, columns)
        instants = new.column(TIME).cast(pa.timestamp("us"))
        return without_version(new).append_column(MATCHED_AT, instants).cast(query.answers.schema)

    def _deliver(self, deliveries: list[Delivery], until: int, took: int) -> bool:
        """Insert what queries deliver, and record how far they have come; whether anything was inserted.

        If it is refused, by a rule or a limit, each query is taken alone.
        """
        try:
            return self._insert(deliveries, until, took)
        except StaleWriter:
            raise
        except TidingsError as error:
            if len(deliveries) == 1:
                self._postpone(deliveries[0][0], error)
                return False
        delivered = [self._deliver([each], until, took) for each in deliveries]
        return any(delivered)

    def _insert(self, deliveries: list[Delivery], until: int, took: int) -> bool:
        moved = [self._moved(query, until, took) for query, _ in deliveries]
        filled = [(query, rows) for query, rows in deliveries if rows.num_rows]
        if not filled:
            self.registry.store.move(moved)
            self.registry.note(moved)
            return False

        def record(commit_time: int) -> None:
            with self.registry.storage.together() as pending:
                pending.batch.extra_writes.append(lambda connection: move(connection, moved))

        with self.transactions.begin(self._depth([q for q, _ in filled], until), record) as workspace:
            for query, rows in filled:
                workspace.add(query.answers, rows.sort_by(MATCHED_AT), 1)
                workspace.statement_done()
        self.registry.note(moved)
        return True

    def _depth(self, queries: list[ContinuousQuery], until: int) -> int:
        """How many firings of rules led to what queries deliver, so that rules which feed themselves are stopped."""
        context = self.transactions.context
        if not context.registry.records:
            return 0
        since = min(self.matches.start(query) for query in queries)
        rows, tables = self.registry.relations.rows, {t for query in queries for t in query.tables}
        depths = context.store.depths(since, until)
        touched = (rows(t).history.instants(since, until) for t in tables) if depths else ()
        return max((depths.get(at, 0) for instants in touched for at in pc.unique(instants).to_pylist()), default=0)

    def _moved(self, query: ContinuousQuery, until: int, took: int) -> QueryRecord:
        """The record of a query that ran up to an instant."""
        now, record = self._timeline.clock.now(), query.record
        widened = widening(query.schedule, record.widened, now, took)
        due = next_due(query.schedule, now, widened)
        return replace(record, until=until, due=due, widened=widened, ran=now, took=took, error=None)

    def _postpone(self, query: ContinuousQuery, error: TidingsError) -> None:
        """Note what went wrong with a query; it is tried again when it is next due."""
        due = next_due(query.schedule, self._timeline.clock.now(), query.record.widened)
        if due != query.record.due:
            record = replace(query.record, due=due)
            self.registry.store.move([record])
            self.registry.note([record])
        self.registry.set_error(query.id, error)

    def _move_idle(self) -> None:
        """Let queries whose tables have not changed for long come further, so that the log is not kept for them."""
        now = self._timeline.time
        behind = {r.id for r in self.registry.records if r.until is not None and r.until < now - IDLE}
        if behind:
            waiting = [q for q in self.registry.queries() if q.id in behind and isinstance(q.schedule, OnCommit)]
            moved = [replace(q.record, until=now) for q in waiting if not self.has_news(q)]
            if moved:
                self.registry.store.move(moved)
                self.registry.note(moved)
