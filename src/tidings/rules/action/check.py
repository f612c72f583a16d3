"""Checks actions when a rule is bound, as far as that can be done without binding their SQL.

:meth:`tidings.rules.action.run.Actions.check` binds it, when a rule is created and when something it reads is altered.
"""

from __future__ import annotations

from typing import assert_never

from tidings.errors import InvalidRule, UnknownRelation
from tidings.lang.sql.rules.arguments import check_arguments
from tidings.lang.sql.rules.condition import activations_of
from tidings.lang.sql.statements.action import Call, Modify, Raise, Send
from tidings.rules.rule import Rule
from tidings.store.relation.relations import Relations

CONDITION = "condition"
"""The name of the relation of instances in the SQL of an action."""


def check(rule: Rule, relations: Relations) -> None:
    """Refuse an action that mentions unknown columns, or changes an unknown table."""
    match rule.action:
        case Call() as call:
            check_arguments(call, rule.columns, rule.statement.text)
        case Modify(change=change):
            if change.table.lower() == CONDITION:
                reason = "its action would change the rows it is given, which are no table"
                raise InvalidRule(change.place, name=rule.name, reason=reason)
            is_own = rule.statement.parameters and change.table.lower() == activations_of(rule.name).lower()
            if relations.columns(change.table) is None and not is_own:
                try:
                    relations.table(change.table)
                except UnknownRelation as unknown:
                    raise UnknownRelation(change.place, unknown.hint, **unknown.parameters) from None
        case Raise() | Send():
            pass
        case _:
            assert_never(rule.action)
