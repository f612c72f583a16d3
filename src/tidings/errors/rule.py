"""Conditions of events, rules and their actions."""

from __future__ import annotations

from tidings.errors.base import TidingsError


class UnknownEvent(TidingsError):
    """There is no event named {name}"""

    hint_template = "CREATE EVENT {name} (columns) makes one"


class EmptySignal(TidingsError):
    """The event {name} was signalled without a row"""

    hint_template = "a signal has a row at least"


class UnknownRule(TidingsError):
    """There is no rule named {name}"""


class UnknownGroup(TidingsError):
    """There is no rule in the group {name}"""


class DuplicateRule(TidingsError):
    """There is a rule named {name} already"""

    hint_template = "CREATE OR REPLACE RULE {name} puts another in its place"


class UnknownSilence(TidingsError):
    """There is no silence number {number}"""

    hint_template = "SELECT * FROM tidings.silences lists them"


class InvalidRule(TidingsError):
    """The rule {name} cannot be: {reason}"""


class UnknownProcedure(TidingsError):
    """There is no procedure named {name}"""

    hint_template = "register it after the database is opened: @db.procedure({name!r})"


class InvalidProcedure(TidingsError):
    """The procedure {name} cannot be registered: {reason}"""

    hint_template = "it takes the rows and, as tx, the transaction; its other parameters have defaults"


class RuleRaised(TidingsError):
    """{message} (rule {rule}, {count} rows)"""


class RuleFailed(TidingsError):
    """The {part} of the rule {rule} failed: {reason}"""


class CascadeTooLong(TidingsError):
    """Rules kept triggering each other, {bound} times: {cycle}"""

    hint_template = "let an action make its rule's condition false, or raise the bound"
