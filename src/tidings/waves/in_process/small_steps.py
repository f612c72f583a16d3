"""Runs steps over a few rows by prepared queries: planned once per step, and not once per wave.

The inputs of a small step are the deltas of a batch and the rows that were looked up for it.  A step over a handful of
rows is run in Python, if it is made of what the interpreter knows (:mod:`tidings.engine.interpreter`): that takes a
fraction of the time of a query.  For others there are three ways to give the rows to the query
(:class:`tidings.engine.duckdb.prepared_queries.PreparedQueries`):

1. A handful of rows are given as parameters, one list per column.  Joins are filters over cross products then.
2. More rows are put into tables that stay; an input that several steps of a batch read is put there once.
3. Many rows too, but there the order of joins is chosen by the numbers of rows of the first wave.

The weights of its delta are added up here: for a few rows that takes a fifth of the time DuckDB would need.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tidings.compiled import CompiledPlans, Identity
from tidings.delta.plan import Step
from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Backend
from tidings.engine.backends import prepared_queries
from tidings.engine.changes import summed
from tidings.engine.interpreter import InterpretedInput, InterpretedPlan, LeftToEngine, NotInterpreted, interpreted
from tidings.engine.interpreter.rows import has_rows, rows_of, table_of
from tidings.engine.interpreter.values import Row
from tidings.engine.source import Sources
from tidings.engine.sql.listed_inputs import is_listable, list_of, over_lists, parameter
from tidings.engine.sql.lower import lower, source_name
from tidings.ir.relation import VERSION_COLUMNS, Column, Consolidate, Relation, Scan, Version
from tidings.ir.traverse import walk

if TYPE_CHECKING:
    from tidings.engine.duckdb import PreparedQueries

SMALL_LIMIT = 300_000
"""So many rows may the inputs of a small step have together."""

UNORDERED_LIMIT = 5_000
"""Up to so many rows are joined in the order in which the step is written."""

INTERPRETED_LIMIT = 256
"""Up to so many rows of inputs are gone through in Python."""

LISTED_LIMIT, CROSS_LIMIT = 16, 4_000
"""So many rows of inputs are given as lists, if their cross product has no more than so many."""


class _Input(NamedTuple):
    """One version of a relation that a step reads, what of it, and the name of its table."""

    relation: str
    version: Version
    columns: tuple[Column, ...]
    table: str


class _SmallStep(NamedTuple):
    """The query of a step, over tables and over lists."""

    inputs: tuple[_Input, ...]
    schema: pa.Schema
    ends: tuple[str, ...]
    """Which ends of the batch it mentions: ``since``, ``until``."""
    over_tables: str
    over_lists: str | None
    """None if not all values can be listed."""
    is_delta: bool
    """Whether its rows are changes, whose weights are still to be added up."""
    interpreted: InterpretedPlan | None
    """None if something in it is left to the engine."""


@dataclass(slots=True)
class SmallSteps:
    """Runs small steps in this process."""

    second: Backend
    """For whose dialect queries are written."""
    compiled: CompiledPlans
    memory: int
    """So many bytes may each of its engines take."""
    _steps: dict[Identity[Relation], _SmallStep | None] = field(init=False)
    """The queries of plans; None where one has an input that is not a table of changes."""
    _over_lists: PreparedQueries = field(init=False)
    _over_tables: PreparedQueries = field(init=False)
    _over_large_tables: PreparedQueries = field(init=False)

    def __post_init__(self) -> None:
        self._steps = self.compiled.section()
        self._over_lists = prepared_queries(self.memory, "crossed")
        self._over_tables = prepared_queries(self.memory, "as written")
        self._over_large_tables = prepared_queries(self.memory, "by size")
        for queries in self._engines:
            self.compiled.on_forget(queries.forget)

    @property
    def _engines(self) -> tuple[PreparedQueries, ...]:
        return self._over_lists, self._over_tables, self._over_large_tables

    def run(self, step: Step, sources: Sources, since: int, until: int) -> pa.Table | None:
        """The delta of a step over the batch ``(since, until]``; None if the step is not small."""
        key = Identity(step.plan)
        if key not in self._steps:
            schema = arrow_schema(step.columns, versioned=True)
            is_delta = isinstance(step.plan, Consolidate)
            plan = step.plan.input if isinstance(step.plan, Consolidate) else step.plan
            self._steps[key] = _small_step(plan, schema, self.second, is_delta=is_delta)
        return self._rows(self._steps[key], sources, since, until)

    def rows(self, plan: Relation, sources: Sources, since: int, until: int) -> pa.Table | None:
        """The rows of any plan over deltas and rows that were looked up; None if it is not small."""
        return self._rows(self._query(plan), sources, since, until)

    def row(self, plan: Relation, sources: Sources, since: int, until: int) -> Row | None:
        """The values of a plan that has one row; None if it is not small."""
        small = self._query(plan)
        inputs = _inputs_in_memory(small, sources)
        if small is not None and inputs is not None:
            values = _interpreted(small, inputs)
            if values is not None:
                return values[0]
        table = self._rows(small, sources, since, until)
        return None if table is None else tuple(column[0].as_py() for column in table.columns)

    def _query(self, plan: Relation) -> _SmallStep | None:
        """What is kept for a plan."""
        key = Identity(plan)
        if key not in self._steps:
            schema = arrow_schema(Column(f.name, f.type) for f in plan.fields)
            self._steps[key] = _small_step(plan, schema, self.second)
        return self._steps[key]

    def _rows(self, small: _SmallStep | None, sources: Sources, since: int, until: int) -> pa.Table | None:
        rows = _inputs_in_memory(small, sources)
        if small is None or rows is None:
            return None
        values = _interpreted(small, rows)
        if values is not None:
            answer = _as_table(small, values)
            if answer is not None:
                return answer
        sizes = [table.num_rows for table in rows]
        batch = {"since": since, "until": until}
        ends = {end: f"CAST({batch[end]} AS BIGINT)" for end in small.ends}
        if small.over_lists is not None and sum(sizes) <= LISTED_LIMIT and prod(n or 1 for n in sizes) <= CROSS_LIMIT:
            delta = self._over_lists.fetch(small.over_lists, ends | _lists(small.inputs, rows))
        else:
            queries = self._over_tables if sum(sizes) <= UNORDERED_LIMIT else self._over_large_tables
            queries.fill({wanted.table: changes for wanted, changes in zip(small.inputs, rows, strict=True)})
            delta = queries.fetch(small.over_tables, ends)
        answer = conform(delta, small.schema)
        return summed(answer) if small.is_delta else answer

    def close(self) -> None:
        """Close all engines."""
        for queries in self._engines:
            queries.close()


def _small_step(plan: Relation, schema: pa.Schema, second: Backend, *, is_delta: bool = False) -> _SmallStep | None:
    statement, inputs = lower(plan, second.dialect), _inputs(plan)
    if statement.key_lists or any(i.version is Version.CURRENT for i in inputs):
        return None
    text = statement.filled(lambda *_: "", "CAST($since AS BIGINT)", "CAST($until AS BIGINT)")
    ends = tuple(end for end in ("since", "until") if f"CAST(${end} AS" in text)
    listed = None
    if all(is_listable(column.type) for i in inputs for column in i.columns):
        listed = over_lists(text, {i.table: i.columns for i in inputs})
    return _SmallStep(inputs, schema, ends, text, listed, is_delta, _interpreter(plan, inputs))


def _interpreter(plan: Relation, inputs: tuple[_Input, ...]) -> InterpretedPlan | None:
    if not all(has_rows(column.type) for i in inputs for column in i.columns):
        return None
    places = {(i.relation, i.version): InterpretedInput(n, i.columns) for n, i in enumerate(inputs)}
    try:
        return interpreted(plan, places)
    except NotInterpreted:
        return None


def _inputs_in_memory(small: _SmallStep | None, sources: Sources) -> list[pa.Table] | None:
    """The rows of all inputs; None if some are not in memory, or they are many."""
    rows: list[pa.Table] = []
    for wanted in () if small is None else small.inputs:
        source = sources(wanted.relation, wanted.version)
        if source.base is not None or not isinstance(source.changes, pa.Table):
            return None
        rows.append(source.changes)
    return rows if sum(table.num_rows for table in rows) <= SMALL_LIMIT else None


def _interpreted(small: _SmallStep, rows: list[pa.Table]) -> list[Row] | None:
    """The rows of a step, run in Python; None where that is left to the engine."""
    if small.interpreted is None or sum(table.num_rows for table in rows) > INTERPRETED_LIMIT:
        return None
    try:
        return small.interpreted([rows_of(table, i.columns) for table, i in zip(rows, small.inputs, strict=True)])
    except LeftToEngine:
        return None


def _as_table(small: _SmallStep, rows: list[Row]) -> pa.Table | None:
    """Rows that were computed in Python, weights added up; None if some do not fit."""
    try:
        answer = table_of(rows, small.schema)
    except LeftToEngine:
        return None
    return summed(answer) if small.is_delta else answer


def _inputs(plan: Relation) -> tuple[_Input, ...]:
    """Every version of every relation that a plan reads, with all columns that some scan of it wants."""
    columns: dict[tuple[str, Version], dict[Column, None]] = {}
    for node in walk(plan):
        if isinstance(node, Scan):
            columns.setdefault((node.relation, node.version), {}).update(dict.fromkeys(node.columns))
    return tuple(
        _Input(relation, version, (*wanted, *VERSION_COLUMNS), source_name(relation, version))
        for (relation, version), wanted in columns.items()
    )


def _lists(inputs: tuple[_Input, ...], rows: list[pa.Table]) -> dict[str, str]:
    """The arguments for the columns of all inputs."""
    columns = ((table.column(c.name), c.type) for i, table in zip(inputs, rows, strict=True) for c in i.columns)
    return {parameter(n): list_of(values, type) for n, (values, type) in enumerate(columns)}
