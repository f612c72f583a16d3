"""Composed events: from when to when they happened.

A composed event takes a *span*, from the moment its first part began to the moment its last part ended:

=========  =======================================================================================
a OR b     a span of either
a AND b    from the earlier of two beginnings to the later of two ends, in any order
a THEN b   from the beginning of a to the end of b, where a had ended before b began
=========  =======================================================================================

The parts of an AND or THEN end in one transaction, or with ``WITHIN`` the whole span is no longer than that.  Parts may
be composed themselves.  A moment is an instant and, in the open transaction, a place in what it has done; everything
that an earlier transaction did was done at one moment.

Of the spans with the same end only the one that began last matters: whatever can be composed with another one can be
composed with it too.  So there are no more spans than moments, and each composition takes one pass over them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import TypeAlias, assert_never

from tidings.lang.sql.statements.event import And, At, Event, Every, Or, SignalEvent, TableEvent, Then

Moment: TypeAlias = tuple[int, int]
"""An instant, and a place in the open transaction; 0 in those that are committed."""

Spans: TypeAlias = dict[Moment, Moment]
"""The last beginning of each end."""

SimpleEvent: TypeAlias = TableEvent | SignalEvent | Every | At
"""Events that are not composed."""

FindMoments: TypeAlias = Callable[[SimpleEvent, bool], Iterable[Moment]]
"""Finds the moments at which a simple event happened.

If the second argument is true, each statement of the open transaction is a moment of its own; else the slice that is
judged is one moment, and what was done before it is another.
"""


def spans(event: Event, moments: FindMoments, by_statement: bool = False) -> Spans:
    """The spans of an event; only the parts of a THEN are looked for statement by statement."""
    match event:
        case TableEvent() | SignalEvent() | Every() | At():
            return {moment: moment for moment in moments(event, by_statement)}
        case Or(parts=parts):
            return _either([spans(part, moments, by_statement) for part in parts])
        case And(parts=parts, within=within):
            return _short(_both([spans(part, moments, by_statement) for part in parts], within), within)
        case Then(parts=parts, within=within):
            return _short(_in_order([spans(part, moments, True) for part in parts], within), within)
        case _:
            assert_never(event)


def _either(parts: list[Spans]) -> Spans:
    """The spans of an OR: those of each part."""
    latest: Spans = {}
    for part in parts:
        for end, begin in part.items():
            latest[end] = max(begin, latest.get(end, begin))
    return latest


def _both(parts: list[Spans], within: int | None) -> Spans:
    """The spans of an AND: at each end of a part, the latest spans of all parts that have ended by then."""
    ordered = [_OrderedSpans(part) for part in parts]
    composed: Spans = {}
    for end in {end for part in ordered for end in part.ends}:
        begins = [part.latest_begin(end, same_transaction=within is None) for part in ordered]
        known = [begin for begin in begins if begin is not None]
        if len(known) == len(begins):
            composed[end] = min(known)
    return composed


def _in_order(parts: list[Spans], within: int | None) -> Spans:
    """The spans of a THEN: each part begins after the one before it has ended."""
    composed, *later = parts
    for part in later:
        before, composed = _OrderedSpans(composed), {}
        for end, begin in part.items():
            first = before.latest_begin(begin, same_transaction=within is None, earlier=True, transaction=end[0])
            if first is not None:
                composed[end] = first
    return composed


def reach(event: Event) -> int:
    """How far back, in microseconds, the parts of an event may lie."""
    match event:
        case TableEvent() | SignalEvent() | Every() | At():
            return 0
        case Or(parts=parts):
            return max(map(reach, parts))
        case And(parts=parts, within=within) | Then(parts=parts, within=within):
            return max(within or 0, *map(reach, parts))
        case _:
            assert_never(event)


def _short(composed: Spans, within: int | None) -> Spans:
    """The spans that are no longer than some microseconds, if there is a limit."""
    if within is None:
        return composed
    return {end: begin for end, begin in composed.items() if end[0] - begin[0] <= within}


class _OrderedSpans:
    """Spans in the order of their ends."""

    def __init__(self, unordered: Spans) -> None:
        self.ends = sorted(unordered)
        self._begins = [unordered[end] for end in self.ends]
        self._latest = list(accumulate(self._begins, max))
        """The latest beginning among the spans up to each end."""

    def latest_begin(
        self, until: Moment, *, same_transaction: bool, earlier: bool = False, transaction: int | None = None
    ) -> Moment | None:
        """The latest beginning of a span that ends by a moment, or ``earlier`` than it.

        ``same_transaction`` if only spans that end in one transaction count: that of the moment, unless another
        ``transaction`` is given by its instant.
        """
        place = bisect_left(self.ends, until) if earlier else bisect_right(self.ends, until)
        if not same_transaction:
            return self._latest[place - 1] if place else None
        first = bisect_left(self.ends, (until[0] if transaction is None else transaction, -1))
        return max(self._begins[first:place], default=None)
