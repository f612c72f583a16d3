"""Runs statements about silences: they begin, and end before their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tidings.errors import InvalidRule, UnknownGroup, UnknownRule, UnknownSilence
from tidings.lang.sql.statements.silence import EndSilence, SilenceRule, SilenceStatement, UnsilenceRule
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import DETACHED, Rule
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
            case SilenceRule(group=True):
                self._check_group(statement)
                self._silence(statement, group=statement.name)
            case SilenceRule():
                record = self._record(statement)
                self.silences.check(self.registry.bind(record), statement)
                self._silence(statement, rule=record.name)
            case EndSilence(number=number):
                if all(silence.id != number for silence in store.silences()):
                    raise UnknownSilence(statement.place, number=number)
                store.end(self._now(), [number])
            case UnsilenceRule(name=name, group=True):
                ids = [s.id for s in store.silences() if s.group is not None and s.group.lower() == name.lower()]
                if not ids and not self._rules_of(name):
                    raise _no_rules(statement)
                store.end(self._now(), ids)
            case UnsilenceRule():
                name = self._record(statement).name
                store.end(self._now(), [s.id for s in store.silences() if s.rule is not None and s.is_of(name, None)])
            case _:
                assert_never(statement)

    def _silence(self, statement: SilenceRule, *, rule: str | None = None, group: str | None = None) -> None:
        since = self._now()
        condition, comment = statement.condition_text, statement.comment
        until = since + statement.interval
        self.silences.store.add(since, until, rule=rule, group=group, condition=condition, comment=comment)

    def _check_group(self, statement: SilenceRule) -> None:
        """Refuse a group without rules that can be silenced, and a condition that does not fit all of these."""
        rules = self._rules_of(statement.name)
        if not rules:
            raise _no_rules(statement)
        detached = [rule for rule in rules if rule.action_coupling in DETACHED]
        if not detached:
            hint = f"DISABLE GROUP {statement.name} lets them rest"
            reason = f"all rules of the group {statement.name} act in the transaction"
            raise InvalidRule(statement.place, hint, name=rules[0].name, reason=reason)
        for rule in detached:
            self.silences.check(rule, statement)

    def _rules_of(self, group: str) -> list[Rule]:
        return [rule for rule in self.registry.rules() if (rule.options.group or "").lower() == group.lower()]

    def _record(self, statement: SilenceRule | UnsilenceRule) -> RuleRecord:
        try:
            return self.registry.record(statement.name)
        except UnknownRule as unknown:
            raise UnknownRule(statement.place, unknown.hint, name=statement.name) from None

    def _now(self) -> int:
        """The present, as an instant after all commits so far and before all that follow."""
        return self.timeline.settle_until(max(self.timeline.reserve_instant(), self.timeline.clock.now()))


def _no_rules(statement: SilenceRule | UnsilenceRule) -> UnknownGroup:
    return UnknownGroup(statement.place, name=statement.name)
