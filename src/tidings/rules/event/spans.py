"""Composed events: from when to when they happened.

What is composed takes a *span*, from the moment its first part began to the moment its last part ended:

=========  =======================================================================================
a OR b     a span of either
a AND b    from the earlier of two beginnings to the later of two ends, in any order
a THEN b   from the beginning of a to the end of b, where a had ended before b began
=========  =======================================================================================

The parts of an AND or THEN end in one transaction, or with ``WITHIN`` the whole span is no longer than that.  Parts may
be composed themselves.  A moment is an instant and, in the transaction that is open, a place in what it has done; what
an earlier transaction did was done at one moment.

Of the spans with one end the one that began last is kept: whatever is composed of another one is composed of it too.
So there are no more spans than moments, and each composition takes a pass over them.
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

Plain: TypeAlias = TableEvent | SignalEvent | Every | At
"""Events that are not composed."""

Find: TypeAlias = Callable[[Plain, bool], Iterable[Moment]]
"""The moments at which an event happened; what the open transaction did is one moment, or several, step by step."""


def spans(event: Event, find: Find, stepwise: bool = False) -> Spans:
    """The spans of an event; only the parts of a THEN are looked for step by step."""
    match event:
        case TableEvent() | SignalEvent() | Every() | At():
            return {moment: moment for moment in find(event, stepwise)}
        case Or(parts=parts):
            found: Spans = {}
            for one in parts:
                for end, begin in spans(one, find, stepwise).items():
                    found[end] = max(begin, found.get(end, begin))
            return found
        case And(parts=parts, within=within):
            several = [_Sorted(spans(one, find, stepwise)) for one in parts]
            found = {}
            for end in {end for one in several for end in one.ends}:
                begins = [one.last(end, alone=within is None) for one in several]
                known = [begin for begin in begins if begin is not None]
                if len(known) == len(begins):
                    found[end] = min(known)
            return _short(found, within)
        case Then(parts=parts, within=within):
            found = spans(parts[0], find, True)
            for one in parts[1:]:
                before, found = _Sorted(found), {}
                for end, begin in spans(one, find, True).items():
                    first = before.last(begin, alone=within is None, earlier=True, of=end[0])
                    if first is not None:
                        found[end] = first
            return _short(found, within)
        case _:
            assert_never(event)


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


def _short(found: Spans, within: int | None) -> Spans:
    return {e: b for e, b in found.items() if e[0] - b[0] <= within} if within is not None else found


class _Sorted:
    """Spans by their ends, with the last beginning up to each."""

    def __init__(self, found: Spans) -> None:
        self.ends = sorted(found)
        self._begins = [found[end] for end in self.ends]
        self._last = list(accumulate(self._begins, max))

    def last(self, until: Moment, *, alone: bool, earlier: bool = False, of: int | None = None) -> Moment | None:
        """The last beginning of a span that ends by a moment, or ``earlier``; ``alone`` if in the same transaction.

        The transaction is that of the moment, unless it is the one ``of`` an instant.
        """
        place = bisect_left(self.ends, until) if earlier else bisect_right(self.ends, until)
        if not alone:
            return self._last[place - 1] if place else None
        first = bisect_left(self.ends, (until[0] if of is None else of, -1))
        return max(self._begins[first:place], default=None)
