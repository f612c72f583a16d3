"""What stored views that are brought up to date together have in common: views below them, computed once per wave.

A view that is not stored is part of every query that reads it.  Where several of the queries of a wave read it, its
delta is computed once and *given* to them, like the delta of a table; where it is empty, all that rests on it stays
as it is.  A stored view whose kept groupings lie inside of such a view is left as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidings.analysis.influents import influents, reads
from tidings.ir.relation import Aggregate, Relation
from tidings.rewrite.pipeline import normalise
from tidings.store.relation.view import StoredView, stored


@dataclass(frozen=True, slots=True)
class SharedQuery:
    """A stored view's query, over the groupings that are kept for it."""

    over: Relation
    groupings: Mapping[str, Aggregate]


def groups(views: list[StoredView], definitions: Mapping[str, Relation]) -> list[list[StoredView]]:
    """Views one after the other in groups: those of one group stand at one instant, and none reads another.

    ``definitions`` are those of views that are not stored.
    """
    found: list[list[StoredView]] = []
    for view in views:
        below = influents(view.plan, definitions)
        last = found[-1] if found else []
        alike = last and last[0].until == view.until and not view.is_outdated and not last[0].is_outdated
        if alike and not any(other.name in below for other in last):
            last.append(view)
        else:
            found.append([view])
    return found


def in_common(queries: Collection[Relation], definitions: Mapping[str, Relation]) -> list[str]:
    """The views that several queries read, themselves or through others in common; each after those it reads."""
    uses = Counter(name for query in queries for name in reads(query) if name in definitions)
    found: list[str] = []
    waiting = [name for name, times in uses.items() if times > 1]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.append(name)
        for below in reads(definitions[name]):
            if below in definitions:
                uses[below] += 1
                waiting += [below] if uses[below] > 1 else []
    return sorted(found, key=lambda name: (_height(name, definitions), name))


def _height(name: str, definitions: Mapping[str, Relation]) -> int:
    return 1 + max((_height(b, definitions) for b in reads(definitions[name]) if b in definitions), default=0)


def over_shared(view: StoredView, definitions: Mapping[str, Relation], given: frozenset[str]) -> SharedQuery | None:
    """A stored view's query that reads given views as they are; None if its groupings would be others then."""
    normal = normalise(view.plan, definitions, keep=given)
    made = stored(view.view, normal, 0, strict=False)
    kept, new = list(view.groupings.items()), list(made.groupings.items())
    alike = len(kept) == len(new) and all(_columns(a) == _columns(b) for (_, a), (_, b) in zip(kept, new, strict=True))
    if not alike or any(name != other for (name, _), (other, _) in zip(kept, new, strict=True)):
        return None
    return SharedQuery(made.over, made.groupings)


def _columns(groups: Aggregate) -> list[tuple[str, str]]:
    return [(f.name, f.type) for f in groups.fields]
