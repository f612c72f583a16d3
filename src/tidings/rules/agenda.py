"""The check phase: rules are chosen and run, one at a time, until none is triggered.

1. Of the triggered rules the one with the highest priority is chosen, of several the oldest.
2. Its action runs once, for all its instances.
3. The next choice takes into account what the action changed: rules may be triggered by it, or no longer be triggered.

A rule is judged over the slice of the transaction since the phase began.  Once it has run, it has dealt with the
instances that were there when it was chosen and still were after its action.  So from then on it is judged over two
slices, since it was chosen and since its action ended, and is triggered by either: its action may trigger it again, and
what its action undid may come back.

A rule that was not triggered is judged again only when a table it depends on has been touched since.

A phase that does not end is stopped: after ``limits.cascade`` actions it fails, and names the rules that trigger each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial, reduce

import pyarrow as pa

from tidings.errors import CascadeTooLong, RuleRaised, StaleWriter, TidingsError
from tidings.ir.relation import Relation
from tidings.rules.condition.deltas import ConditionDeltas
from tidings.rules.condition.evaluate import either, instances
from tidings.rules.condition.holding import holding
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.context import RuleContext
from tidings.rules.event.happening import Happening
from tidings.rules.event.occurrence import Present
from tidings.rules.failure import failure
from tidings.rules.fired import Fired
from tidings.rules.rule import Rule
from tidings.write.workspace import Workspace


@dataclass(slots=True)
class Agenda:
    """Judges and runs rules in one transaction."""

    context: RuleContext
    workspace: Workspace
    fired: list[Fired] = field(init=False, default_factory=list)
    path: list[str] = field(init=False, default_factory=list)
    """The names of the rules whose actions ran, in order."""
    statement_ends: list[int] = field(init=False, default_factory=list)
    """The places in the transaction where statements and actions ended."""
    _deltas: ConditionDeltas = field(init=False)
    _slices: dict[tuple[int, int, int], TransactionSlice] = field(init=False, default_factory=dict)
    _untriggered: dict[tuple[int, int], int] = field(init=False, default_factory=dict)
    """The place up to which a rule was judged and not triggered, by rule and start of the slice."""

    def __post_init__(self) -> None:
        context = self.context
        self._deltas = ConditionDeltas(context.scheduler, context.registry.shapes(), self._candidates)

    def _candidates(self) -> list[Rule]:
        """The rules that may be judged in this transaction by what has been done so far."""
        now, touched = self.workspace.now(), {table.name for table, _, _ in self.workspace.done}
        rules = self.context.registry.touching(touched)
        return [rule for rule in rules if rule.condition_coupling != "detached" and rule.is_active(now)]

    # judging

    def triggered(self, rule: Rule, *starts: int) -> pa.Table | None:
        """The instances of a rule since one of some places in the transaction; None if there are none."""
        parts = [rows for start in dict.fromkeys(starts) if (rows := self._triggered_since(rule, start)) is not None]
        return reduce(partial(either, rule), parts) if parts else None

    def _triggered_since(self, rule: Rule, start: int) -> pa.Table | None:
        done = self.workspace.done
        judged = self._untriggered.get((rule.id, start), start)
        relevant = rule.influents | rule.event_tables
        end = next((n for n in range(len(done), judged, -1) if done[n - 1][0].name in relevant), None)
        if end is None:
            return None
        rows = self._judge(rule, self._slice(start, end))
        if rows is None:
            self._untriggered[rule.id, start] = len(done)
        return rows

    def _slice(self, start: int, end: int) -> TransactionSlice:
        """What was done from one place to another, netted once for all rules."""
        key = start, end, self.context.timeline.time  # others may commit while the transaction is open
        if key not in self._slices:
            self._slices[key] = TransactionSlice(self.workspace.done, *key)
        return self._slices[key]

    def _judge(self, rule: Rule, tx_slice: TransactionSlice) -> pa.Table | None:
        scheduler, now = self.context.scheduler, self.workspace.now()
        try:
            happenings: list[Happening] = []
            if rule.event is not None:
                present = Present(scheduler, tx_slice, self.statement_ends, now)
                happenings = self.context.detection.now(rule, present)
                if not happenings:
                    return None
            if rule.evaluates_on_event:
                rows = self._holding(rule, tx_slice, happenings, now)
            else:
                rows = instances(scheduler, rule, tx_slice, self._deltas.of)
        except StaleWriter:
            raise
        except TidingsError as error:
            self.context.registry.set_error(rule.id, error)
            raise failure(rule.name, "condition", error) from error
        return rows if rows.num_rows else None

    def _holding(self, rule: Rule, tx_slice: TransactionSlice, happenings: list[Happening], now: int) -> pa.Table:
        """What holds now, for each way in which the event happened."""

        def answer(plan: Relation, relations: NetEntries) -> pa.Table:
            return self.workspace.for_action(self.workspace.parts, relations).answer(plan, now)

        return holding(self.context.scheduler, rule, tx_slice, happenings, answer, is_open=True)

    # running

    def settle(
        self,
        rules: Callable[[], Iterable[Rule]],
        start: int,
        after_action: Callable[[int], None],
        queued: dict[int, list[pa.Table]] | None = None,
    ) -> None:
        """Choose and run rules until none is triggered.

        ``rules`` gives those that may be triggered by what has been done so far.  ``after_action`` is called after each
        action, with the place where it began.  ``queued`` has instances of immediate conditions that wait for their
        action, by rule.
        """
        starts: dict[int, tuple[int, int]] = {}
        queue = queued if queued is not None else {}
        while True:
            for rule in sorted(rules(), key=lambda rule: rule.order):
                if queue.get(rule.id):
                    rows = pa.concat_tables(queue.pop(rule.id))
                elif queued is not None and rule.condition_coupling == "immediate":
                    continue
                else:
                    triggered = self.triggered(rule, *starts.get(rule.id, (start,)))
                    if triggered is None:
                        continue
                    rows = triggered
                chosen = len(self.workspace.done)
                self.run(rule, rows)
                starts[rule.id] = chosen, len(self.workspace.done)
                after_action(chosen)
                break
            else:
                return

    def run(self, rule: Rule, rows: pa.Table) -> None:
        """Run the action of a rule, now."""
        self.path.append(rule.name)
        if len(self.path) > self.context.limits.cascade:
            raise CascadeTooLong(bound=self.context.limits.cascade, cycle=cycle(self.path))
        try:
            self.context.actions.run(rule, rows, self.workspace)
        except (RuleRaised, StaleWriter):
            raise
        except Exception as error:
            self.context.registry.set_error(rule.id, error)
            raise failure(rule.name, "action", error) from error
        self.fired.append(Fired(rule, rows, ran=True))
        self.statement_ends.append(len(self.workspace.done))


def cycle(path: list[str]) -> str:
    """The rules that trigger each other, from the names of those that ran.

    >>> cycle(["once", "a", "b", "a", "b", "a"])
    'a → b → a'
    """
    last = path[-1]
    earlier = [n for n, name in enumerate(path[:-1]) if name == last]
    return " → ".join(path[earlier[-1] :] if earlier else path)
