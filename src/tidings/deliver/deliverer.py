"""The deliverer: takes what is due out of the outbox, hands it to channels, and records what came of it.

Nothing of the catalog is held while a message is under way.  A target gets its messages one after the other, in order;
targets do not wait for each other.  Where a target cannot be reached or wants a pause, the rest of what is due for it
is not tried: it rests, and what waits for it waits longer.

A message that fails is tried again later, and others may arrive before it.  One that fails for good, or too often, is
a dead letter: it stays in the outbox until somebody has it redelivered.

:meth:`Deliverer.step` does what is due now and comes back; tests call it with an instant of their own.
:meth:`Deliverer.start` has a thread call it.  Two steps never meet.  A step that ended unawares, or a process, leaves
claims behind; the next step begins by giving them up.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import assert_never

from tidings.clock import Clock, SystemClock
from tidings.deliver.channel import Arrived, Channel, Ended, Failed, Outcome, Refused
from tidings.errors import StaleWriter, TidingsError
from tidings.retry_policy import SECOND, RetryPolicy
from tidings.store.fault_points import point
from tidings.store.rules.outbox import Delivered, GivenUp, Gone, Later, Outbox, OutboxEntry, Verdict

SENT = "deliver.sent"
"""A point to die at: a message was sent, and nobody knows yet."""

_logger = logging.getLogger("tidings.deliver")

Present = Callable[[], int]


@dataclass(slots=True)
class Deliverer:
    """Delivers the messages of one outbox by the channels it has; those of other channels wait for one who has them.

    There is one per database: a second would take the claims of the first for those of a dead process.
    """

    outbox: Outbox
    channels: Mapping[str, Channel]
    clock: Clock = field(default_factory=SystemClock)
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    workers: int = 4
    """How many targets are served at the same time."""
    chance: Callable[[], float] = random.random
    poll: float = 1.0
    """How many seconds the thread sleeps at most."""
    error: str | None = None
    """What keeps the thread from working, if anything does."""
    awake: Event = field(default_factory=Event)
    """Is set when something may have been added to the outbox."""
    _mutex: Lock = field(default_factory=Lock)
    _unclean: bool = True
    _forgot: int = -(10**18)
    _thread: Thread | None = None
    _stopping: Event = field(default_factory=Event)

    def step(self, now: int | None = None) -> int:
        """Deliver what is due, up to a few hundred messages; how many attempts were made.

        ``now`` stands for the clock, if it is given.
        """
        with self._mutex:
            present = self.clock.now if now is None else lambda: now
            if self._unclean:
                self.outbox.recover()
            self._unclean = True
            claimed = self.outbox.claim(present(), list(self.channels))
            attempts = self._deliver(_by_target(claimed), present)
            self._unclean = False
            self._forget(present())
            return attempts

    def _forget(self, now: int) -> None:
        """Forget what was delivered long ago, every hour or so."""
        if self.policy.kept is not None and not self._forgot <= now < self._forgot + 3600 * SECOND:
            self.outbox.forget(now - self.policy.kept)
            self._forgot = now

    def start(self) -> None:
        """Deliver in a thread from now on."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="tidings-deliver", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread; what it is sending is waited for, what it has not sent stays in the outbox."""
        if self._thread is not None:
            self._stopping.set()
            self.awake.set()
            self._thread.join()
            self._thread = None
            self._stopping.clear()

    def wake(self) -> None:
        """Say that there is something to deliver; it is found without this too, a little later."""
        self.awake.set()

    def __enter__(self) -> Deliverer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # the thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.awake.clear()
            try:
                idle = not self.step()
                pause = self._pause() if idle else 0.0
                self.error = None
            except StaleWriter as error:  # another process is the writer, and delivers
                self.error = str(error)
                return
            except Exception as error:  # a full disk, say: it is shown, and tried again
                self._complain(error)
                pause = self.poll
            if pause:
                self.awake.wait(pause)

    def _complain(self, error: Exception) -> None:
        if self.error != str(error):
            _logger.warning("deliveries are held up: %s", error, exc_info=not isinstance(error, TidingsError))
        self.error = str(error)

    def _pause(self) -> float:
        due = self.outbox.next_due(list(self.channels))
        return self.poll if due is None else min(self.poll, max(0.01, (due - self.clock.now()) / SECOND))

    # sending

    def _deliver(self, targets: list[list[OutboxEntry]], present: Present) -> int:
        if self.workers == 1 or len(targets) < 2:
            return sum(self._serve(entries, present) for entries in targets)
        with ThreadPoolExecutor(min(self.workers, len(targets)), "tidings-deliver") as pool:
            return sum(pool.map(lambda entries: self._serve(entries, present), targets))

    def _serve(self, entries: list[OutboxEntry], present: Present) -> int:
        """Send one target its messages, until it does not want any more for now; how many it was sent."""
        channel = self.channels[entries[0].message.channel]
        verdicts: list[Verdict] = []
        sent = 0
        for entry in entries:
            if self._stopping.is_set():
                break
            sent += 1
            verdict = self._attempt(channel, entry, present)
            verdicts.append(verdict)
            point(SENT)
            if not channel.at_once:
                self.outbox.acknowledge(present(), verdicts)
                verdicts.clear()
            if _holds_up(verdict):
                break
        self.outbox.acknowledge(present(), verdicts)
        self.outbox.release(entries[sent:])
        return sent

    def _attempt(self, channel: Channel, entry: OutboxEntry, present: Present) -> Verdict:
        if entry.attempts > self.policy.attempts:
            return GivenUp(entry, "the process ended during the last attempt")
        try:
            outcome = channel.send(entry.message, present())
        except Exception as error:  # of a channel that does not keep its promises; the message shows it
            outcome = Failed(f"{type(error).__name__}: {error}")
        return self._judged(entry, outcome, present())

    def _judged(self, entry: OutboxEntry, outcome: Outcome, now: int) -> Verdict:
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


def _holds_up(verdict: Verdict) -> bool:
    """Whether a target should get nothing more for now."""
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
    found: dict[tuple[str, str], list[OutboxEntry]] = {}
    for entry in entries:
        found.setdefault((entry.message.channel, entry.message.target), []).append(entry)
    return list(found.values())
