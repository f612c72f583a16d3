"""The lifecycle of an instance: when it counts as begun, and when as gone.

    holds     ┌──┐     ┌──────────────┐  ┌─────┐
              │  │     │              │  │     │
    ──────────┘  └─────┘              └──┘     └───────────────▶ time
              nothing  ├─for─▶ begins             ├─keep_alive─▶ gone

- *pending*: it holds, but not yet for as long as ``for`` asks.  If it ceases, nothing happened.
- *alive*: it has begun, and the rule has fired for that.
- *lingering*: it does not hold, but not yet for as long as ``keep_alive`` asks.  If it holds again, nothing happened.

Both intervals are nothing unless they are given, and then an instance begins and goes at once.  Where something happens
at the very instant at which an instance is due, that counts first: what ceases just then has not held for long enough,
and what comes back just then was never gone.

Time is the instants of commits and deadlines, not when somebody looks: :func:`run_lifecycles` gives the same whether a
history is judged at once or bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

import pyarrow as pa

from tidings.store.rules.instances import Instance

CountsAt = Callable[[int], bool]
"""Whether a beginning, or an end, at an instant counts."""


@dataclass(frozen=True, slots=True)
class LifecycleIntervals:
    """How long an instance has to hold, and may cease, in microseconds."""

    hold: int = 0
    """An instance begins once it has held for so long."""
    keep_alive: int = 0
    """It is gone once it has not held for so long."""


@dataclass(frozen=True, slots=True)
class InstanceChange:
    """At an instant, an instance has so many rows more or less; ``row`` is one that came, or one that went."""

    key: str
    at: int
    count: int
    row: pa.Table


@dataclass(frozen=True, slots=True)
class Transition:
    """At an instant, an instance began, or is gone."""

    at: int
    gone: bool
    instance: Instance


@dataclass(slots=True)
class _Lifecycle:
    """One instance through a batch of changes."""

    intervals: LifecycleIntervals
    instance: Instance | None
    transitions: list[Transition] = field(init=False, default_factory=list)

    def pass_time(self, until: int) -> None:
        """Let time pass, up to and including an instant."""
        while self.instance is not None and self.instance.due is not None and self.instance.due <= until:
            at, instance = self.instance.due, replace(self.instance, due=None)
            match instance.phase:
                case "pending":
                    self.instance = replace(instance, phase="alive")
                    self.transitions.append(Transition(at, False, self.instance))
                case "lingering":
                    self.instance = None
                    self.transitions.append(Transition(at, True, instance))
                case "alive":
                    raise AssertionError("what is alive waits for nothing")
                case _:
                    assert_never(instance.phase)

    def change(self, change: InstanceChange, begin_counts: bool, end_counts: bool) -> None:
        """Let rows come or go; the flags say whether a beginning or an end at that instant counts."""
        self.pass_time(change.at - 1)
        before = self.instance
        if before is None:
            if change.count > 0:
                self.instance = self._begun(change, begin_counts)
            return
        after = replace(before, count=max(0, before.count + change.count), row=change.row)
        if after.count and before.count:
            self.instance = after
        elif after.count:
            self.instance = replace(after, phase="alive", ended=None, due=None)
        elif before.count:
            self.instance = self._ended(after, change.at) if end_counts and before.phase == "alive" else None

    def _begun(self, change: InstanceChange, counts: bool) -> Instance:
        instance = Instance(change.key, "alive", change.count, change.row, change.at, quiet=not counts)
        return replace(instance, phase="pending", due=change.at + self.intervals.hold) if counts else instance

    def _ended(self, instance: Instance, at: int) -> Instance:
        return replace(instance, phase="lingering", ended=at, due=at + self.intervals.keep_alive)


def run_lifecycles(
    known: Iterable[Instance],
    changes: Iterable[InstanceChange],
    until: int,
    intervals: LifecycleIntervals,
    begin_counts: CountsAt,
    end_counts: CountsAt,
) -> tuple[list[Transition], Mapping[str, Instance | None]]:
    """Run instances through changes, up to an instant.

    Returns the transitions, in order, and the new state of the instances that something happened to: None for those
    that are over.  ``changes`` are in the order of time, one per key and instant.
    """
    before = {instance.key: instance for instance in known}
    lifecycles = {key: _Lifecycle(intervals, instance) for key, instance in before.items()}
    for change in changes:
        lifecycle = lifecycles.setdefault(change.key, _Lifecycle(intervals, None))
        lifecycle.change(change, begin_counts(change.at), end_counts(change.at))
    for lifecycle in lifecycles.values():
        lifecycle.pass_time(until)
    updates = {key: each.instance for key, each in lifecycles.items() if each.instance is not before.get(key)}
    transitions = [transition for each in lifecycles.values() for transition in each.transitions]
    return sorted(transitions, key=lambda t: (t.at, t.gone)), updates
