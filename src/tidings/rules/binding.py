"""Binds rules: from the statement ``CREATE RULE`` to a :class:`tidings.rules.rule.Rule` that can be judged.

Names are resolved, and whatever does not go together is refused with its place in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from tidings.analysis.influents import CLOCK, influents
from tidings.clock import micros
from tidings.errors import InvalidRule
from tidings.lang.sql import statement as sql
from tidings.lang.sql.context import Analyzer
from tidings.lang.sql.rules.condition import BoundCondition, bind_condition
from tidings.lang.sql.statements.rule import CreateRule
from tidings.read.side_by_side import change_source
from tidings.rewrite.instances import instances
from tidings.rules.action import check as actions
from tidings.rules.action import message_groups
from tidings.rules.event import check as events
from tidings.rules.instance import tracking
from tidings.rules.rule import Rule, instance_key
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.rules.rule_store import RuleRecord


@dataclass(frozen=True, slots=True)
class RuleBinder:
    """Binds the rules of one database."""

    relations: Relations
    analyzer: Analyzer

    def bind_record(self, record: RuleRecord) -> Rule:
        """Bind a rule from its record in the catalog."""
        (statement,) = sql.read(record.text)
        assert isinstance(statement, CreateRule)
        return self.bind(record, statement)

    def bind(self, record: RuleRecord, statement: CreateRule) -> Rule:
        """Bind a rule, or refuse it."""
        relations = self.relations
        event_tables = frozenset[str]()
        if statement.event is not None:
            events.check(statement.event, relations, statement.name)
            event_tables = self._event_tables(events.tables(statement.event))
        condition = bind_condition(statement, relations, partial(change_source, relations), self.analyzer)
        key = instance_key(statement, condition)
        rule = Rule(
            record=record,
            statement=statement,
            condition=condition,
            instances=instances(condition.plan, key, relations.primary_keys(), relations.definitions()),
            dependencies=self._dependencies(statement, condition),
            event_tables=event_tables,
            evaluates_on_event=self._evaluates_on_event(statement, condition, event_tables),
        )
        check_rule(rule, relations)
        return rule

    def _evaluates_on_event(
        self, statement: CreateRule, condition: BoundCondition, event_tables: frozenset[str]
    ) -> bool:
        """Whether a rule fires for all that holds when its event happens, as it says or as its event has it."""
        if statement.options.when is not None or statement.event is None:
            return statement.options.when == "state"
        if condition.event_rows:
            return True
        reads_event = event_tables & self.relations.below(condition.plan)
        return not condition.changes and not events.has_tables(statement.event) and not reads_event

    def _event_tables(self, names: frozenset[str]) -> frozenset[str]:
        """The tables, views and signals of some names, and the tables that such views depend on."""
        found = [relation for name in names if (relation := self.relations.find(name)) is not None]
        definitions = self.relations.definitions()
        below = (influents(relation.plan, definitions) for relation in found if not isinstance(relation, Table))
        return frozenset(relation.name for relation in found).union(*below) - {CLOCK}

    def _dependencies(self, statement: CreateRule, condition: BoundCondition) -> frozenset[str]:
        """The tables, and perhaps the clock, that a condition depends on."""
        definitions = self.relations.definitions()
        names = influents(condition.plan, definitions).union(
            *(influents(of.plan, definitions) for of in condition.changes)
        )
        if names & self.relations.system_tables.keys():
            reason = "its condition reads what the database knows of itself, which has no changes"
            raise InvalidRule(statement.place, name=statement.name, reason=reason)
        made_up = {of.relation for of in condition.changes} | {rows.relation for rows in condition.event_rows}
        return frozenset(names - made_up)


def check_rule(rule: Rule, relations: Relations) -> None:
    """Refuse a rule whose options, event, condition and action do not go together."""
    _check_couplings(rule)
    _check_instants(rule)
    tracking.check(rule)
    message_groups.check(rule)
    actions.check(rule, relations)


def _check_couplings(rule: Rule) -> None:
    statement = rule.statement
    is_detached = rule.condition_coupling == "detached"
    acts_at_once = (
        rule.options.condition == "detached" and rule.action_coupling == "immediate" and not rule.has_lifecycle
    )
    if is_detached and rule.action_coupling in ("immediate", "deferred") and not acts_at_once:
        reason = "what waits for the clock is judged after commits, so its action is detached"
        raise InvalidRule(statement.place, name=rule.name, reason=reason)
    if is_detached and rule.options.names_condition and rule.options.condition != "detached":
        reason = (
            f"it waits for the clock, so its condition is judged after commits and cannot be {rule.options.condition}"
        )
        hint = "leave condition out, or say condition = 'detached'"
        raise InvalidRule(statement.place, hint, name=rule.name, reason=reason)
    if is_detached and events.needs_order(rule.event):
        reason = "the order within a transaction is known before its commit only"
        raise InvalidRule(statement.place, "give THEN a WITHIN INTERVAL", name=rule.name, reason=reason)
    if rule.evaluates_on_event and rule.event is None:
        raise InvalidRule(statement.place, "give it an event: ON …", name=rule.name, reason="when = 'state' needs one")
    if rule.evaluates_on_event and rule.options.nervous:
        reason = "it takes what holds when its event happens, touched or not"
        raise InvalidRule(statement.place, "leave out semantics = 'nervous'", name=rule.name, reason=reason)
    if rule.evaluates_on_event and rule.when != "begins":
        reason = "it takes what holds when its event happens, which neither comes nor goes"
        raise InvalidRule(statement.place, "use WHEN, without GONE or CHANGED", name=rule.name, reason=reason)


def _check_instants(rule: Rule) -> None:
    for text in (rule.options.effective, rule.options.expires):
        try:
            datetime.fromisoformat(text or "2000-01-01")
        except ValueError:
            raise InvalidRule(rule.statement.place, name=rule.name, reason=f"{text!r} is no instant") from None
    effective, expires = rule.options.effective, rule.options.expires
    if effective and expires and micros(datetime.fromisoformat(effective)) >= micros(datetime.fromisoformat(expires)):
        reason = f"it would never be judged: it expires at {expires}, and is effective from {effective} on"
        raise InvalidRule(rule.statement.place, name=rule.name, reason=reason)
