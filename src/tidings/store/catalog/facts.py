"""Facts about a database that its catalog has: its id, and the branches of its history.

A branch is begun by every writer that opens the database.  Whoever holds a position of a branch that is not among these
got it from a history that was lost, as when an older copy was put back.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from tidings.store.catalog import schema

ID = "id"
SETTLED = "settled"
"""The key of what is noted about the instants of answers."""
_BRANCHES = "branches"
_KEPT = 1000
"""So many branches are known; positions of earlier ones are refused."""


@dataclass(frozen=True, slots=True)
class SettledNote:
    """Up to when nothing is committed any more.

    >>> SettledNote.read(str(SettledNote(5, 7))), SettledNote.read(None)
    (SettledNote(at=5, until=7), SettledNote(at=0, until=0))
    """

    at: int = 0
    """An instant about which an answer was given."""
    until: int = 0
    """Later ones may have been given about instants up to this one."""

    def __str__(self) -> str:
        return f"{self.at} {self.until}"

    @staticmethod
    def read(noted: str | None) -> SettledNote:
        """The inverse of ``str``; nothing may be noted."""
        at, until = map(int, (noted or "0 0").split())
        return SettledNote(at, until)


def read(connection: Connection, key: str) -> str | None:
    """A fact, if it is known."""
    value: str | None = connection.execute(
        select(schema.meta.c.value).where(schema.meta.c.key == key)
    ).scalar_one_or_none()
    return value


def new_id(connection: Connection) -> str:
    """Give a database its id, for good."""
    id = uuid.uuid4().hex
    connection.execute(insert(schema.meta).values(key=ID, value=id))
    return id


def branches(connection: Connection) -> dict[str, int]:
    """The branches of the history, in order, each with the last instant before it began."""
    return dict(json.loads(read(connection, _BRANCHES) or "[]"))


def begin_branch(connection: Connection) -> dict[str, int]:
    """Begin a branch after all that was committed and answered; all branches that are known then."""
    last = int(connection.execute(select(func.max(schema.committed.c.time))).scalar() or 0)
    last = max(last, SettledNote.read(read(connection, SETTLED)).at)
    known = [*branches(connection).items(), (uuid.uuid4().hex[:12], last)][-_KEPT:]
    connection.execute(delete(schema.meta).where(schema.meta.c.key == _BRANCHES))
    connection.execute(insert(schema.meta).values(key=_BRANCHES, value=json.dumps(known)))
    return dict(known)
