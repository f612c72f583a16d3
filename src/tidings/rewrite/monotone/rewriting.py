"""All that is known about a continuous query, or why it has no rewriting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidings.ir.standard_form import Alternative, StandardForm
from tidings.rewrite.monotone.bounding import bounding
from tidings.rewrite.monotone.incremental import incremental, visible


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a query may answer a row and not answer it any more later."""

    term: Alternative
    """The term that may cease to hold, alone."""
    because: str


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A query in standard form, its minimum bounding monotone query and its incremental query.

    All three have parameters: the present ``t``, and for the incremental query the end ``tau`` of the last run.
    :func:`tidings.engine.sql.standard_text.query_text` prints them with values for both, as text that can be run.  The
    incremental query is to be run over the tables as they were at ``t``; it has the rows that began to match in
    ``(tau, t]``, and perhaps some that had been told before, so who delivers them leaves these out.
    """

    standard: StandardForm
    reasons: tuple[Reason, ...]
    """Why the query is not known to be monotone; nothing if it is."""
    bounding: StandardForm
    incremental: StandardForm

    @property
    def is_monotone(self) -> bool:
        """Whether a row that was answered once is answered from then on."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class NoRewriting:
    """A query that cannot be rewritten: its changes have to be computed."""

    reason: str


def rewriting(form: StandardForm) -> Rewriting:
    """The rewriting of a query in standard form."""
    judged = bounding(form)
    standard = visible(form)
    reasons = tuple(dict.fromkeys(r for a in standard.alternatives for r in _reasons(a)))
    return Rewriting(standard, reasons, visible(judged), incremental(judged))


def _reasons(alternative: Alternative) -> Iterator[Reason]:
    """The terms of an alternative, as users may write them, that may cease to hold."""
    for bound in alternative.upper:
        yield Reason(Alternative(upper=(bound,)), "it ceases to hold as time passes")
    for absent in alternative.absent:
        yield Reason(Alternative(absent=(absent,)), "it ceases to hold when such a row comes")
