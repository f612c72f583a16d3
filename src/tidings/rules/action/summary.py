"""Actions in two words, for system tables and for the outbox."""

from __future__ import annotations

from typing import assert_never

from tidings.lang.sql.statements.action import Action, Call, Modify, Raise, Send
from tidings.masking import masked_url


def summary(action: Action) -> str:
    """An action in two words: what is done, and to whom; a URL without its tokens.

    >>> summary(Send("webhook", "https://example.com/hook"))
    'webhook https://example.com/hook'
    """
    match action:
        case Call(procedure=name):
            return f"call {name}"
        case Modify(change=change):
            return f"{type(change).__name__.lower()} {change.table}"
        case Send(channel=channel, target=target):
            return f"{channel} {masked_url(target) if channel == 'webhook' else target}"
        case Raise(message=message):
            return f"raise {message}"
        case _:
            assert_never(action)
