"""Continuous queries as the catalog holds them: their texts, how far each has come, and when it runs next.

What a query delivered is in a table of its own, of the same name.  Rows get there, and the query moves on, in one
transaction of the catalog: a row is delivered exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, update

from tidings.store.catalog import schema
from tidings.store.fault_points import point
from tidings.store.storage import Storage

MOVED = "continuous.moved"
"""A point to die at: how far queries have come is written."""

_Q = schema.continuous_query


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """A continuous query as the catalog knows it."""

    id: int
    name: str
    text: str
    created: int
    since: int
    """From when on its answers count."""
    until: int | None = None
    """Up to when its answers are known; None before its first run."""
    due: int | None = None
    """When it is to run next, if it runs at instants of its own."""
    widened: int = 1
    """By how much its interval is widened to shed load."""
    ran: int | None = None
    """When it last ran."""
    took: int | None = None
    """How many microseconds the batch took in which it last ran."""
    error: str | None = None

    @property
    def log_needed_from(self) -> int:
        """The instant after which it has still to read what changed."""
        return self.since if self.until is None else self.until


@dataclass(frozen=True, slots=True)
class QueryStore:
    """The continuous queries of one database."""

    storage: Storage

    def queries(self) -> list[QueryRecord]:
        """All continuous queries, in the order they were made."""
        if not self.storage.has_rule_tables:
            return []
        with self.storage.rule_tables.reading() as connection:
            rows = connection.execute(select(_Q).order_by(_Q.c.id)).all()
        return [
            QueryRecord(r.id, r.name, r.text, r.created, r.since, r.until, r.due, r.widened, r.ran, r.took, r.error)
            for r in rows
        ]

    def put(self, record: QueryRecord) -> QueryRecord:
        """Keep a query, in the place of one of the same number; number 0 gets one that none has."""
        with self.storage.rule_tables.writing() as connection:
            id = record.id or int(connection.execute(select(func.max(_Q.c.id))).scalar() or 0) + 1
            connection.execute(delete(_Q).where(_Q.c.id == id))
            values = {"id": id, "name": record.name, "text": record.text, "created": record.created}
            values |= {"since": record.since, "until": record.until, "due": record.due, "widened": record.widened}
            connection.execute(insert(_Q).values(**values))
        return QueryRecord(id, record.name, record.text, record.created, record.since, record.until, record.due)

    def drop(self, id: int) -> None:
        """Forget a query."""
        with self.storage.rule_tables.writing() as connection:
            connection.execute(delete(_Q).where(_Q.c.id == id))

    def move(self, records: Sequence[QueryRecord]) -> None:
        """Note how far queries have come, in a transaction of its own."""
        with self.storage.rule_tables.writing() as connection:
            move(connection, records)


def move(connection: Connection, records: Sequence[QueryRecord]) -> None:
    """Note how far queries have come, and when they run next, in the caller's transaction."""
    for r in records:
        values = {"until": r.until, "due": r.due, "widened": r.widened, "ran": r.ran, "took": r.took, "error": r.error}
        connection.execute(update(_Q).where(_Q.c.id == r.id).values(**values))
    point(MOVED)
