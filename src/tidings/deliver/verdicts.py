"""Verdicts: what becomes of a message after an attempt, by the retry policy of a database."""

from __future__ import annotations

from typing import assert_never

from tidings.deliver.channel import Arrived, Ended, Failed, Refused, SendOutcome
from tidings.logs import DELIVERY, ERROR, INFO, WARNING, tell
from tidings.retry_policy import RetryPolicy
from tidings.store.rules.messages import Delivered, GivenUp, Gone, Later, OutboxEntry, Verdict


def verdict_on(entry: OutboxEntry, outcome: SendOutcome, now: int, policy: RetryPolicy, chance: float) -> Verdict:
    """What becomes of a message after an attempt."""
    match outcome:
        case Arrived():
            return Delivered(entry)
        case Failed(reason, not_before, unreachable):
            due = now + policy.wait(entry.attempts, chance)
            rests = min(due, now + policy.rest) if unreachable else None
            if not_before is not None:
                rests = max(now, min(not_before, now + policy.longest_rest))
                due = max(due, rests)
            if entry.attempts >= policy.attempts:
                return GivenUp(entry, reason, rests)
            return Later(entry, due, reason, rests)
        case Refused(reason):
            return GivenUp(entry, reason)
        case Ended(reason):
            return Gone(entry, reason)
        case _:
            assert_never(outcome)


def stops_target(verdict: Verdict) -> bool:
    """Whether a target gets no more messages for now."""
    match verdict:
        case Delivered():
            return False
        case Later(rests=rests) | GivenUp(rests=rests):
            return rests is not None
        case Gone():
            return True
        case _:
            assert_never(verdict)


_TOLD: dict[type[Verdict], tuple[int, str]] = {
    Delivered: (INFO, "delivered"),
    Later: (WARNING, "delivery_failed"),
    GivenUp: (ERROR, "delivery_given_up"),
    Gone: (ERROR, "delivery_given_up"),
}
"""How loudly each outcome is told, and the name it has."""


def tell_of(entry: OutboxEntry, verdict: Verdict) -> None:
    """Tell of an attempt to deliver a message: neither what it says, nor its target, which may have a token in it."""
    level, event = _TOLD[type(verdict)]
    message, text = entry.message, f"message %(id)s of %(rule)s by %(channel)s: {event.replace('_', ' ')}"
    facts = {"rule": message.rule, "firing": message.firing, "channel": message.channel, "attempt": entry.attempts}
    tell(DELIVERY, level, text, event, id=message.id, **facts)
