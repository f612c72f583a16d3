"""Events of rules, interpreted plainly.

Events of one transaction: all ways in which their parts may have happened are tried.  Events of several transactions:
for each event that ends something, all that happened before is gone through, and the context chooses from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations, product
from random import Random
from typing import Any, Literal, get_args

Bag = Counter[tuple[Any, ...]]
State = dict[str, Bag]
"""All rows of all tables, and of the event ``e``."""

Moment = tuple[int, int]
"""The number of a transaction, and of a step in the one that is open."""

Span = tuple[Moment, Moment]
Simple = Literal["insert", "delete", "update", "signal"]
Composed = Literal["or", "and", "then", "any", "times", "not", "each", "all", "ticks", "all ticks", "plus"]
Kind = Simple | Composed
Context = Literal["recent", "chronicle", "continuous", "cumulative"]
CONTEXTS: tuple[Context, ...] = get_args(Context)

KEYED = "c"
SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class PlainEvent:
    """What a rule waits for: something of one table, or several events composed."""

    kind: Kind
    table: str = "e"
    parts: tuple[PlainEvent, ...] = ()
    within: int | None = None
    """In seconds; the interval of ticks, and of what is added."""
    count: int = 0

    @property
    def text(self) -> str:
        """What stands after ON."""
        if not self.parts:
            words = {"insert": "INSERT INTO", "delete": "DELETE FROM", "update": "UPDATE OF", "signal": "SIGNAL"}
            return f"{words[self.kind]} {self.table}"
        parts = [f"({p.text})" if p.parts else p.text for p in self.parts]
        within = "" if self.within is None else f" WITHIN INTERVAL {self.within} SECONDS"
        interval = f"INTERVAL {self.within} SECONDS"
        match self.kind:
            case "any":
                return f"ANY {self.count} OF ({', '.join(parts)}){within}"
            case "times":
                return f"{self.count} OF {parts[0]}{within}"
            case "not":
                return f"NOT {parts[2]} BETWEEN {parts[0]} AND {parts[1]}{within}"
            case "each" | "all":
                return f"{self.kind.upper()} {parts[2]} BETWEEN {parts[0]} AND {parts[1]}"
            case "ticks" | "all ticks":
                every = "EVERY" if self.kind == "ticks" else "ALL EVERY"
                return f"{every} {interval} BETWEEN {parts[0]} AND {parts[1]}"
            case "plus":
                return f"{parts[0]} PLUS {interval}"
            case _:
                return f" {self.kind.upper()} ".join(parts) + within

    @property
    def leaves(self) -> list[PlainEvent]:
        return [leaf for part in self.parts for leaf in part.leaves] if self.parts else [self]

    @property
    def is_local(self) -> bool:
        """Whether it happens in one transaction."""
        if self.kind in ("or", "and", "then", "any"):
            return self.within is None and all(part.is_local for part in self.parts)
        return not self.parts

    def is_in(self, before: State, after: State) -> bool:
        """Whether something is what lies between two states."""
        came, went = after[self.table] - before[self.table], before[self.table] - after[self.table]
        match self.kind:
            case "signal":
                return bool(came)
            case "insert" | "delete" if self.table == KEYED:
                one, other = (came, went) if self.kind == "insert" else (went, came)
                return bool({r[0] for r in one} - {r[0] for r in other})
            case "update" if self.table == KEYED:
                return bool({r[0] for r in came} & {r[0] for r in went})
            case kind:
                return {"insert": bool(came), "delete": bool(went), "update": bool(came and went)}[kind]


# events of one transaction

Find = Callable[[PlainEvent, bool], Iterable[Moment]]


def spans(event: PlainEvent, find: Find, stepwise: bool = False) -> set[Span]:
    """Every span of an event of one transaction."""
    if not event.parts:
        return {(m, m) for m in find(event, stepwise)}
    found = [spans(p, find, stepwise or event.kind == "then") for p in event.parts]
    if event.kind == "or":
        return set().union(*found)
    if event.kind == "any":
        ways = [tuple(found[n] for n in chosen) for chosen in combinations(range(len(found)), event.count)]
        return set().union(*(_composed("and", way) for way in ways))
    return _composed(event.kind, tuple(found))


def _composed(kind: str, found: tuple[set[Span], ...]) -> set[Span]:
    whole = found[0]
    for more in found[1:]:
        whole = {
            (min(one[0], other[0]), max(one[1], other[1]))
            for one, other in product(whole, more)
            if (kind == "and" or one[1] < other[0]) and one[1][0] == other[1][0]
        }
    return whole


# events of several transactions


@dataclass(frozen=True, slots=True)
class PlainHappening:
    """An event happened: when it began and ended, and by which parts."""

    begin: int
    end: int
    parts: frozenset[tuple[PlainEvent, int]]


Times = Callable[[PlainEvent], Iterable[int]]
"""When an event of one transaction happened."""


def together(happenings: Iterable[PlainHappening]) -> PlainHappening:
    listed = list(happenings)
    parts = frozenset[tuple[PlainEvent, int]]().union(*(each.parts for each in listed))
    return PlainHappening(min(h.begin for h in listed), max(h.end for h in listed), parts)


def happenings(event: PlainEvent, context: Context, times: Times, until: int) -> list[PlainHappening]:
    """All that an event is, in the order of its ends; times and intervals are in microseconds."""
    if event.is_local and event.kind != "or":
        return [PlainHappening(t, t, frozenset({(event, t)})) for t in sorted(times(event))]
    below = [happenings(part, context, times, until) for part in event.parts]
    within = None if event.within is None else event.within * SECOND
    match event.kind:
        case "or":
            return sorted((each for part in below for each in part), key=lambda h: h.end)
        case "and" | "any" | "times":
            count = len(below) if event.kind == "and" else event.count
            return _gathered(below, count, within, context)
        case "then":
            whole = below[0]
            for part in below[1:]:
                whole = _ended(whole, part, [], within, context)
            return whole
        case "not":
            return _ended(below[0], below[1], below[2], within, context)
        case "each" | "all":
            opened, ends, inside = below
            return _between(opened, ends, inside, lambda a, each: a.end < each.begin, event.kind == "all", context)
        case "ticks" | "all ticks":
            assert within is not None
            instants = {t for a in below[0] for t in range(a.end + within, until + 1, within)}
            ticks = [PlainHappening(t, t, frozenset({(event, t)})) for t in sorted(instants)]

            def is_tick(a: PlainHappening, each: PlainHappening, interval: int = within) -> bool:
                return a.end < each.end and (each.end - a.end) % interval == 0

            opened, ends = below
            return _between(opened, ends, ticks, is_tick, event.kind == "all ticks", context)
        case _:
            assert within is not None
            return [PlainHappening(h.begin, h.end + within, h.parts) for h in below[0] if h.end + within <= until]


def _chosen(fit: list[PlainHappening], context: Context) -> list[list[PlainHappening]]:
    if not fit:
        return []
    return {
        "recent": [fit[-1:]],
        "chronicle": [fit[:1]],
        "continuous": [[each] for each in fit],
        "cumulative": [fit],
    }[context]


def _open(opened: list[PlainHappening], at: int, used: list[PlainHappening], context: Context) -> list[PlainHappening]:
    """What was opened before an instant and not used; of recent ones the last."""
    there = [each for each in opened if each.end < at]
    if context == "recent":
        there = there[-1:]
    return [each for each in there if not any(each is one for one in used)]


def _ended(
    opened: list[PlainHappening],
    ends: list[PlainHappening],
    forbidden: list[PlainHappening],
    within: int | None,
    context: Context,
) -> list[PlainHappening]:
    used: list[PlainHappening] = []
    found = []
    for end in ends:
        fit = [
            each
            for each in _open(opened, end.end, used, context)
            if each.end < end.begin
            and (within is None or end.end - each.begin <= within)
            and not any(each.end < no.end < end.end for no in forbidden)
        ]
        for group in _chosen(fit, context):
            found.append(together([*group, end]))
            used += group if context != "recent" else []
    return found


IsInside = Callable[[PlainHappening, PlainHappening], bool]


def _between(
    opened: list[PlainHappening],
    ends: list[PlainHappening],
    inside: list[PlainHappening],
    is_inside: IsInside,
    at_end: bool,
    context: Context,
) -> list[PlainHappening]:
    """What happens between two others; at one instant ends count first, and beginnings last."""
    windows: list[tuple[PlainHappening, list[PlainHappening]]] = []
    found: list[PlainHappening] = []
    for instant in sorted({each.end for each in (*opened, *ends, *inside)}):
        for end in (each for each in ends if each.end == instant):
            fit = [a for a, _ in windows if a.end < end.begin]
            for group in _chosen(fit, context):
                contents = [i for a, contained in windows if any(a is g for g in group) for i in contained]
                found += [together([*group, *contents, end])] if at_end else []
                windows = [w for w in windows if not any(w[0] is g for g in group)]
        for each in (each for each in inside if each.end == instant):
            fit = [a for a, _ in windows if is_inside(a, each)]
            for window, contained in windows:
                contained += [each] if any(window is a for a in fit) else []
            found += [] if at_end else [together([*group, each]) for group in _chosen(fit, context)]
        for a in (each for each in opened if each.end == instant):
            windows = [*([] if context == "recent" else windows), (a, [])]
    return found


@dataclass(eq=False, slots=True)
class _Waiting:
    """Something that waits for more of other kinds, or of its own if there is one kind only."""

    kind: int
    happening: PlainHappening
    used: bool = False
    begins: bool = True


def _gathered(
    below: list[list[PlainHappening]], count: int, within: int | None, context: Context
) -> list[PlainHappening]:
    """Some of several in any order, or several of one."""
    everything = [(h.end, kind, n, h) for kind, part in enumerate(below) for n, h in enumerate(part)]
    waiting: list[_Waiting] = []
    found: list[PlainHappening] = []
    for instant, kind, _, happening in sorted(everything, key=lambda each: each[:3]):

        def fits(h: PlainHappening, at: int = instant) -> bool:
            return h.end == at if within is None else at - h.begin <= within

        if not fits(happening):
            continue
        new = _Waiting(kind, happening)
        there = [w for w in waiting if fits(w.happening) and not w.used]
        groups = _groups(there, new, count, len(below) == 1, context)
        waiting.append(new)
        found += [together(w.happening for w in group) for group in groups]
        for group in groups if context != "recent" else []:
            for each in group[:1] if context == "continuous" else group:
                each.used = True
        new.begins = len(below) == 1 or not groups
    return found


def _groups(there: list[_Waiting], new: _Waiting, count: int, repeated: bool, context: Context) -> list[list[_Waiting]]:
    others = [w for w in there if repeated or w.kind != new.kind]
    if context == "recent":
        lasts = others if repeated else list({w.kind: w for w in _by_last(others)}.values())
        taken = [*lasts, new][-count:]
        return [taken] if len(taken) == count else []
    if context == "continuous":
        groups = []
        for place, first in enumerate(there):
            if first.begins:
                members = there[place:] if repeated else _firsts(there[place:])
                if len(members) == count - 1 and (repeated or new.kind not in {w.kind for w in members}):
                    groups.append([*members, new])
        return groups
    firsts = others if repeated else _firsts(others)
    if len(firsts) < count - 1:
        return []
    return [[*(there if context == "cumulative" else firsts[: count - 1]), new]]


def _firsts(waiting: list[_Waiting]) -> list[_Waiting]:
    firsts: dict[int, _Waiting] = {}
    for each in waiting:
        firsts.setdefault(each.kind, each)
    return list(firsts.values())


def _by_last(waiting: list[_Waiting]) -> list[_Waiting]:
    """The last of each kind, in the order in which they happened."""
    return [w for n, w in enumerate(waiting) if w.kind not in {later.kind for later in waiting[n + 1 :]}]


# random events


def random_event(
    random: Random, *, late: bool, depth: int = 2, several: bool = True, timed: bool = False
) -> PlainEvent:
    """An event; ``late`` if it is looked for after commits, when the order within one is not known.

    ``several`` if it may take several transactions, ``timed`` if it may happen by itself as time passes.
    """
    if depth == 0 or random.random() < 0.35:
        if random.random() < 0.4:
            return PlainEvent("signal")
        return PlainEvent(random.choice(("insert", "insert", "delete", "update")), random.choice(("a", "b", KEYED)))
    kinds: list[Kind] = ["or", "and", "then", "any"]
    kinds += ["and", "then", "times", "not", "each", "all"] if several else []
    kinds += ["ticks", "all ticks", "plus"] if several and timed else []
    kind = random.choice(kinds)
    within: int | None = random.choice((5, 15, 45))
    if kind in ("or", "each", "all") or not several or (kind in ("and", "any", "not") and random.random() < 0.4):
        within = None
    if kind == "then" and not late and random.random() < 0.4:
        within = None
    if kind == "then" and late and not several:
        kind = "and"
    numbers = {"times": 1, "plus": 1, "ticks": 2, "all ticks": 2, "not": 3, "each": 3, "all": 3}
    number = numbers.get(kind) or random.choice((2, depth + 1))
    inner = several and not (kind == "then" and within is None)
    parts = tuple(random_event(random, late=late, depth=depth - 1, several=inner, timed=timed) for _ in range(number))
    count = random.randint(1, number) if kind == "any" else random.randint(2, 3) if kind == "times" else 0
    return PlainEvent(kind, parts=parts, within=within, count=count)
