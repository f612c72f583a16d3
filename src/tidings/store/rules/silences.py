"""Silences as the catalog holds them: which rules are not to be heard, for how long, and why."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, delete, func, insert, select, update

from tidings.store.catalog import schema
from tidings.store.storage import Storage

_SI = schema.silence


@dataclass(frozen=True, slots=True)
class Silence:
    """A rule is not heard from ``since`` on and before ``until``, of all instances or of those of a condition."""

    id: int
    rule: str
    condition: str | None
    since: int
    until: int
    comment: str | None

    def covers(self, instant: int) -> bool:
        return self.since <= instant < self.until


@dataclass(slots=True)
class SilenceStore:
    """The silences of one database; they are few, and held in memory."""

    storage: Storage
    _known: list[Silence] | None = field(init=False, default=None)

    def silences(self) -> list[Silence]:
        """All silences, in the order they were made."""
        if self._known is None:
            self._known = []
            if self.storage.has_rule_tables:
                with self.storage.rule_tables.reading() as connection:
                    rows = connection.execute(select(_SI).order_by(_SI.c.id)).all()
                self._known = [Silence(r.id, r.rule, r.condition, r.since, r.until, r.comment) for r in rows]
        return self._known

    def reload(self) -> None:
        """Read them from the catalog when they are next needed."""
        self._known = None

    def add(self, rule: str, condition: str | None, since: int, until: int, comment: str | None) -> Silence:
        """Keep a new one, under a number that none has had."""
        with self.storage.rule_tables.writing() as connection:
            last = int(connection.execute(select(func.max(_SI.c.id))).scalar() or 0)
            silence = Silence(last + 1, rule, condition, since, until, comment)
            values = {"condition": condition, "since": since, "until": until, "comment": comment}
            connection.execute(insert(_SI).values(id=silence.id, rule=rule, **values))
        self.reload()
        return silence

    def end(self, at: int, *, rule: str | None = None, id: int | None = None) -> None:
        """End those of a rule, or one, at an instant; they stay known."""
        self._end(at, _SI.c.id == id if rule is None else func.lower(_SI.c.rule) == rule.lower())

    def _end(self, at: int, which: ColumnElement[bool]) -> None:
        with self.storage.rule_tables.writing() as connection:
            connection.execute(update(_SI).where(which, _SI.c.until > at).values(until=at))
        self.reload()

    def forget(self, before: int) -> None:
        """Forget those that were over before an instant, but not the last: no number comes twice."""
        known = self.silences()
        old = [s.id for s in known[:-1] if s.until < before]
        if old:
            with self.storage.rule_tables.writing() as connection:
                connection.execute(delete(_SI).where(_SI.c.id.in_(old)))
            self.reload()
