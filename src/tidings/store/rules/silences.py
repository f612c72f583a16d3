"""Silences as the catalog holds them: which rules, or groups of rules, are not to be heard, how long, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import delete, func, insert, select, update

from tidings.store.catalog import schema
from tidings.store.storage import Storage

_SI = schema.silence


@dataclass(frozen=True, slots=True)
class Silence:
    """Rules are not heard from ``since`` on and before ``until``, of all instances or of those of a condition."""

    id: int
    rule: str | None
    """The one rule; None if it is of a group."""
    group: str | None
    """The group; None if it is of one rule."""
    condition: str | None
    since: int
    until: int
    comment: str | None

    def is_of(self, rule: str, group: str | None) -> bool:
        """Whether it is of a rule, which may be in a group."""
        if self.rule is not None:
            return self.rule.lower() == rule.lower()
        return self.group is not None and group is not None and self.group.lower() == group.lower()

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
                self._known = [
                    Silence(r.id, r.rule, r.rule_group, r.condition, r.since, r.until, r.comment) for r in rows
                ]
        return self._known

    def reload(self) -> None:
        """Read them from the catalog when they are next needed."""
        self._known = None

    def add(
        self,
        since: int,
        until: int,
        *,
        rule: str | None = None,
        group: str | None = None,
        condition: str | None = None,
        comment: str | None = None,
    ) -> Silence:
        """Keep a new one of a rule or of a group, under a number that none has had."""
        with self.storage.rule_tables.writing() as connection:
            last = int(connection.execute(select(func.max(_SI.c.id))).scalar() or 0)
            silence = Silence(last + 1, rule, group, condition, since, until, comment)
            values = {"condition": condition, "since": since, "until": until, "comment": comment}
            connection.execute(insert(_SI).values(id=silence.id, rule=rule, rule_group=group, **values))
        self.reload()
        return silence

    def end(self, at: int, ids: Sequence[int]) -> None:
        """End some at an instant, where they are not over; they stay known."""
        with self.storage.rule_tables.writing() as connection:
            connection.execute(update(_SI).where(_SI.c.id.in_(ids), _SI.c.until > at).values(until=at))
        self.reload()

    def forget(self, before: int) -> None:
        """Forget those that were over before an instant, but not the last: no number comes twice."""
        known = self.silences()
        old = [s.id for s in known[:-1] if s.until < before]
        if old:
            with self.storage.rule_tables.writing() as connection:
                connection.execute(delete(_SI).where(_SI.c.id.in_(old)))
            self.reload()
