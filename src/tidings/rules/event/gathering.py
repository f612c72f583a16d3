"""Several events in any order, and several of one event: operators whose parts may come in any order.

What happened waits in the order in which it did, until enough of it is there.  A context says what is taken then:

=============  ==========================================================================
context        what is taken with the happening that makes it enough
=============  ==========================================================================
recent         the last of each kind; they stay
chronicle      the first of each kind; they are used once
continuous     what follows each first one, which is used once
cumulative     all that waits; it is used once
=============  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, assert_never

from tidings.lang.sql.statements.rule_options import EventContext
from tidings.rules.event.happening import Happening
from tidings.rules.event.nodes import EventNode


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that happened and waits for more: of which kind it is, and whether something may begin with it."""

    kind: int
    happening: Happening
    begins: bool = True


@dataclass(slots=True)
class GatherNode(EventNode):
    """So many events of different kinds, or so many of one, within some time or at one instant."""

    inputs: tuple[EventNode, ...]
    count: int
    within: int | None
    context: EventContext
    waiting: list[Waiting] = field(default_factory=list)

    @property
    def _is_repeated(self) -> bool:
        """Whether happenings of one event are counted, instead of events of different kinds."""
        return len(self.inputs) == 1

    def step(self, instant: int, happened: Collection[int]) -> list[Happening]:
        self.waiting = [w for w in self.waiting if self._may_count(w.happening, instant)]
        found: list[Happening] = []
        for kind, node in enumerate(self.inputs):
            for happening in node.step(instant, happened):
                if self._may_count(happening, instant):
                    found += self._with(Waiting(kind, happening))
        return found

    def _may_count(self, happening: Happening, instant: int) -> bool:
        """Whether something can be part of what ends at an instant."""
        return happening.end == instant if self.within is None else instant - happening.begin <= self.within

    def _with(self, new: Waiting) -> list[Happening]:
        """What becomes an event with something new; the rest waits."""
        match self.context:
            case "recent":
                return self._recent(new)
            case "chronicle":
                return self._chronicle(new)
            case "continuous":
                return self._continuous(new)
            case "cumulative":
                return self._cumulative(new)
            case _:
                assert_never(self.context)

    def _recent(self, new: Waiting) -> list[Happening]:
        if self._is_repeated:
            self.waiting = [*self.waiting, new][-self.count :]
        else:
            self.waiting = [*(w for w in self.waiting if w.kind != new.kind), new]
        taken = self.waiting[-self.count :]
        return [_together(taken)] if len(taken) == self.count else []

    def _chronicle(self, new: Waiting) -> list[Happening]:
        firsts = self.waiting if self._is_repeated else _first_of_each_kind(self.waiting, without=new.kind)
        return self._taken(firsts[: self.count - 1], new, self.count - 1)

    def _cumulative(self, new: Waiting) -> list[Happening]:
        kinds = len(self.waiting) if self._is_repeated else len({w.kind for w in self.waiting} - {new.kind})
        return self._taken(self.waiting if kinds >= self.count - 1 else [], new, self.count - 1)

    def _taken(self, others: list[Waiting], new: Waiting, needed: int) -> list[Happening]:
        if len(others) < needed:
            self.waiting.append(new)
            return []
        self.waiting = [w for w in self.waiting if not any(w is other for other in others)]
        return [_together([*others, new])]

    def _continuous(self, new: Waiting) -> list[Happening]:
        found: list[Happening] = []
        used: list[Waiting] = []
        for place, first in enumerate(self.waiting):
            if not first.begins:
                continue
            following = self.waiting[place:]
            members = following if self._is_repeated else _first_of_each_kind(following)
            is_more = self._is_repeated or new.kind not in {w.kind for w in members}
            if is_more and len(members) == self.count - 1:
                found.append(_together([*members, new]))
                used.append(first)
        begins = self._is_repeated or not found
        self.waiting = [w for w in self.waiting if not any(w is each for each in used)]
        self.waiting.append(Waiting(new.kind, new.happening, begins))
        starts = next((n for n, w in enumerate(self.waiting) if w.begins), len(self.waiting))
        self.waiting = self.waiting[starts:]
        return found

    def kept(self) -> list[Any]:
        return [[w.kind, w.happening.as_json(), w.begins] for w in self.waiting]

    def restore(self, value: list[Any]) -> None:
        self.waiting = [Waiting(kind, Happening.of_json(each), begins) for kind, each, begins in value]

    def oldest(self) -> int | None:
        own = [instant for w in self.waiting for _, instant in w.happening.parts]
        below = EventNode.oldest(self)
        return min([*own, *([] if below is None else [below])], default=None)


def _together(waiting: list[Waiting]) -> Happening:
    return Happening.together([w.happening for w in waiting])


def _first_of_each_kind(waiting: list[Waiting], without: int | None = None) -> list[Waiting]:
    """The first of each kind, in the order of waiting; those of one kind may be left out."""
    firsts: dict[int, Waiting] = {}
    for each in waiting:
        if each.kind != without:
            firsts.setdefault(each.kind, each)
    return list(firsts.values())
