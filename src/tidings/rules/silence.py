"""Silences: for a while, what a rule fires for is recorded, and its action does not run.

A silence is of one rule, or of all rules that are in a group while it lasts: of all their instances, or of those for
which a condition on their columns is true.  What fires while it lasts is recorded as *silenced*: its action does not
run, and nothing is sent.  What counts is the instant at which a rule fires, so a batch that is judged later is silenced
in the same way.

Only what happens after a commit can be silenced.  What is done in the transaction is part of it: DISABLE such a rule.

Where the condition of a silence cannot be evaluated, the rule is not silenced: it was replaced, or joined the group
later, and does not have the columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from tidings.constraints.evaluate import Evaluator
from tidings.errors import InvalidExpression, InvalidRule, TidingsError, UnknownColumn
from tidings.lang.sql.statements.silence import SilenceRule
from tidings.rules.action.check import CONDITION
from tidings.rules.fired import Fired
from tidings.rules.rule import DETACHED, Rule
from tidings.store.rules.silences import Silence, SilenceStore


@dataclass(frozen=True, slots=True)
class Silences:
    """The silences of one database."""

    store: SilenceStore
    evaluator: Evaluator

    def check(self, rule: Rule, statement: SilenceRule) -> None:
        """Refuse what cannot be silenced, and a condition that is not one on the rule's rows."""
        if rule.action_coupling not in DETACHED:
            hint = f"DISABLE RULE {rule.name} lets it rest"
            reason = f"its action is {rule.action_coupling}, and a silence is of what happens after a commit"
            raise InvalidRule(statement.place, hint, name=rule.name, reason=reason)
        if statement.condition is None:
            return
        try:
            self.evaluator.check(CONDITION, rule.columns, statement.condition, statement.text)
        except InvalidExpression as error:
            reason = "the condition of a silence is true or false of a row of the rule, and looks at nothing else"
            raise InvalidExpression(error.place, reason=reason) from None
        except UnknownColumn as error:
            if not statement.group:
                raise
            hint = f"the rule {rule.name} of the group has no such column"
            raise UnknownColumn(error.place, hint, name=error.parameters["name"]) from None

    def split(self, fired: list[Fired], at: int) -> list[Fired]:
        """What fired at an instant; silenced rows are firings of their own."""
        if not any(silence.covers(at) for silence in self.store.silences()):
            return fired
        return [part for whole in fired for part in self._split(whole, at)]

    def _split(self, fired: Fired, at: int) -> list[Fired]:
        return [fired] if fired.ran else split_by_mask(fired, self.mask(fired.rule, fired.rows, at))

    def mask(self, rule: Rule, rows: pa.Table, at: int) -> list[bool]:
        """Which of the rows that a rule fires for at an instant are silenced."""
        mask = [False] * rows.num_rows
        for silence in self.store.silences():
            if silence.covers(at) and silence.is_of(rule.name, rule.options.group):
                covered = self._covered(silence, rule, rows)
                mask = [before or now for before, now in zip(mask, covered, strict=True)]
        return mask

    def _covered(self, silence: Silence, rule: Rule, rows: pa.Table) -> list[bool]:
        """Which rows one silence covers."""
        if silence.condition is None:
            return [True] * rows.num_rows
        columns = rows.select([c.name for c in rule.columns])
        try:
            return [bool(v) for v in self.evaluator.holds(CONDITION, rule.columns, silence.condition, columns)]
        except TidingsError:
            return [False] * rows.num_rows


def split_by_mask(fired: Fired, mask: list[bool]) -> list[Fired]:
    """A firing without its silenced rows, and one of the silenced rows; those without rows are left out."""
    if True not in mask:
        return [fired]
    audible = fired.rows.filter(pa.array([not is_silenced for is_silenced in mask], pa.bool_()))
    silenced = replace(fired, rows=fired.rows.filter(pa.array(mask, pa.bool_())), silenced=True)
    return [*([replace(fired, rows=audible)] if audible.num_rows else []), silenced]
