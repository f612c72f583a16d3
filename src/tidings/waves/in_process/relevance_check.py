"""Tells by the changes alone which steps they matter to, for all steps by one query per changed relation.

A step whose conditions no changed row meets (:mod:`tidings.delta.relevance`) has an empty delta: nothing is looked up
for it, and it does not run.  Of twenty rules that a commit is judged by, most are done with in this way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from tidings.compiled import CompiledPlans, Identity
from tidings.delta.relevance import DeltaCondition, Relevance, check_plan
from tidings.errors import EngineFailed
from tidings.ir.relation import Relation
from tidings.waves.in_process.small_steps import SmallSteps
from tidings.waves.step_inputs import StepInputs

CHECKED_LIMIT = 1_000
"""Of more changes than this, some matter to nearly everything."""


@dataclass(slots=True)
class RelevanceCheck:
    """Checks the changes of a batch against the conditions of all steps that were run before."""

    small_steps: SmallSteps
    compiled: CompiledPlans
    _conditions: dict[str, dict[DeltaCondition, int]] = field(init=False)
    """The conditions on each relation, each with its place among them."""
    _plans: dict[str, tuple[int, Relation]] = field(init=False)
    """The query for each relation, and of how many conditions it is."""
    _answers: dict[tuple[str, Identity[pa.Table]], list[bool]] = field(init=False)
    """Which conditions are met by the changes of a relation in the present batch; none if that cannot be told."""

    def __post_init__(self) -> None:
        section = self.compiled.section
        self._conditions, self._plans, self._answers = section(), section(), section()

    def begin_batch(self) -> None:
        """Drop the answers of the batch before; conditions that were met with in it are checked from now on."""
        self._answers.clear()
        if sum(map(len, self._conditions.values())) > self.compiled.limit():
            self._conditions.clear()  # those that are still met with come back
            self._plans.clear()
        for relation, conditions in self._conditions.items():
            if relation not in self._plans or self._plans[relation][0] < len(conditions):
                self._plans[relation] = len(conditions), check_plan(relation, list(conditions))

    def add(self, relevance: Relevance) -> None:
        """Check the conditions of one more step, from the next batch on."""
        for condition in relevance:
            self._place(condition)

    def _place(self, condition: DeltaCondition) -> int:
        """The place of a condition among those on its relation."""
        of_relation = self._conditions.setdefault(condition.relation, {})
        return of_relation.setdefault(condition, len(of_relation))

    def is_relevant(self, relevance: Relevance, inputs: StepInputs, *, alone: bool) -> bool:
        """Whether some change may matter to a step; ``alone`` if to ask for this step alone is worth it."""
        return any(self._is_met(condition, inputs, alone=alone) for condition in relevance)

    def _is_met(self, condition: DeltaCondition, inputs: StepInputs, *, alone: bool) -> bool:
        relation = condition.relation
        number, plan = self._plans.get(relation, (0, None))
        place = self._place(condition)
        if relation in inputs.step_deltas or plan is None or place >= number or not (alone or number > 1):
            return True
        changes = inputs.delta(relation)
        if changes.num_rows > CHECKED_LIMIT:
            return True
        key = relation, Identity(changes)
        if key not in self._answers:
            self._answers[key] = self._answer(plan, inputs)
        answers = self._answers[key]
        return not answers or answers[place]

    def _answer(self, plan: Relation, inputs: StepInputs) -> list[bool]:
        try:
            row = self.small_steps.row(plan, inputs.source, inputs.since, inputs.until)
        except EngineFailed:
            return []  # the step itself may not come to what failed
        return [] if row is None else [value is True for value in row]
