"""The continuous queries of a database: their records in the catalog, and the bound queries made from them.

A query is stored as its text, and bound when it is first needed after a definition has changed.  One that cannot be
bound does not run, and its record says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tidings.analysis.influents import CLOCK, influents
from tidings.compiled import CompiledPlans
from tidings.continuous.query import ANSWERS, ContinuousQuery, answer_columns
from tidings.errors import DuplicateColumn, InvalidContinuousQuery, TidingsError, UnknownContinuousQuery, closest
from tidings.ir.relation import Relation
from tidings.lang.sql import statement as sql
from tidings.lang.sql.bind import bind
from tidings.lang.sql.mentions import first_mention
from tidings.lang.sql.statements.continuous import MATCHED_AT, CreateContinuousQuery
from tidings.rules.error_text import error_text
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.rules.continuous_queries import QueryRecord, QueryStore
from tidings.store.storage import Storage


@dataclass(slots=True)
class QueryRegistry:
    """Knows the continuous queries of one database."""

    store: QueryStore
    compiled: CompiledPlans
    _records: list[QueryRecord] | None = field(init=False, default=None)
    _bound: dict[tuple[int, str], ContinuousQuery] = field(init=False)
    """Bound queries by number and text."""

    def __post_init__(self) -> None:
        self._bound = self.compiled.section()

    @property
    def storage(self) -> Storage:
        return self.store.storage

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    # records

    @property
    def records(self) -> list[QueryRecord]:
        """The records of all queries, in the order they were created."""
        if self._records is None:
            self._know(self.store.queries())
        assert self._records is not None
        return self._records

    def _know(self, records: list[QueryRecord]) -> None:
        self._records = records
        self.storage.query_cursors = {r.id: r.log_needed_from for r in records}

    def find(self, name: str) -> QueryRecord | None:
        """The record of a query by its name, or None if there is no such query."""
        return next((r for r in self.records if r.name.lower() == name.lower()), None)

    def record(self, name: str) -> QueryRecord:
        """The record of a query by its name."""
        record = self.find(name)
        if record is None:
            raise UnknownContinuousQuery(None, closest(name, [r.name for r in self.records]), name=name)
        return record

    def reload(self) -> None:
        """Read the records from the catalog; from then on the log is kept that they need."""
        self._know(self.store.queries())

    def note(self, moved: Iterable[QueryRecord]) -> None:
        """Know how far queries have come, as the catalog has it already."""
        by_id = {r.id: r for r in moved}
        self._know([by_id.get(r.id, r) for r in self.records])

    def set_error(self, id: int, error: Exception | None) -> None:
        """Record what is wrong with a query, or that nothing is."""
        record = next(r for r in self.records if r.id == id)
        message = None if error is None else error_text(error)
        if record.error != message and not self.storage.is_reader:
            self.store.move([replace(record, error=message)])
            self.note([replace(record, error=message)])

    # bound queries

    def queries(self) -> list[ContinuousQuery]:
        """All queries that can be bound, in the order they were created; the others are marked as failing."""
        bound: list[ContinuousQuery] = []
        for record in self.records:
            try:
                bound.append(self.bind(record))
            except TidingsError as error:
                self.set_error(record.id, error)
        return bound

    def query(self, name: str) -> ContinuousQuery:
        """The query of a name."""
        return self.bind(self.record(name))

    def bind(self, record: QueryRecord) -> ContinuousQuery:
        """The query of a record; it is bound once for as long as definitions stay."""
        key = record.id, record.text
        if key not in self._bound:
            (statement,) = sql.read(record.text)
            assert isinstance(statement, CreateContinuousQuery)
            answers = self.relations.find(record.name)
            if not isinstance(answers, Table) or answers.role != ANSWERS:
                raise InvalidContinuousQuery(name=record.name, reason="the table of its answers is missing")
            plan = self.bound_plan(statement)
            if answer_columns(plan) != answers.columns:
                raise InvalidContinuousQuery(name=record.name, reason="its columns are not those of its answers")
            self._bound[key] = self.of(record, statement, plan, answers)
        self._bound[key].record = record
        return self._bound[key]

    def bound_plan(self, statement: CreateContinuousQuery, relations: Relations | None = None) -> Relation:
        """The bound plan of a statement's query, or a refusal."""
        among = relations or self.relations
        mention = first_mention(statement.query, statement.text, among.system_tables)
        if mention is not None:
            reason = f"it reads {mention.written}, which has no changes"
            raise InvalidContinuousQuery(mention.place, name=statement.name, reason=reason)
        query_text = statement.query_text
        plan = bind(statement.query, statement.text, among, self.storage.backend, statement.name, query_text)
        if any(f.name.lower() == MATCHED_AT for f in plan.fields):
            raise DuplicateColumn(statement.place, "name the query's column otherwise with AS", name=MATCHED_AT)
        return plan

    def of(
        self, record: QueryRecord, statement: CreateContinuousQuery, plan: Relation, answers: Table
    ) -> ContinuousQuery:
        """A query with what it reads."""
        tables = influents(plan, self.relations.definitions()) - {CLOCK}
        return ContinuousQuery(record, statement, plan, frozenset(self.relations.below(plan)), tables, answers)
