"""Statements about silences: they are made, and ended before their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tidings.errors import UnknownRule, UnknownSilence
from tidings.lang.sql.statements.silence import SilenceRule, SilenceStatement, UnsilenceRule
from tidings.rules.registry import RuleRegistry
from tidings.store.rules.rule_store import RuleRecord


@dataclass(frozen=True, slots=True)
class SilenceStatements:
    """Runs statements about the silences of one database."""

    registry: RuleRegistry

    def run(self, read: SilenceStatement) -> None:
        """Do what a statement about silences says."""
        store = self.registry.silences.store
        match read:
            case SilenceRule():
                kept = self._named(read.rule, read)
                self.registry.silences.check(self.registry.ready(kept), read)
                since = self._instant()
                store.add(kept.name, read.condition_text, since, since + read.interval, read.comment)
            case UnsilenceRule(rule=None, number=number):
                if all(s.id != number for s in store.silences()):
                    raise UnknownSilence(read.place, number=number)
                store.end(self._instant(), id=number)
            case UnsilenceRule(rule=rule):
                assert rule is not None
                store.end(self._instant(), rule=self._named(rule, read).name)
            case _:
                assert_never(read)

    def _named(self, name: str, read: SilenceStatement) -> RuleRecord:
        try:
            return self.registry.named(name)
        except UnknownRule as unknown:
            raise UnknownRule(read.place, unknown.hint, name=name) from None

    def _instant(self) -> int:
        """The present, as an instant after all commits so far and before all that follow."""
        timeline = self.registry.timeline
        return timeline.tell(max(timeline.own_instant(), timeline.clock.now()))
