"""Conditions of subscriptions."""

from __future__ import annotations

from tidings.errors.base import TidingsError


class ReaderBehind(TidingsError):
    """The writer has forgotten what was to be read since this reader last looked"""

    hint_template = "ask again"


class MustRefetch(TidingsError):
    """The changes of {name} since {since} cannot be told any more: {reason}"""

    hint_template = "subscribe without a position: that begins with the rows there are now"


class SubscriptionExists(TidingsError):
    """The subscription {name} follows another query: {query}"""

    hint_template = "choose another name, or end it first with unsubscribe"
