"""Runs statements about continuous queries: CREATE, DROP and REFRESH."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tidings.analysis.influents import CLOCK, influents
from tidings.continuous.dependencies import QueryDependencies
from tidings.continuous.query import ANSWERS, ContinuousQuery, answer_columns
from tidings.continuous.registry import QueryRegistry
from tidings.continuous.runs import ContinuousRuns
from tidings.continuous.schedule import next_due
from tidings.errors import CircularView, DuplicateRelation, HistoryGone, InvalidContinuousQuery, UnknownContinuousQuery
from tidings.ir.relation import Relation
from tidings.lang.sql import statement as sql
from tidings.lang.sql.statements.continuous import (
    ContinuousStatement,
    CreateContinuousQuery,
    DropContinuousQuery,
    RefreshContinuousQuery,
)
from tidings.rewrite.monotone.rewriting import NoRewriting
from tidings.rules.dependencies import RuleDependencies
from tidings.store.alter import drop
from tidings.store.define import define
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.table import Table
from tidings.store.rules.continuous_queries import QueryRecord
from tidings.store.timeline import Timeline


@dataclass(frozen=True, slots=True)
class ContinuousStatements:
    """Runs statements about the continuous queries of one database."""

    runs: ContinuousRuns
    dependencies: QueryDependencies
    rule_dependencies: RuleDependencies
    timeline: Timeline

    @property
    def _registry(self) -> QueryRegistry:
        return self.runs.registry

    def run(self, statement: ContinuousStatement) -> None:
        """Run a statement about continuous queries."""
        match statement:
            case CreateContinuousQuery():
                self._create(statement)
            case DropContinuousQuery():
                self._drop(statement)
            case RefreshContinuousQuery():
                self._refresh(statement)
            case _:
                assert_never(statement)

    def before_definition(self, statement: sql.Statement) -> None:
        """Refuse a definition that continuous queries forbid; those whose meaning it changes run once more before."""
        self.dependencies.check_definition(statement)
        self.catch_up(self.dependencies.altered_by(statement))

    def before_load(self, table: str) -> None:
        """Run the queries that read a table before it gets its first rows, which count as having been there always."""
        self.catch_up(self.dependencies.dependents(table))

    def catch_up(self, queries: list[ContinuousQuery]) -> None:
        """Let queries deliver what matched up to now."""
        behind = [query for query in queries if self.runs.has_news(query)]
        if behind:
            self.runs.run(behind)

    def _create(self, statement: CreateContinuousQuery) -> None:
        registry = self._registry
        old = registry.find(statement.name)
        if old is not None and statement.if_absent:
            return
        table = registry.relations.find(statement.name)
        if (table is not None and old is None and not _is_answers(table)) or (
            old is not None and not statement.replace
        ):
            raise DuplicateRelation(statement.place, name=statement.name)
        plan = registry.bound_plan(statement)
        rewriting = self.runs.matches.rewritten.rewriting(statement)
        if isinstance(rewriting, NoRewriting) and statement.options.method == "rewriting":
            reason = f"it has no rewriting: {rewriting.reason}"
            raise InvalidContinuousQuery(statement.place, name=statement.name, reason=reason)
        name = statement.name if table is None else table.name
        self._check_circle(name, plan)
        since = self._beginning(statement, plan)
        self._provide_answers(name, plan)
        now = self.timeline.clock.now()
        record = QueryRecord(
            id=0 if old is None else old.id,
            name=name,
            text=statement.definition,
            created=self.timeline.now(),
            since=since,
            due=next_due(statement.options.schedule, now),
        )
        registry.store.put(record)
        registry.reload()
        registry.compiled.forget()

    def _check_circle(self, name: str, plan: Relation) -> None:
        """Refuse a query that would read its own answers, directly or through other queries."""
        registry, seen = self._registry, set[str]()
        unvisited = registry.relations.below(plan)
        while unvisited:
            below = unvisited.pop()
            if below.lower() == name.lower():
                raise CircularView(name=name, path=" through ".join([name, *sorted(seen)]))
            record = registry.find(below)
            if record is not None and record.name not in seen:
                seen.add(record.name)
                unvisited |= registry.bind(record).below

    def _beginning(self, statement: CreateContinuousQuery, plan: Relation) -> int:
        """From when on the answers of a new query count: what is not retained cannot, unless it can be rewritten."""
        relations = self._registry.relations
        tables = influents(plan, relations.definitions()) - {CLOCK}
        retained = max((relations.rows(t).forgotten for t in tables), default=0)
        match statement.options.since:
            case "beginning":
                rewriting = self.runs.matches.rewritten.rewriting(statement)
                return retained if isinstance(rewriting, NoRewriting) or statement.options.method == "changes" else 0
            case "now":
                return self.timeline.present(plan)
            case instant:
                if instant < retained:
                    table = max(tables, key=lambda t: relations.rows(t).forgotten)
                    raise HistoryGone(statement.place, table=table, at=instant, since=retained)
                return min(instant, self.timeline.now())

    def _provide_answers(self, name: str, plan: Relation) -> None:
        """Have a table for the answers; one that is there stays if it has the same columns."""
        registry, columns = self._registry, answer_columns(plan)
        table = registry.relations.find(name)
        if table is not None and table.columns == columns:
            return
        if isinstance(table, Table):
            self._drop_answers(table)
        define(registry.storage, Table(name, columns, constraints=Constraints(append_only=True), role=ANSWERS))

    def _drop(self, statement: DropContinuousQuery) -> None:
        registry = self._registry
        record, table = registry.find(statement.name), registry.relations.find(statement.name)
        if record is None and not _is_answers(table):
            if statement.if_exists:
                return
            try:
                registry.record(statement.name)
            except UnknownContinuousQuery as unknown:
                raise UnknownContinuousQuery(statement.place, unknown.hint, name=statement.name) from None
        if isinstance(table, Table):
            self._require_free(table)
        if record is not None:
            registry.store.drop(record.id)
            registry.reload()
        if isinstance(table, Table):
            self._drop_answers(table)
        registry.compiled.forget()

    def _require_free(self, table: Table) -> None:
        """Refuse to drop answers that somebody reads."""
        self._registry.relations.droppable(table.name, "TABLE")
        self.rule_dependencies.require_free(table.name, "dropped")
        self.dependencies.require_free(table.name, "dropped")

    def _drop_answers(self, table: Table) -> None:
        self._require_free(table)
        with self.timeline.redefining([table.name]):
            drop(self._registry.storage, [table])
        self._registry.compiled.forget()

    def _refresh(self, statement: RefreshContinuousQuery) -> None:
        try:
            query = self._registry.query(statement.name)
        except UnknownContinuousQuery as unknown:
            raise UnknownContinuousQuery(statement.place, unknown.hint, name=statement.name) from None
        self.runs.require_run(query)


def _is_answers(table: object) -> bool:
    return isinstance(table, Table) and table.role == ANSWERS
