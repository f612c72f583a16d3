"""The deliverer: takes what is due out of the outbox, hands it to channels, and records the outcomes.

No transaction of the catalog is open while a message is under way.  A target gets its messages one after the other, in
order; targets do not wait for each other.  When a target cannot be reached or asks for a pause, it rests: the rest of
what is due for it is not tried, and waits longer.

A message that fails is tried again later, and others may arrive before it.  One that fails for good, or too often, is
a dead letter: it stays in the outbox until somebody has it redelivered.

:meth:`Deliverer.step` delivers what is due now and returns; :mod:`tidings.deliver.delivery_thread` calls it in a
thread.  Two steps never run at the same time.  A step, or a process, that ended early leaves claims behind; the next
step begins by releasing them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import assert_never

from tidings.clock import Clock, SystemClock
from tidings.deliver.channel import Arrived, Channel, Ended, Failed, Refused, SendOutcome
from tidings.logs import DELIVERY, ERROR, INFO, WARNING, tell
from tidings.retry_policy import SECOND, RetryPolicy
from tidings.store.fault_points import point
from tidings.store.rules.messages import Delivered, GivenUp, Gone, Later, OutboxEntry, Verdict
from tidings.store.rules.outbox import Outbox

SENT = "deliver.sent"
"""A fault point: a message was sent, and that is not recorded yet."""

Now = Callable[[], int]


@dataclass(slots=True)
class Deliverer:
    """Delivers the messages of one outbox by the channels it has; messages of other channels wait.

    There is one per database: a second would take the claims of the first for those of a dead process.
    """

    outbox: Outbox
    channels: Mapping[str, Channel]
    clock: Clock = field(default_factory=SystemClock)
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    workers: int = 4
    """How many targets are served at the same time."""
    chance: Callable[[], float] = random.random
    stopping: Event = field(init=False, default_factory=Event)
    """While this is set, a step sends no further messages."""
    _mutex: Lock = field(init=False, default_factory=Lock)
    _has_claims: bool = field(init=False, default=True)
    """Whether claims may have been left behind."""
    _forgot: int = field(init=False, default=-(10**18))
    """When old messages were last deleted."""

    def step(self, now: int | None = None) -> int:
        """Deliver what is due, up to a few hundred messages; how many attempts were made.

        ``now`` stands for the clock, if it is given.
        """
        with self._mutex:
            clock = self.clock.now if now is None else lambda: now
            if self._has_claims:
                self.outbox.recover()
            self._has_claims = True
            claimed = self.outbox.claim(clock(), list(self.channels))
            attempts = self._deliver(_by_target(claimed), clock)
            self._has_claims = False
            self._forget(clock())
            return attempts

    def next_due(self) -> int | None:
        """When the next message is due that one of the channels can send."""
        return self.outbox.next_due(list(self.channels))

    def _forget(self, now: int) -> None:
        """Delete what was delivered long ago, every hour or so."""
        if self.policy.kept is not None and not self._forgot <= now < self._forgot + 3600 * SECOND:
            self.outbox.forget(now - self.policy.kept)
            self._forgot = now

    def _deliver(self, targets: list[list[OutboxEntry]], now: Now) -> int:
        if self.workers == 1 or len(targets) < 2:
            return sum(self._serve(entries, now) for entries in targets)
        with ThreadPoolExecutor(min(self.workers, len(targets)), "tidings-deliver") as pool:
            return sum(pool.map(lambda entries: self._serve(entries, now), targets))

    def _serve(self, entries: list[OutboxEntry], now: Now) -> int:
        """Send the messages of one target, until it has to rest; how many were sent."""
        channel = self.channels[entries[0].message.channel]
        verdicts: list[Verdict] = []
        sent = 0
        for entry in entries:
            if self.stopping.is_set():
                break
            sent += 1
            verdict = self._attempt(channel, entry, now)
            verdicts.append(verdict)
            _tell(entry, verdict)
            point(SENT)
            if not channel.is_instant:
                self.outbox.acknowledge(now(), verdicts)
                verdicts.clear()
            if _stops_target(verdict):
                break
        self.outbox.acknowledge(now(), verdicts)
        self.outbox.release(entries[sent:])
        return sent

    def _attempt(self, channel: Channel, entry: OutboxEntry, now: Now) -> Verdict:
        if entry.attempts > self.policy.attempts:
            return GivenUp(entry, "the process ended during the last attempt")
        try:
            outcome = channel.send(entry.message, now())
        except Exception as error:  # of a channel with a fault; the message shows it
            outcome = Failed(f"{type(error).__name__}: {error}")
        return self._verdict(entry, outcome, now())

    def _verdict(self, entry: OutboxEntry, outcome: SendOutcome, now: int) -> Verdict:
        """What becomes of a message after an attempt."""
        match outcome:
            case Arrived():
                return Delivered(entry)
            case Failed(reason, not_before, unreachable):
                due = now + self.policy.wait(entry.attempts, self.chance())
                rests = min(due, now + self.policy.rest) if unreachable else None
                if not_before is not None:
                    rests = max(now, min(not_before, now + self.policy.longest_rest))
                    due = max(due, rests)
                if entry.attempts >= self.policy.attempts:
                    return GivenUp(entry, reason, rests)
                return Later(entry, due, reason, rests)
            case Refused(reason):
                return GivenUp(entry, reason)
            case Ended(reason):
                return Gone(entry, reason)
            case _:
                assert_never(outcome)


_TOLD: dict[type[Verdict], tuple[int, str]] = {
    Delivered: (INFO, "delivered"),
    Later: (WARNING, "delivery_failed"),
    GivenUp: (ERROR, "delivery_given_up"),
    Gone: (ERROR, "delivery_given_up"),
}
"""How loudly each outcome is told, and the name it has."""


def _tell(entry: OutboxEntry, verdict: Verdict) -> None:
    """Tell of an attempt to deliver a message: neither what it says, nor its target, which may have a token in it."""
    level, event = _TOLD[type(verdict)]
    message, text = entry.message, f"message %(id)s of %(rule)s by %(channel)s: {event.replace('_', ' ')}"
    facts = {"rule": message.rule, "firing": message.firing, "channel": message.channel, "attempt": entry.attempts}
    tell(DELIVERY, level, text, event, id=message.id, **facts)


def _stops_target(verdict: Verdict) -> bool:
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


def _by_target(entries: list[OutboxEntry]) -> list[list[OutboxEntry]]:
    """Messages by target, each in order."""
    targets: dict[tuple[str, str], list[OutboxEntry]] = {}
    for entry in entries:
        targets.setdefault((entry.message.channel, entry.message.target), []).append(entry)
    return list(targets.values())
