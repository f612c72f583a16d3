"""A continuous query with its names resolved, and the table that holds what it has delivered.

The answers are a table of the query's name: its columns, and :data:`MATCHED_AT`, the instant at which a row first
matched.  Users read it, subscribe to it and watch it by rules; only the query itself inserts rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.analysis.influents import CLOCK
from tidings.ir.column import Column
from tidings.ir.relation import Relation
from tidings.lang.sql.statements.continuous import MATCHED_AT, CreateContinuousQuery, Schedule
from tidings.store.relation.table import Table
from tidings.store.rules.continuous_queries import QueryRecord

ANSWERS = "answers"
"""The role of tables that hold what continuous queries have delivered."""


@dataclass(slots=True)
class ContinuousQuery:
    """One continuous query."""

    record: QueryRecord
    statement: CreateContinuousQuery
    plan: Relation
    below: frozenset[str]
    """The tables and views it reads, directly or through others, and perhaps the clock."""
    tables: frozenset[str]
    """The tables it depends on."""
    answers: Table

    @property
    def id(self) -> int:
        return self.record.id

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def schedule(self) -> Schedule:
        return self.statement.options.schedule

    @property
    def reads_clock(self) -> bool:
        """Whether its answer changes when time passes."""
        return CLOCK in self.below


def answer_columns(plan: Relation) -> tuple[Column, ...]:
    """The columns of the table that holds the answers of a query."""
    return (*(Column(f.name, f.type) for f in plan.fields), Column(MATCHED_AT, "timestamp"))
