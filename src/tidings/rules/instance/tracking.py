"""Tracks the instances of rules whose instances have a lifecycle: the side of it that reads the database.

The changes of a rule's condition since it was last judged are one wave.  The instances that these touch are looked up
in the catalog, together with those that are due; their new states are recorded with what the rule fires for and with
its cursor.

When tracking starts, because the rule was created or enabled again, all instances are looked at first.  Those that hold
already count as begun before and the rule does not fire for them, unless it takes what holds already (``initial``).
Instances that had begun and do not hold any more are gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import without_version
from tidings.engine.row_values import row_keys
from tidings.errors import InvalidRule
from tidings.ir.expression import TIME, WEIGHT
from tidings.lang.sql.statements.action import Send
from tidings.read import in_transaction
from tidings.rules.event.detection import EventDetection
from tidings.rules.event.happening import Happening
from tidings.rules.fired import Fired
from tidings.rules.instance.lifecycle import CountsAt, InstanceChange, LifecycleIntervals, Transition, run_lifecycles
from tidings.rules.rule import TIMES, Rule
from tidings.rules.silence import Silences, split_by_mask
from tidings.store.rules import instances
from tidings.store.rules.instances import Instance, digest
from tidings.store.storage import Storage
from tidings.waves.scheduler import Scheduler

InstanceUpdates = dict[str, Instance | None]
"""New states of instances by key; None for those that are over."""


def check(rule: Rule) -> None:
    """Refuse options of the lifecycle that do not go with the rest of the rule."""
    options = rule.options

    def refuse(reason: str) -> None:
        raise InvalidRule(rule.statement.place, name=rule.name, reason=reason)

    if options.resolved and (rule.when != "begins" or not isinstance(rule.action, Send)):
        refuse("resolved is for a rule that sends what begins; use WHEN GONE for others")
    if not rule.has_lifecycle:
        return
    if rule.when == "changed":
        refuse("for, keep_alive and resolved are of instances that begin and are gone, not of their values")
    if rule.evaluates_on_event or rule.condition.changes:
        refuse("it takes what is there at an instant, which neither stays nor goes")
    taken = {f.name.lower() for f in rule.condition.plan.fields} & {c.name for c in TIMES}
    if taken and (options.resolved or rule.when == "gone"):
        refuse(f"the rows of what is gone have a column {min(taken)} already")


@dataclass(frozen=True, slots=True)
class TrackedFirings:
    """What a rule fires for, by instant and in order, and the new states of its instances."""

    fired: list[tuple[int, Fired]]
    instances: InstanceUpdates


@dataclass(frozen=True, slots=True)
class InstanceTracker:
    """Tracks the instances of the rules of one database."""

    storage: Storage
    scheduler: Scheduler
    detection: EventDetection

    def track(self, rule: Rule, until: int, silences: Silences) -> TrackedFirings:
        """Track the instances of a rule from its cursor up to an instant."""
        changes = self._changes(rule, rule.cursor, until)
        with self.storage.rule_tables.reading() as connection:
            is_tracked = instances.is_tracked(connection, rule.id)
            if is_tracked:
                stored = instances.affected(connection, rule.id, (c.key for c in changes), until)
            else:
                stored = instances.all_of(connection, rule.id)
        known, outdated = _without_outdated(rule, stored)
        updates = outdated if is_tracked else outdated | self._all_instances(rule, known)
        present = known if is_tracked else [instance for instance in updates.values() if instance is not None]
        happenings = None if rule.event is None else self.detection.committed(rule, rule.cursor, until)
        transitions, later_updates = self._run_lifecycles(rule, present, changes, until, happenings)
        return _fired(rule, transitions, updates | later_updates, silences)

    def replay(self, rule: Rule, since: int, until: int) -> list[tuple[int, Fired]]:
        """What a rule would have fired for, had it been tracked from an instant on."""
        rule_then = replace(rule, record=replace(rule.record, until=since))
        present = [instance for instance in self._all_instances(rule_then, []).values() if instance is not None]
        changes = self._changes(rule, since, until)
        happenings = None if rule.event is None else self.detection.replayed(rule, since, until)
        transitions, updates = self._run_lifecycles(rule_then, present, changes, until, happenings)
        firing = _firing_transitions(rule, transitions, updates)
        return [(at, Fired(rule, _rows(batch), ran=False, gone=gone)) for (at, gone), batch in firing.items()]

    def _run_lifecycles(
        self,
        rule: Rule,
        known: list[Instance],
        changes: list[InstanceChange],
        until: int,
        happenings: list[Happening] | None,
    ) -> tuple[list[Transition], InstanceUpdates]:
        relations, options = self.scheduler.relations, rule.options
        activated = set[int]()
        if rule.condition.activations is not None and not options.initial:
            activated = set(relations.table(rule.condition.activations).history.times(rule.cursor, until))
        events = None if happenings is None else {happening.end for happening in happenings}

        def is_change(at: int) -> bool:
            return at not in activated

        def is_event(at: int) -> bool:
            return at not in activated and (events is None or at in events)

        counts: tuple[CountsAt, CountsAt] = (is_change, is_event) if rule.when == "gone" else (is_event, is_change)
        intervals = LifecycleIntervals(options.hold, options.keep_alive)
        transitions, updates = run_lifecycles(known, changes, until, intervals, *counts)
        return transitions, dict(updates)

    def _changes(self, rule: Rule, since: int, until: int) -> list[InstanceChange]:
        """How many rows of each instance came or went at each instant, in order."""
        delta = self.scheduler.delta(rule.name, rule.instances, since, until, net=False)
        delta = delta.take(pc.sort_indices(delta, [(TIME, "ascending"), (WEIGHT, "ascending")]))
        rows, times = without_version(delta), delta.column(TIME).to_pylist()
        counts: dict[tuple[int, str], int] = {}
        places: dict[tuple[int, str], int] = {}
        weights = delta.column(WEIGHT).to_pylist()
        for place, (at, key, weight) in enumerate(zip(times, _keys(rule, rows), weights, strict=True)):
            counts[at, key] = counts.get((at, key), 0) + weight
            places[at, key] = place
        return [InstanceChange(key, at, n, rows.slice(places[at, key], 1)) for (at, key), n in counts.items()]

    def _all_instances(self, rule: Rule, known: list[Instance]) -> InstanceUpdates:
        """The state of every instance at the cursor of a rule, from those that were known."""
        rows = in_transaction.answer(self.scheduler, rule.instances, rule.cursor)
        counts: dict[str, int] = {}
        places: dict[str, int] = {}
        for place, key in enumerate(_keys(rule, rows)):
            counts[key] = counts.get(key, 0) + 1
            places[key] = place
        updates: InstanceUpdates = {old.key: _ceased(old, rule) for old in known if old.key not in counts}
        by_key = {old.key: old for old in known}
        for key, count in counts.items():
            row, old = rows.slice(places[key], 1), by_key.get(key)
            if old is None:
                updates[key] = _first_seen(key, count, row, rule)
            else:
                updates[key] = _still_holding(replace(old, count=count, row=row))
        return updates


def _without_outdated(rule: Rule, stored: list[Instance]) -> tuple[list[Instance], InstanceUpdates]:
    """The instances whose rows have the columns of the rule; the others are over: a view below was replaced."""
    schema = arrow_schema(rule.condition.columns)
    outdated: InstanceUpdates = {old.key: None for old in stored if not old.row.schema.equals(schema)}
    return [old for old in stored if old.key not in outdated], outdated


def _first_seen(key: str, count: int, row: pa.Table, rule: Rule) -> Instance:
    """An instance that holds when tracking starts, and was not known."""
    if rule.options.initial:
        return Instance(key, "pending", count, row, rule.cursor, due=rule.cursor + rule.options.hold)
    return Instance(key, "alive", count, row, None, quiet=True)


def _still_holding(instance: Instance) -> Instance:
    """An instance that was known, and holds when tracking starts."""
    return replace(instance, phase="alive", ended=None, due=None) if instance.phase == "lingering" else instance


def _ceased(instance: Instance, rule: Rule) -> Instance | None:
    """An instance that was known, and does not hold when tracking starts."""
    if instance.phase == "lingering":
        return instance
    if instance.phase == "pending" or instance.quiet:
        return None
    due = rule.cursor + rule.options.keep_alive
    return replace(instance, phase="lingering", count=0, ended=rule.cursor, due=due)


def _keys(rule: Rule, rows: pa.Table) -> list[str]:
    """The keys of the instances of rows; instants as numbers, which have the same text everywhere."""
    identifying = rows.select(list(rule.key)) if rule.key else rows
    columns = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in identifying.columns]
    return [digest(key) for key in row_keys(pa.table(columns, names=[str(n) for n in range(len(columns))]))]


def _firing_transitions(
    rule: Rule, transitions: list[Transition], updates: InstanceUpdates
) -> dict[tuple[int, bool], list[Transition]]:
    """The transitions a rule fires for, by instant, beginnings before ends.

    The end of an instance that began while the rule was not effective does not count; ``updates`` remember this.
    """
    firing: dict[tuple[int, bool], list[Transition]] = {}
    ineffective: dict[str, bool] = {}
    for transition in transitions:
        at, gone, instance = transition.at, transition.gone, transition.instance
        if not gone:
            ineffective[instance.key] = not rule.is_effective(at)
        is_wanted = gone if rule.when == "gone" else not gone or rule.options.resolved
        began_quietly = rule.when != "gone" and (instance.quiet or ineffective.get(instance.key, False))
        if is_wanted and not began_quietly and rule.is_effective(at):
            firing.setdefault((at, gone), []).append(transition)
    for key in (key for key, is_ineffective in ineffective.items() if is_ineffective):
        remaining = updates.get(key)
        updates[key] = None if remaining is None else replace(remaining, quiet=True)
    return firing


def _fired(rule: Rule, transitions: list[Transition], updates: InstanceUpdates, silences: Silences) -> TrackedFirings:
    """The firings; silenced rows are firings of their own, also the ends of instances that began in silence."""
    fired: list[tuple[int, Fired]] = []
    muted: dict[str, bool] = {}
    for (at, gone), batch in _firing_transitions(rule, transitions, updates).items():
        rows = _rows(batch)
        mask = silences.mask(rule, rows, at)
        if gone and rule.when != "gone":
            began_muted = [muted.get(t.instance.key, t.instance.muted) for t in batch]
            mask = [now or then for now, then in zip(mask, began_muted, strict=True)]
        else:
            muted |= {t.instance.key: is_muted for is_muted, t in zip(mask, batch, strict=True)}
        fired += [(at, part) for part in split_by_mask(Fired(rule, rows, ran=False, gone=gone), mask)]
    for key, is_muted in muted.items():
        instance = updates.get(key)
        if instance is not None:
            updates[key] = replace(instance, muted=is_muted)
    return TrackedFirings(fired, updates)


def _rows(transitions: list[Transition]) -> pa.Table:
    """The rows of instances; of those that are gone also since when and until when they held."""
    rows = pa.concat_tables([t.instance.row for t in transitions]).combine_chunks()
    if not transitions[0].gone:
        return rows
    began, ended = [t.instance.began for t in transitions], [t.instance.ended for t in transitions]
    seconds = [None if a is None or b is None else (b - a) / 1_000_000 for a, b in zip(began, ended, strict=True)]
    for field, values in zip(arrow_schema(TIMES), [began, ended, seconds], strict=True):
        rows = rows.append_column(field, pa.array(values, field.type))
    return rows
