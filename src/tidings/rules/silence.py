"""Silences: what a rule has to tell is recorded, and not told, for a while.

A silence is of one rule, of all its instances or of those that a condition on its columns speaks of.  What fires while
it lasts is recorded as *silenced*: its action does not run, and nothing is sent.  What counts is the instant at which a
rule fires, so a batch that is judged later is silenced in the same way.

Only what happens after a commit can be silenced.  What is done in the transaction is part of it: DISABLE such a rule.

Where the condition of a silence cannot be evaluated, the rule is heard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from tidings.constraints.evaluate import Evaluator
from tidings.errors import InvalidExpression, InvalidRule, TidingsError
from tidings.lang.sql.statements.silence import SilenceRule
from tidings.rules.action.run import CONDITION
from tidings.rules.agenda import Fired
from tidings.rules.rule import Rule
from tidings.store.rules.silences import Silence, SilenceStore

DETACHED = ("detached", "detached independent")


@dataclass(frozen=True, slots=True)
class Silences:
    """The silences of one database."""

    store: SilenceStore
    evaluator: Evaluator

    def check(self, rule: Rule, read: SilenceRule) -> None:
        """Refuse what cannot be silenced, and conditions that say nothing of the rule's rows."""
        if rule.action not in DETACHED:
            hint = f"DISABLE RULE {rule.name} lets it rest"
            reason = f"its action is {rule.action}, and a silence is of what happens after a commit"
            raise InvalidRule(read.place, hint, name=rule.name, reason=reason)
        if read.condition is None:
            return
        try:
            self.evaluator.check(CONDITION, rule.columns, read.condition, read.text)
        except InvalidExpression as error:
            reason = "the condition of a silence is true or false of a row of the rule, and looks at nothing else"
            raise InvalidExpression(error.place, reason=reason) from None

    def mask(self, rule: Rule, rows: pa.Table, at: int) -> list[bool]:
        """Which of the rows of a rule that fires at an instant are silenced."""
        found = [False] * rows.num_rows
        for one in self.store.silences():
            if one.rule.lower() == rule.name.lower() and one.covers(at):
                found = [a or b for a, b in zip(found, self._covered(one, rule, rows), strict=True)]
        return found

    def _covered(self, silence: Silence, rule: Rule, rows: pa.Table) -> list[bool]:
        if silence.condition is None:
            return [True] * rows.num_rows
        own = rows.select([c.name for c in rule.columns])
        try:
            return [bool(v) for v in self.evaluator.holds(CONDITION, rule.columns, silence.condition, own)]
        except TidingsError:  # the rule was replaced by one with other columns, say
            return [False] * rows.num_rows

    def split(self, fired: list[Fired], at: int) -> list[Fired]:
        """What fired, the silenced part of it apart."""
        if not any(s.covers(at) for s in self.store.silences()):
            return fired
        return [part for one in fired for part in self._parts(one, at)]

    def _parts(self, fired: Fired, at: int) -> list[Fired]:
        if fired.ran:
            return [fired]
        return parts(fired, self.mask(fired.rule, fired.rows, at))


def parts(fired: Fired, mask: list[bool]) -> list[Fired]:
    """A firing as one that is heard and one that is not; those without rows are left out."""
    if True not in mask:
        return [fired]
    silent = pa.array(mask, pa.bool_())
    heard = fired.rows.filter(pa.array([not m for m in mask], pa.bool_()))
    silenced = replace(fired, rows=fired.rows.filter(silent), silenced=True)
    return [*([replace(fired, rows=heard)] if heard.num_rows else []), silenced]
