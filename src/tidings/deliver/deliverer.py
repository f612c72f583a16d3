"""The deliverer: takes what is due out of the outbox, hands it to channels, and records the outcomes.

No transaction of the catalog is open while a message is under way.  A target gets its messages one after the other, in
order.  Every channel has workers of its own, threads that serve one target each: neither targets nor channels wait for
each other, as long as a channel has a free worker.  When a target cannot be reached or asks for a pause, it rests: the
rest of what is due for it is not tried, and waits longer.

A message that fails is tried again later, and others may arrive before it.  One that fails for good, or too often, is
a dead letter: it stays in the outbox until somebody has it redelivered.

:meth:`Deliverer.step` delivers what is due now and returns.  :meth:`Deliverer.dispatch` hands what is due to workers
and does not wait for them; :mod:`tidings.deliver.delivery_thread` calls it.

A process that ended early, or a worker that was left behind, leaves claims; the next look begins by releasing them.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Event, Lock, Thread

from tidings.clock import Clock, SystemClock
from tidings.deliver.attempts import Attempts
from tidings.deliver.channel import Channel, Failed
from tidings.deliver.turn import Turn, by_target
from tidings.deliver.verdicts import stops_target, tell_of, verdict_on
from tidings.retry_policy import SECOND, RetryPolicy
from tidings.store.fault_points import point
from tidings.store.rules.messages import Delivered, GivenUp, OutboxEntry, Sending, Target, Verdict
from tidings.store.rules.outbox import Outbox

SENT = "deliver.sent"
"""A fault point: a message was sent, and that is not recorded yet."""

PATIENCE = 60.0
"""Seconds after which a message that is being sent is called stuck; every channel gives up long before."""

Now = Callable[[], int]


def _nobody() -> None:
    return None


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
    """How many targets each channel serves at the same time."""
    chance: Callable[[], float] = random.random
    attempts: Attempts = field(default_factory=Attempts)
    patience: float = field(init=False, default=PATIENCE)
    on_free: Callable[[], None] = field(init=False, default=_nobody)
    """Is called when a worker has become free."""
    _claiming: Lock = field(init=False, default_factory=Lock)
    _changed: Condition = field(init=False, default_factory=Condition)
    """Guards what follows; is notified when a worker becomes free."""
    _turns: dict[Target, Turn] = field(init=False, default_factory=dict)
    _dispatched: list[Turn] = field(init=False, default_factory=list)
    """Those of :meth:`dispatch` of which nobody knows yet how they ended."""
    _has_claims: bool = field(init=False, default=True)
    """Whether claims may have been left behind."""
    _forgot: int = field(init=False, default=-(10**18))
    """When old messages were last deleted."""

    @property
    def stopping(self) -> Event:
        """While this is set, no further messages are sent."""
        return self.attempts.stopping

    def step(self, now: int | None = None) -> int:
        """Deliver what is due, up to a few hundred messages; how many attempts were made.

        ``now`` stands for the clock, if it is given.  What another thread is sending is not waited for.
        """
        clock = self.clock.now if now is None else lambda: now
        turns = self._claim(clock(), None)
        if self.workers == 1 or len(turns) < 2:
            self._run_here(turns, clock)
        else:
            self._start(turns, self.workers, clock)
            with self._changed:
                self._changed.wait_for(lambda: not any(turn in self._turns.values() for turn in turns))
        _raise_first(turns)
        self._forget(clock())
        return sum(turn.attempts for turn in turns)

    def dispatch(self, now: int) -> int:
        """Hand what is due to workers that are free, and do not wait for them; how many targets that were.

        What went wrong in a worker since the last time is raised.
        """
        with self._changed:
            ended = [turn for turn in self._dispatched if turn not in self._turns.values()]
            self._dispatched = [turn for turn in self._dispatched if turn not in ended]
        _raise_first(ended)
        turns = [] if self.stopping.is_set() else self._claim(now, self.workers)
        self._dispatched += turns
        self._start(turns, self.workers, self.clock.now)
        self._forget(now)
        return len(turns)

    def next_due(self, after: int | None = None) -> int | None:
        """When the next message is due that one of the channels can send, or the next after an instant."""
        return self.outbox.next_due(list(self.channels), after)

    def sending(self) -> list[Sending]:
        """What is being sent now."""
        with self._changed:
            turns = list(self._turns.values())
        return [sending for turn in turns if (sending := turn.sending(self.patience)) is not None]

    def stop(self, seconds: float) -> list[Sending]:
        """End what is under way, and wait for the workers, up to some seconds; what those left behind are sending.

        What was claimed and is not known to have arrived is sent again by the next who delivers.
        """
        self.stopping.set()
        self.attempts.end_all()
        with self._changed:
            for turn in self._turns.values():
                turn.is_cancelled = True
            self._changed.wait_for(lambda: not self._turns, seconds)
        return self.sending()

    def _claim(self, now: int, most: int | None) -> list[Turn]:
        """Claim what is due for targets that nobody serves, for so many of each channel."""
        with self._claiming:
            try:
                if self._has_claims:
                    with self._changed:
                        self._has_claims = False
                        under_way = [number for turn in self._turns.values() for number in turn.open]
                    self.outbox.recover(*self.channels, besides=under_way)
                targets = self._free(self.outbox.due_targets(now, list(self.channels)), most)
                turns = by_target(self.outbox.claim_for(now, targets))
                with self._changed:
                    self._turns |= {turn.target: turn for turn in turns}
                return turns
            except BaseException:
                self._has_claims = True
                raise

    def _free(self, targets: list[Target], most: int | None) -> list[Target]:
        """The targets that a worker can serve."""
        with self._changed:
            serving = Counter(channel for channel, _ in self._turns)
            chosen = []
            for target in targets:
                if target not in self._turns and (most is None or serving[target[0]] < most):
                    serving[target[0]] += 1
                    chosen.append(target)
        return chosen

    def _start(self, turns: list[Turn], workers: int, now: Now) -> None:
        """Serve targets in threads: so many for each channel."""
        queues: dict[str, deque[Turn]] = {}
        for turn in turns:
            queues.setdefault(turn.target[0], deque()).append(turn)
        for channel, queue in queues.items():
            for _ in range(min(workers, len(queue))):
                Thread(target=self._run, args=(queue, now), name=f"tidings-deliver-{channel}", daemon=True).start()

    def _run(self, queue: deque[Turn], now: Now) -> None:
        """Serve targets, one after the other; several threads may do so."""
        while queue:
            with suppress(IndexError):  # another thread was faster
                turn = queue.popleft()
                try:
                    self._serve(turn, now)
                except Exception as error:  # whoever asked for the turn raises it
                    turn.error = error
                finally:
                    self._end(turn)

    def _run_here(self, turns: list[Turn], now: Now) -> None:
        """Serve targets in this thread."""
        queue = deque(turns)
        try:
            self._run(queue, now)
        finally:  # what an interrupt left
            for turn in queue:
                self._end(turn)

    def _end(self, turn: Turn) -> None:
        """Let others serve a target."""
        with self._changed:
            del self._turns[turn.target]
            self._has_claims |= bool(turn.open)
            self._changed.notify_all()
        self.on_free()

    def _serve(self, turn: Turn, now: Now) -> None:
        """Send the messages of one target, until it has to rest."""
        channel = self.channels[turn.target[0]]
        verdicts: list[Verdict] = []
        sent = 0
        for entry in turn.entries:
            if turn.is_cancelled or self.stopping.is_set():
                break
            turn.begin(entry, now())
            verdict = self._attempt(channel, entry, now)
            if turn.is_cancelled and not isinstance(verdict, Delivered):
                self._record(turn, verdicts, now())
                self._release(turn, turn.entries[sent + 1 :])
                return
            sent += 1
            verdicts.append(verdict)
            tell_of(entry, verdict)
            point(SENT)
            if not channel.is_instant:
                self._record(turn, verdicts, now())
                verdicts = []
            if stops_target(verdict):
                break
        self._record(turn, verdicts, now())
        self._release(turn, turn.entries[sent:])

    def _record(self, turn: Turn, verdicts: list[Verdict], now: int) -> None:
        self.outbox.acknowledge(now, verdicts)
        turn.settle([verdict.entry for verdict in verdicts])

    def _release(self, turn: Turn, entries: list[OutboxEntry]) -> None:
        self.outbox.release(entries)
        turn.settle(entries)

    def _attempt(self, channel: Channel, entry: OutboxEntry, now: Now) -> Verdict:
        if entry.attempts > self.policy.attempts:
            return GivenUp(entry, "the process ended during the last attempt")
        try:
            outcome = channel.send(entry.message, now())
        except Exception as error:  # of a channel with a fault; the message shows it
            outcome = Failed(f"{type(error).__name__}: {error}")
        return verdict_on(entry, outcome, now(), self.policy, self.chance())

    def _forget(self, now: int) -> None:
        """Delete what was delivered long ago, every hour or so."""
        if self.policy.kept is not None and not self._forgot <= now < self._forgot + 3600 * SECOND:
            self.outbox.forget(now - self.policy.kept)
            self._forgot = now


def _raise_first(turns: list[Turn]) -> None:
    for turn in turns:
        if turn.error is not None:
            raise turn.error
