"""Judges detached conditions, up to the present.

This works as bringing a stored view up to date: one wave gives the changes of every instant since the rule was last
judged, and each transaction is judged alone, however many there are.  What the rule fires for is recorded together with
its cursor, the instant up to which it has been judged.

An immediate action runs in the transaction that records the firing and the cursor.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.errors import StaleWriter, TidingsError
from tidings.rules.condition import committed
from tidings.rules.context import RuleContext
from tidings.rules.detached.actions import DetachedActions
from tidings.rules.fired import Fired
from tidings.rules.instance.tracking import InstanceTracker, TrackedFirings
from tidings.rules.recording import FiringBatch
from tidings.rules.rule import Rule
from tidings.store.rules import instances
from tidings.store.rules.rule_store import move


@dataclass(frozen=True, slots=True)
class DetachedConditions:
    """Judges the detached conditions of one database."""

    context: RuleContext
    actions: DetachedActions

    def judge(self) -> bool:
        """Judge all detached conditions up to the present; whether one fired.

        The cursors of rules that do not fire are moved together, in one transaction of the catalog.
        """
        context, has_fired = self.context, False
        not_fired: list[tuple[Rule, int]] = []
        for rule in sorted(context.registry.rules(), key=lambda rule: rule.order):
            if rule.condition_coupling != "detached" or not rule.record.enabled:
                continue
            until = self._present(rule)
            if rule.cursor < until:
                try:
                    fires = self._judge(rule, until)
                except StaleWriter:
                    raise
                except TidingsError as error:
                    context.registry.set_error(rule.id, error)
                    continue
                if fires is None:
                    not_fired.append((rule, until))
                has_fired |= bool(fires)
        self._move_cursors(not_fired)
        return has_fired

    def _present(self, rule: Rule) -> int:
        """The instant up to which a rule can be judged now."""
        timeline = self.context.timeline
        return timeline.settle_until(timeline.now()) if rule.depends_on_time else timeline.time

    def _judge(self, rule: Rule, until: int) -> bool | None:
        """Judge one rule; whether it fired, or None if not even its cursor has been moved."""
        tracked = self._track(rule, until) if rule.has_lifecycle else None
        fired = self._fired(rule, until) if tracked is None else tracked.fired
        if tracked is None and not fired:
            return None
        if rule.action_coupling == "immediate":
            return self._act_at_once(rule, until, fired)
        self._record(rule, until, fired, tracked)
        return bool(fired)

    def _track(self, rule: Rule, until: int) -> TrackedFirings:
        context = self.context
        tracker = InstanceTracker(context.storage, context.scheduler, context.detection)
        return tracker.track(rule, until, context.silences)

    def _fired(self, rule: Rule, until: int) -> list[tuple[int, Fired]]:
        """What a rule fires for, by instant, in order; silenced rows are firings of their own."""
        context, happenings = self.context, None
        if rule.event is not None:
            happenings = context.detection.committed(rule, rule.cursor, until, rule.options.catch_up)
        by_instant = committed.firing_rows_by_instant(context.scheduler, rule, rule.cursor, until, happenings)
        fired = [
            (at, Fired(rule, rows, ran=False)) for at, rows in by_instant if rows.num_rows and rule.is_effective(at)
        ]
        return [(at, part) for at, whole in fired for part in self.context.silences.split([whole], at)]

    def _record(self, rule: Rule, until: int, fired: list[tuple[int, Fired]], tracked: TrackedFirings | None) -> None:
        """Record what a rule fired for, its cursor, and how its instances stand."""
        context, batch = self.context, FiringBatch(self.context.store)
        now = context.timeline.clock.now()
        depths = context.store.depths(rule.cursor, until) if fired else {}
        for at, each in fired:
            batch.add([each], at, depths.get(at, 0), now)
        with context.storage.rule_tables.writing() as connection:
            batch.write(connection)
            move(connection, rule.id, until)
            if tracked is not None:
                instances.record(connection, rule.id, tracked.instances)
                instances.track(connection, rule.id)
        if batch.firings:
            context.wake_deliveries()
        context.registry.move_cursor(rule, until)

    def _act_at_once(self, rule: Rule, until: int, fired: list[tuple[int, Fired]]) -> bool:
        """Run the action for each instant, each in the transaction that records the firing and the cursor."""
        since = rule.cursor
        try:
            self.actions.run_at_once(rule, fired)
        except StaleWriter:
            raise
        except Exception as error:  # of a procedure, or of whatever the action did
            self.context.registry.set_error(rule.id, error)
            return rule.cursor > since
        self._move_cursors([(rule, until)])
        return True

    def _move_cursors(self, cursors: list[tuple[Rule, int]]) -> None:
        if cursors:
            with self.context.storage.rule_tables.writing() as connection:
                for rule, until in cursors:
                    move(connection, rule.id, until)
            for rule, until in cursors:
                self.context.registry.move_cursor(rule, until)
