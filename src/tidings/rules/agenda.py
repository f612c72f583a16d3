"""The check phase: rules are chosen and run, one at a time, until none is triggered.

1. Of the triggered rules the one with the highest priority is chosen, of several the oldest.
2. Its action runs once, for all its instances.
3. What the action changes counts before the next choice: rules may be triggered by it, or not be triggered any more.

A rule is judged over the stretch since the phase's beginning.  Once it has run, it has dealt with the instances that
were there when it was chosen and still were after its action.  So it is judged over two stretches, since it was chosen
and since its action ended, and triggered by either: its action may trigger it again, and what its action undid may come
back.

Judging again what did not change is avoided: a rule that was not triggered is asked again only when something it reads
has been touched since.

A phase that does not end is ended: after ``bound`` actions it fails, and names the rules that trigger each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.engine.changes import larger_bag
from tidings.errors import CascadeTooLong, RuleRaised, TidingsError
from tidings.read import in_transaction
from tidings.rules.action.run import Actions
from tidings.rules.condition.evaluate import instances
from tidings.rules.condition.shape import CONSTANTS, RuleShape
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.event.occurrence import Present, happened
from tidings.rules.rule import Rule
from tidings.waves.scheduler import Scheduler
from tidings.write.workspace import Workspace

BOUND = 64
"""So many actions may run in one check phase."""


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule fired, for some rows: its action ran, or is to run later."""

    rule: Rule
    rows: pa.Table
    ran: bool
    gone: bool = False
    """It is told that instances are gone, by a rule that also tells that they begin."""
    silenced: bool = False
    """It is recorded, and nothing else is done."""


@dataclass(slots=True)
class Agenda:
    """Judges and runs rules in one transaction."""

    workspace: Workspace
    scheduler: Scheduler
    actions: Actions
    last: Callable[[], int]
    """The last commit; others may commit while the transaction is open."""
    failed: Callable[[Rule, Exception], None]
    shapes: Mapping[int, RuleShape] = field(default_factory=dict)
    """What rules have in common, by their numbers."""
    bound: int = BOUND
    fired: list[Fired] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Where statements and actions ended."""
    _slices: dict[tuple[int, int, int], TransactionSlice] = field(default_factory=dict)
    _shared: dict[tuple[str, int, int, int, bool], dict[int, pa.Table]] = field(default_factory=dict)
    _quiet: dict[tuple[int, int], int] = field(default_factory=dict)
    """Up to where a rule was judged and not triggered, by rule and beginning of the stretch."""

    def triggered(self, rule: Rule, *starts: int) -> pa.Table | None:
        """The instances of a rule since one of some places in the transaction; None if there are none."""
        found = [rows for start in dict.fromkeys(starts) if (rows := self._since(rule, start)) is not None]
        return None if not found else found[0] if len(found) == 1 else larger_bag(rule.columns, *found)

    def _since(self, rule: Rule, start: int) -> pa.Table | None:
        done = self.workspace.done
        judged = self._quiet.get((rule.id, start), start)
        reads = rule.influents | rule.hears
        end = next((n for n in range(len(done), judged, -1) if done[n - 1][0].name in reads), None)
        if end is None:
            return None
        found = self._judged(rule, self._slice(start, end))
        if found is None:
            self._quiet[rule.id, start] = len(done)
        return found

    def _slice(self, start: int, end: int) -> TransactionSlice:
        """What was done from one place to another; netted once for all rules."""
        key = start, end, self.last()
        if key not in self._slices:
            self._slices[key] = TransactionSlice(self.workspace.done, *key)
        return self._slices[key]

    def _judged(self, rule: Rule, tx_slice: TransactionSlice) -> pa.Table | None:
        event, now = rule.event, self.workspace.now()
        try:
            if event is not None:
                present = Present(self.scheduler.relations, tx_slice, self.ends, now, rule.created)
                if not happened(event, present):
                    return None
            if rule.asks:
                rows = self.workspace.answer(rule.plan, now)
            else:
                rows = instances(self.scheduler, rule, tx_slice, self._delta)
        except TidingsError as error:
            self.failed(rule, error)
            raise
        return rows if rows.num_rows else None

    def _delta(
        self, rule: Rule, tx_slice: TransactionSlice, before: NetEntries, changes: NetEntries, came: bool
    ) -> pa.Table:
        """The changes of a condition; those of rules of one shape are found once for all of them."""
        shape = self.shapes.get(rule.id)
        if shape is None:
            return in_transaction.delta(self.scheduler, rule.name, rule.plan, tx_slice.at, before, changes)
        key = shape.name, tx_slice.start, tx_slice.end, tx_slice.at, came
        if key not in self._shared:
            given = before | {CONSTANTS: shape.constants}
            found = in_transaction.delta(self.scheduler, shape.name, shape.plan, tx_slice.at, given, changes)
            self._shared[key] = shape.apart(found)
        return self._shared[key].get(rule.id, self._shared[key][0])

    def settle(
        self,
        rules: Callable[[], Iterable[Rule]],
        start: int,
        after: Callable[[int], None],
        queued: dict[int, list[pa.Table]] | None = None,
    ) -> None:
        """Choose and run rules until none is triggered; ``queued`` are instances that wait for their action.

        ``rules`` gives those that may be triggered by what has been done so far.  ``after`` is told where an action
        began, once it is over.
        """
        marks: dict[int, tuple[int, int]] = {}
        waiting = queued if queued is not None else {}
        while True:
            for rule in sorted(rules(), key=lambda rule: rule.order):
                if waiting.get(rule.id):
                    rows = pa.concat_tables(waiting.pop(rule.id))
                elif queued is not None and rule.condition == "immediate":
                    continue
                else:
                    found = self.triggered(rule, *marks.get(rule.id, (start,)))
                    if found is None:
                        continue
                    rows = found
                chosen = len(self.workspace.done)
                self.run(rule, rows)
                marks[rule.id] = chosen, len(self.workspace.done)
                after(chosen)
                break
            else:
                return

    def run(self, rule: Rule, rows: pa.Table) -> None:
        """Run the action of a rule, now."""
        self.path.append(rule.name)
        if len(self.path) > self.bound:
            raise CascadeTooLong(bound=self.bound, cycle=cycle(self.path))
        try:
            self.actions.run(rule, rows, self.workspace)
        except RuleRaised:
            raise
        except Exception as error:
            self.failed(rule, error)
            raise
        self.fired.append(Fired(rule, rows, ran=True))
        self.ends.append(len(self.workspace.done))


def cycle(path: list[str]) -> str:
    """The rules that trigger each other, from the names of those that ran.

    >>> cycle(["once", "a", "b", "a", "b", "a"])
    'a → b → a'
    """
    last = path[-1]
    before = [n for n, name in enumerate(path[:-1]) if name == last]
    return " → ".join(path[before[-1] :] if before else path)
