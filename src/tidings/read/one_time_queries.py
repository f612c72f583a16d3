"""Answers queries that are asked once, also those that read ``CHANGES(…)`` over an interval.

The changes of the interval are computed first, as those of a view are; the query is evaluated over their rows, and over
the tables and views as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from tidings.clock import instant_of
from tidings.engine.stepping_out import SteppingOut
from tidings.errors import InvalidExpression, InvalidInstant, InvalidInterval
from tidings.ir.expression import Expression
from tidings.lang.sql.changes import ChangesOf, reads_changes
from tidings.lang.sql.parameters import Params
from tidings.lang.sql.parse import place
from tidings.lang.sql.query_of_changes import INSTANT, bind_query_of_changes, instant_query
from tidings.lang.sql.statement import Query
from tidings.read.answers import Answers
from tidings.read.bound_plans import BoundPlans
from tidings.read.side_by_side import change_source, changes_entry
from tidings.result import Result

_MENTIONS_CHANGES = re.compile(r"\bCHANGES\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OneTimeQueries:
    """Answers queries that are asked once, also those that read changes."""

    plans: BoundPlans
    answers: Answers

    def answer(
        self,
        text: str,
        as_of: int | None = None,
        params: Params | None = None,
        step_out: SteppingOut | None = None,
    ) -> Result:
        """The rows of a query, or of a relation by its name, now or as they were at an earlier instant.

        With ``step_out`` other threads may be let in while they are computed; ``AskedAgain`` says that it did not do.
        """
        if _MENTIONS_CHANGES.search(text) and reads_changes((query := self.plans.read(text, params)).query):
            return self._over_intervals(query, as_of)
        plan = self.plans.asked_once(text, params)
        return self.answers.now(plan, step_out) if as_of is None else self.answers.as_of(plan, as_of, step_out)

    def run(self, query: Query, step_out: SteppingOut | None = None) -> Result:
        """The rows of a query that is one statement of several; with ``step_out`` as in :meth:`answer`."""
        if reads_changes(query.query):
            return self._over_intervals(query, None)
        plan = self.plans.bind(query.query, query.text, query_text=query.query_text, once=True)
        return self.answers.now(plan, step_out)

    def _over_intervals(self, query: Query, as_of: int | None) -> Result:
        """The rows of a query that reads changes."""
        relations = self.plans.relations
        bound = bind_query_of_changes(
            query.query, query.text, relations, lambda name: change_source(relations, name), self.plans.analyzer
        )
        at = self.answers.timeline.present(bound.plan) if as_of is None else as_of
        rows = {of.relation: self._entry(of, query.text, at) for of in bound.changes}
        return self.answers.at(bound.plan, at, rows)

    def _entry(self, of: ChangesOf, text: str, at: int) -> pa.Table:
        """The changes over the interval, as a log entry."""
        assert of.since is not None
        since, until = self._instant(of.since, text), at if of.until is None else self._instant(of.until, text)
        if until > at:
            raise InvalidInterval(since=since, until=until, reason=f"it ends after {at}, the instant of the query")
        changes = self.answers.changes(of.name, of.plan, since, until, per_commit=False, strict=False)
        return changes_entry(of, changes.to_arrow(), 0)

    def _instant(self, end: Expression, text: str) -> int:
        """The instant that an end of an interval says: a timestamp, a date, or microseconds since the epoch."""
        asked = instant_query(end, self.answers.timeline.now())
        value = self.answers.now(self.plans.bind(asked, text)).rows()[0][INSTANT]
        try:
            return instant_of(value)
        except InvalidInstant:
            hint = "write a timestamp, as in since => TIMESTAMP '2026-01-31 12:00:00', or microseconds since the epoch"
            raise InvalidExpression(place(text, end), hint, reason="an end of an interval is an instant") from None
