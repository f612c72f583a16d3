"""The transactions that users gave an id, so that one which is sent twice counts once.

The id is recorded in the catalog transaction of the commit: both are there after a crash, or neither is.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, inspect, select

from tidings.errors import InvalidTransactionId, TransactionRepeated
from tidings.store.catalog import schema
from tidings.store.storage import Storage

_AP = schema.applied

KEPT = 90 * 86_400_000_000
"""How many microseconds an id is known for at least."""
LONGEST = 1_000
"""How many bytes an id may have: what every catalog can index."""


@dataclass(frozen=True, slots=True)
class AppliedTransactions:
    """Knows the ids of one database."""

    storage: Storage

    def time(self, id: str) -> int | None:
        """When a transaction of this id was committed; None if none was."""
        require_id(id)
        if not self.storage.has_rule_tables:
            return None
        with self.storage.rule_tables.reading() as connection:
            if not inspect(connection).has_table(_AP.name):
                return None
            time = connection.execute(select(_AP.c.time).where(_AP.c.id == id)).scalar()
        return None if time is None else int(time)

    def record(self, id: str, time: int) -> None:
        """Record an id with the commit that is under way; it is refused if the id was committed meanwhile."""
        before = self.time(id)
        if before is not None:
            raise TransactionRepeated(id=id, time=before)

        def write(connection: Connection) -> None:
            _AP.create(connection, checkfirst=True)
            connection.execute(delete(_AP).where(_AP.c.time < time - KEPT))
            connection.execute(insert(_AP).values(id=id, time=time))

        with self.storage.together() as pending:
            pending.batch.extra_writes.append(write)


def require_id(id: object) -> None:
    """Refuse what cannot be the id of a transaction."""
    if not isinstance(id, str):
        reason = f"it is of the type {type(id).__name__}"
    elif not id:
        reason = "it is empty"
    elif len(id.encode("utf-8", "replace")) > LONGEST:
        reason = f"it has more than {LONGEST} bytes"
    elif "\0" in id or any("\ud800" <= letter <= "\udfff" for letter in id):
        reason = "it has a letter that no catalog can keep"
    else:
        return
    raise InvalidTransactionId(id=ascii(id)[:100], reason=reason)
