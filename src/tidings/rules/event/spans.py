"""Events that are composed within one transaction: from when to when they happened in it.

A composed event takes a *span*, from the moment its first part began to the moment its last part ended:

===================  =================================================================================
a OR b               a span of either
a AND b              from the earlier of two beginnings to the later of two ends, in any order
ANY n OF (a, b, c)   the same, of any n of the parts
a THEN b             from the beginning of a to the end of b, where a had ended before b began
===================  =================================================================================

Parts may be composed themselves.  A moment is an instant and, in the open transaction, a place in what it has done;
everything that an earlier transaction did was done at one moment.

Of the spans with the same end only the one that began last matters: whatever can be composed with another one can be
composed with it too.  So there are no more spans than moments, and each composition takes one pass over them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import TypeAlias

from tidings.lang.sql.statements.event import And, AnyOf, Event, Or, SignalEvent, TableEvent, Then

Moment: TypeAlias = tuple[int, int]
"""An instant, and a place in the open transaction; 0 in those that are committed."""

Spans: TypeAlias = dict[Moment, Moment]
"""The last beginning of each end."""

FindMoments: TypeAlias = Callable[[TableEvent | SignalEvent, bool], Iterable[Moment]]
"""Finds the moments at which a simple event happened.

If the second argument is true, each statement of the open transaction is a moment of its own; else the slice that is
judged is one moment, and what was done before it is another.
"""


def spans(event: Event, moments: FindMoments, by_statement: bool = False) -> Spans:
    """The spans of an event; only the parts of a THEN are looked for statement by statement."""
    match event:
        case TableEvent() | SignalEvent():
            return {moment: moment for moment in moments(event, by_statement)}
        case Or(parts=parts):
            return _either([spans(part, moments, by_statement) for part in parts])
        case And(parts=parts):
            return _enough([spans(part, moments, by_statement) for part in parts], len(parts))
        case AnyOf(parts=parts, count=count):
            return _enough([spans(part, moments, by_statement) for part in parts], count)
        case Then(parts=parts):
            return _in_order([spans(part, moments, True) for part in parts])
        case _:
            raise AssertionError("this is not of one transaction")


def _either(parts: list[Spans]) -> Spans:
    """The spans of an OR: those of each part."""
    latest: Spans = {}
    for part in parts:
        for end, begin in part.items():
            latest[end] = max(begin, latest.get(end, begin))
    return latest


def _enough(parts: list[Spans], count: int) -> Spans:
    """The spans of some of several: at each end of a part, the latest spans of the parts that have ended by then."""
    ordered = [_OrderedSpans(part) for part in parts]
    composed: Spans = {}
    for end in {end for part in ordered for end in part.ends}:
        begins = sorted(begin for part in ordered if (begin := part.latest_begin(end, end[0])) is not None)
        if len(begins) >= count:
            composed[end] = begins[-count]
    return composed


def _in_order(parts: list[Spans]) -> Spans:
    """The spans of a THEN: each part begins after the one before it has ended."""
    composed, *later = parts
    for part in later:
        before, composed = _OrderedSpans(composed), {}
        for end, begin in part.items():
            first = before.latest_begin(begin, end[0], earlier=True)
            if first is not None:
                composed[end] = first
    return composed


class _OrderedSpans:
    """Spans in the order of their ends."""

    def __init__(self, unordered: Spans) -> None:
        self.ends = sorted(unordered)
        self._begins = [unordered[end] for end in self.ends]

    def latest_begin(self, until: Moment, transaction: int, *, earlier: bool = False) -> Moment | None:
        """The latest beginning of a span of a transaction that ends by a moment, or ``earlier`` than it."""
        place = bisect_left(self.ends, until) if earlier else bisect_right(self.ends, until)
        first = bisect_left(self.ends, (transaction, -1))
        return max(self._begins[first:place], default=None)
