"""Finds what matches by the rewriting of a query: one query over the tables as they are, guarded by their times.

It is the second way, for queries over append-only tables that say when their rows came
(:mod:`tidings.rewrite.monotone`).  It reads no log, so it also reaches what is not retained.  It is true only if the
time column of every table says when its rows were committed: that is looked at for what came since the last run, and
for what claims to come later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tidings.continuous.query import ContinuousQuery
from tidings.delta.cost import Cost
from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import versioned
from tidings.engine.sql.standard_text import query_text, timestamp
from tidings.ir import text as plan_text
from tidings.ir.column import Column
from tidings.ir.expression import TIME, show, show_name
from tidings.ir.relation import Relation, Version
from tidings.ir.standard_form import Alternative
from tidings.lang.sql.statement import Query
from tidings.lang.sql.statements.continuous import MATCHED_AT, CreateContinuousQuery
from tidings.read import in_transaction
from tidings.read.bound_plans import BoundPlans
from tidings.read.rewritings import Rewritings
from tidings.rewrite.monotone.instants import with_instants
from tidings.rewrite.monotone.rewriting import NoRewriting, Rewriting
from tidings.store.relation.history import instants
from tidings.store.relation.table import Table
from tidings.waves.scheduler import Scheduler
from tidings.waves.strategy import Estimate

_START, _UNTIL = -29_999_999_999_999_999, -29_999_999_999_999_998
"""Instants that stand for the two of a run: in the year 1019."""

_OPERATORS = 3
"""What a table adds to the plan of a query: a scan, a condition and a join."""


@dataclass(slots=True)
class RewrittenMatches:
    """Finds by rewritings what matches the continuous queries of one database."""

    scheduler: Scheduler
    plans: BoundPlans
    _rewritings: dict[str, Rewriting | NoRewriting] = field(init=False)
    """By the texts of the statements."""
    _templates: dict[str, str] = field(init=False)
    """Bound incremental queries as text, with marks for the two instants, by the texts of the statements."""
    _told: dict[int, tuple[int, int]] = field(init=False, default_factory=dict)
    """From when to when the time columns of tables are known to tell the instants of rows, by table."""

    def __post_init__(self) -> None:
        compiled = self.scheduler.planner.compiled
        self._rewritings, self._templates = compiled.section(), compiled.section()

    def rewriting(self, statement: CreateContinuousQuery) -> Rewriting | NoRewriting:
        """The rewriting of a query, or why there is none; found out once."""
        key = statement.definition
        if key not in self._rewritings:
            query = Query(statement.query, statement.text, statement.query_text)
            self._rewritings[key] = Rewritings(self.plans).rewriting(query)
        return self._rewritings[key]

    def obstacle(self, query: ContinuousQuery, start: int, until: int) -> str | None:
        """Why a rewriting does not say what matched in ``(start, until]``; None if it does."""
        rewriting = self.rewriting(query.statement)
        if isinstance(rewriting, NoRewriting):
            return rewriting.reason
        for name in sorted(query.tables):
            if not self._tells_instants(self.scheduler.relations.table(name), start, until):
                return f"the time column of {name} does not say when its rows came"
        return None

    def estimate(self, query: ContinuousQuery, until: int) -> Estimate:
        """What it would take: every table is read whole, as often as the guarded queries mention it."""
        rewriting = self.rewriting(query.statement)
        assert isinstance(rewriting, Rewriting)
        mentions = [name for a in rewriting.incremental.alternatives for name in _mentions(a)]
        rows = sum(self.scheduler.relations.table(name).history.size(until) for name in mentions)
        cost = Cost(operators=_OPERATORS * len(mentions), whole=rows, large_statements=1)
        engine = self.scheduler.engines.runner.backend.name
        seconds = self.scheduler.planner.estimator.calibration.speeds(engine).seconds(cost)
        return Estimate(seconds, engine, rows)

    def first(self, query: ContinuousQuery, start: int, until: int) -> pa.Table:
        """The rows that began to match in ``(start, until]``, with their instants, and perhaps some from before."""
        rows = in_transaction.answer(self.scheduler, self._incremental(query.statement, start, until), until)
        columns = tuple(Column(f.name, f.type) for f in query.plan.fields)
        times = rows.column(MATCHED_AT).cast(pa.timestamp("us")).cast(pa.int64())
        matched = rows.drop_columns([MATCHED_AT]).rename_columns([c.name for c in columns])
        return versioned(matched, times).cast(arrow_schema(columns, versioned=True))

    def _incremental(self, statement: CreateContinuousQuery, start: int, until: int) -> Relation:
        """The incremental query for two instants; it is bound once, for two instants that no query mentions."""
        key = statement.definition
        if key not in self._templates:
            rewriting = self.rewriting(statement)
            assert isinstance(rewriting, Rewriting)
            form = with_instants(rewriting.incremental, MATCHED_AT)
            text = query_text(form, timestamp(_UNTIL), timestamp(_START))
            self._templates[key] = plan_text.show(self.plans.parse(text))
        marked = self._templates[key]
        for mark, at in ((_START, start), (_UNTIL, until)):
            marked = marked.replace(show(timestamp(mark)), show(timestamp(at)))
        return plan_text.parse(marked)

    # whether time columns tell the instants of rows

    def _tells_instants(self, table: Table, start: int, until: int) -> bool:
        """Whether no row claims to come after ``start`` that was there then, and all that came since tell when."""
        low, high = self._told.get(table.id, (until + 1, until))
        if not low <= start <= high:
            low = high = max(start, table.forgotten)
            if not self._is_past(table, low):
                return False
        if high < until and not self._tells_in_log(table, high, until):
            return False
        self._told[table.id] = (min(low, start), max(high, until))
        return True

    def _tells_in_log(self, table: Table, since: int, until: int) -> bool:
        changes = table.source(Version.DELTA, since, until).changes
        if not isinstance(changes, pa.Table):
            return False
        tells = pc.fill_null(pc.equal(instants(table, changes), changes.column(TIME)), False)
        return bool(pc.all(tells, min_count=0).as_py())

    def _is_past(self, table: Table, at: int) -> bool:
        """Whether the rows of a table at an instant all say that they came by then."""
        if not table.history.size(at):
            return True
        column = next(c for c in table.columns if c.name == table.constraints.time_column)
        value = str(at) if column.type == "bigint" else show(timestamp(at))
        name, relation = show_name(column.name), show_name(table.name)
        plan = self.plans.parse(f"SELECT count(*) AS rows FROM {relation} WHERE {name} > {value}")
        (answer,) = in_transaction.answer(self.scheduler, plan, at).to_pylist()
        return not answer["rows"]


def _mentions(alternative: Alternative) -> Iterator[str]:
    """The tables of an alternative, as often as it mentions them."""
    yield from (use.table.name for use in alternative.tables)
    for absent in alternative.absent:
        yield from _mentions(absent)
