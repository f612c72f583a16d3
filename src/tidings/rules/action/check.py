"""Checks actions when a rule is bound, as far as that can be done before they run."""

from __future__ import annotations

from typing import assert_never

from tidings.lang.sql.rules.arguments import check_arguments
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
            if change.table.lower() != CONDITION and relations.columns(change.table) is None:
                relations.table(change.table)
        case Raise() | Send():
            pass
        case _:
            assert_never(rule.action)
