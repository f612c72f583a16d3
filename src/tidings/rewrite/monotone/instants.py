"""An incremental query that tells of each row the instant at which it began to match.

Each alternative of an incremental query is guarded by the last of its lower bounds: that is the instant from which on
it holds.  A row that several alternatives have, or one alternative for several rows of the tables, began to match at
the first of their instants.
"""

from __future__ import annotations

from dataclasses import replace

from tidings.ir.standard_form import Alternative, OutputColumn, StandardForm
from tidings.rewrite.monotone.order import microseconds_later


def with_instants(incremental: StandardForm, name: str) -> StandardForm:
    """The query with one more column of a name, which has the instants."""
    return StandardForm(tuple(_with_instant(a, name) for a in incremental.alternatives))


def _with_instant(alternative: Alternative, name: str) -> Alternative:
    (bound,) = alternative.since
    at = OutputColumn(name, microseconds_later(bound.expression, bound.shift))
    return replace(alternative, output=(*alternative.output, at))
