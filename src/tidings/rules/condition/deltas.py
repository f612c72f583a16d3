"""The changes of conditions in one transaction, computed for several rules at once where they have something in common.

- Rules that differ only in constants are one query (:mod:`tidings.rules.condition.shape`).
- What a slice of the transaction makes of a view that several conditions read is computed once.
- On the database's engine all conditions that may be judged over a slice are evaluated in common jobs; in this process
  each is evaluated when it is judged, for it may never be.

A rule that reads ``CHANGES``, or whose activations were changed, sees another slice than the others and is by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.errors import TidingsError
from tidings.ir.relation import Relation
from tidings.lang.sql.rules.constants import constants_of
from tidings.lang.sql.statements.rule_options import Coupling
from tidings.read.slice_deltas import SliceDeltas
from tidings.rules.condition.shape import RuleShape
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.rule import Rule
from tidings.waves.scheduler import Scheduler

_SliceKey = tuple[int, int, int]
"""The ends of a slice, and the last commit before it."""


@dataclass(slots=True)
class ConditionDeltas:
    """Computes the changes of conditions in one transaction."""

    scheduler: Scheduler
    shapes: Mapping[int, RuleShape]
    candidates: Callable[[], Sequence[Rule]]
    """The rules that may be judged by what has been done so far."""
    _deltas: dict[tuple[_SliceKey, str, bool], pa.Table] = field(init=False, default_factory=dict)
    _by_rule: dict[tuple[_SliceKey, str, bool], dict[int, pa.Table]] = field(init=False, default_factory=dict)
    _judged: dict[tuple[_SliceKey, Coupling], _JudgedTogether] = field(init=False, default_factory=dict)

    def of(
        self, rule: Rule, tx_slice: TransactionSlice, before: NetEntries, changes: NetEntries, only_inserted: bool
    ) -> pa.Table:
        """What ``changes`` on top of ``before`` make of the rows of a condition.

        ``only_inserted`` tells the two times apart that a nervous rule is judged over one slice.
        """
        shape = self.shapes.get(rule.id)
        name, plan = _query(rule, shape)
        constants = _constants([shape])
        if _is_by_itself(rule, tx_slice):
            return SliceDeltas(self.scheduler, tx_slice.at, before, changes).delta(name, plan, beside=constants)
        slice_key = tx_slice.start, tx_slice.end, tx_slice.at
        key = slice_key, name, only_inserted
        if key not in self._deltas:
            if only_inserted:
                deltas = SliceDeltas(self.scheduler, tx_slice.at, before, changes)
                self._deltas[key] = deltas.delta(name, plan, beside=constants)
            else:
                judged = self._judged_together(rule, tx_slice)
                if key not in self._deltas:
                    self._deltas[key] = judged.deltas.delta(name, plan, judged.views, constants)
        if shape is None:
            return self._deltas[key]
        if key not in self._by_rule:
            self._by_rule[key] = shape.by_rule(self._deltas[key])
        by_rule = self._by_rule[key]
        return by_rule.get(rule.id, by_rule[0])

    def _judged_together(self, rule: Rule, tx_slice: TransactionSlice) -> _JudgedTogether:
        """The conditions that may be judged over a slice, with what they have in common computed, once per slice."""
        slice_key = tx_slice.start, tx_slice.end, tx_slice.at
        judged = self._judged.get((slice_key, rule.condition_coupling))
        if judged is not None:
            return judged
        judged = self._judged[slice_key, rule.condition_coupling] = self._judged_with(rule, tx_slice)
        plans, views, deltas = judged.plans, judged.views, judged.deltas
        try:
            for name, query in deltas.views_in_common(plans).items():
                views[name] = deltas.delta(name, query, views)
            if self.scheduler.engines.shares_jobs and len(plans) > 1:
                together = deltas.deltas(plans, views, _constants(judged.shapes))
                self._deltas |= {(slice_key, name, False): delta for name, delta in together.items()}
        except TidingsError:
            views.clear()  # one of them fails: each is judged by itself, so that it is known which
        return judged

    def _judged_with(self, rule: Rule, tx_slice: TransactionSlice) -> _JudgedTogether:
        """The conditions that may be judged over a slice together with that of a rule."""
        deltas = SliceDeltas(self.scheduler, tx_slice.at, tx_slice.before, tx_slice.changes)
        judged = _JudgedTogether(deltas)
        for other in (rule, *self.candidates()):
            alike = other.condition_coupling == rule.condition_coupling and not other.evaluates_on_event
            if alike and not _is_by_itself(other, tx_slice) and other.influents & tx_slice.changes.keys():
                judged.add(other, self.shapes.get(other.id))
        return judged


@dataclass(slots=True)
class _JudgedTogether:
    """Conditions that are judged over one slice."""

    deltas: SliceDeltas
    plans: dict[str, Relation] = field(default_factory=dict)
    """Their queries, by name."""
    shapes: list[RuleShape] = field(default_factory=list)
    views: NetEntries = field(default_factory=dict)
    """What the slice makes of views that several of them read."""

    def add(self, rule: Rule, shape: RuleShape | None) -> None:
        name, plan = _query(rule, shape)
        if name not in self.plans:
            self.plans[name] = plan
            self.shapes += [] if shape is None else [shape]


def _constants(shapes: Sequence[RuleShape | None]) -> NetEntries:
    """The constants of rules, by the names of their relations."""
    return {constants_of(shape.name): shape.constants for shape in shapes if shape is not None}


def _query(rule: Rule, shape: RuleShape | None) -> tuple[str, Relation]:
    """The query that is evaluated for a rule, with its name."""
    return (rule.name, rule.instances) if shape is None else (shape.name, shape.plan)


def _is_by_itself(rule: Rule, tx_slice: TransactionSlice) -> bool:
    """Whether a rule sees another slice than others do."""
    activations = rule.condition.activations
    return bool(rule.condition.changes) or (activations is not None and activations in tx_slice.changes)
