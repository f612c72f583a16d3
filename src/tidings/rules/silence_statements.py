"""Runs statements about silences: they begin, and end before their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tidings.errors import UnknownRule, UnknownSilence
from tidings.lang.sql.statements.silence import SilenceRule, SilenceStatement, UnsilenceRule
from tidings.rules.registry import RuleRegistry
from tidings.rules.silence import Silences
from tidings.store.rules.rule_store import RuleRecord
from tidings.store.timeline import Timeline


@dataclass(frozen=True, slots=True)
class SilenceStatements:
    """Runs statements about the silences of one database."""

    registry: RuleRegistry
    silences: Silences
    timeline: Timeline

    def run(self, statement: SilenceStatement) -> None:
        """Run a statement about silences."""
        store = self.silences.store
        match statement:
            case SilenceRule():
                record = self._record(statement.rule, statement)
                self.silences.check(self.registry.bind(record), statement)
                since = self._now()
                until = since + statement.interval
                store.add(record.name, statement.condition_text, since, until, statement.comment)
            case UnsilenceRule(rule=None, number=number):
                if all(silence.id != number for silence in store.silences()):
                    raise UnknownSilence(statement.place, number=number)
                store.end(self._now(), id=number)
            case UnsilenceRule(rule=rule):
                assert rule is not None
                store.end(self._now(), rule=self._record(rule, statement).name)
            case _:
                assert_never(statement)

    def _record(self, name: str, statement: SilenceStatement) -> RuleRecord:
        try:
            return self.registry.record(name)
        except UnknownRule as unknown:
            raise UnknownRule(statement.place, unknown.hint, name=name) from None

    def _now(self) -> int:
        """The present, as an instant after all commits so far and before all that follow."""
        return self.timeline.settle_until(max(self.timeline.reserve_instant(), self.timeline.clock.now()))
