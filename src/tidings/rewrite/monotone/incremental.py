"""The incremental query: ``Q^I(tau, t)`` has what ``Q_M`` has at ``t`` and did not have at ``tau``, and little more.

An alternative of ``Q_M`` begins to hold at the last of its lower bounds.  So it is new where that lies in
``(tau, t]``.  There is one query per bound that may be the last, each guarded by that bound alone: a query over one
table with an index or an order on its time column reads the part of it that is new.

``Q_M(t) - Q_M(tau) ⊆ Q^I(tau, t) ⊆ Q_M(t)``: a row is told again if another alternative had it before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidings.ir.standard_form import Alternative, Instant, StandardForm
from tidings.rewrite.monotone.order import Order, not_after


def incremental(bounding: StandardForm) -> StandardForm:
    """The guarded queries of a bounding monotone one."""
    guarded = (a for alternative in bounding.alternatives for a in _guarded(alternative))
    return StandardForm(tuple(dict.fromkeys(guarded)))


def _guarded(alternative: Alternative) -> Iterator[Alternative]:
    order = Order.of(alternative.tables, alternative.plain)
    for n, bound in enumerate(alternative.lower):
        others = alternative.lower[:n] + alternative.lower[n + 1 :]
        if any(order.is_not_after(other, bound) is False for other in others):
            continue
        last = tuple(not_after(other, bound) for other in others if not order.is_not_after(other, bound))
        yield replace(alternative, plain=alternative.plain + last, lower=(bound,), since=(bound,))


def visible(form: StandardForm) -> StandardForm:
    """A query without the bounds that say that rows are there: it reads no others."""
    return StandardForm(tuple(map(_visible, form.alternatives)))


def _visible(alternative: Alternative) -> Alternative:
    order = Order.of(alternative.tables, alternative.plain)
    arrivals = [Instant(use.time) for use in alternative.tables]
    lower = (b for b in alternative.lower if not any(order.is_not_after(b, arrival) for arrival in arrivals))
    return replace(alternative, lower=tuple(dict.fromkeys(lower)), absent=tuple(map(_visible, alternative.absent)))
