"""What stored views that are brought up to date together have in common: views below them, computed once per batch.

A view that is not stored is part of every query that reads it.  Where several queries of a batch read it, its delta is
computed once and handed to their waves, like the delta of a table; where it is empty, nothing that rests on it changes.
A stored view whose groupings lie inside such a view keeps its own query.  Views that differ only in constants are
computed by one query, and so are their groupings (:mod:`tidings.waves.in_process.shape_states`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tidings.analysis.influents import influents, reads
from tidings.ir.expression import Expression
from tidings.ir.relation import Aggregate, Relation
from tidings.rewrite.pipeline import normalise
from tidings.rewrite.shapes import NO_GROUPINGS, QueryShape, in_one, shape
from tidings.store.relation.view import StoredView, stored


@dataclass(frozen=True, slots=True)
class SharedQuery:
    """A stored view's query, over the groupings that are stored with it."""

    over: Relation
    groupings: Mapping[str, Aggregate]


@dataclass(frozen=True, slots=True)
class OneShape:
    """Several views that differ only in constants, and the query that computes all of them."""

    views: tuple[str, ...]
    plan: Relation
    groupings: Mapping[str, Aggregate] = field(default_factory=dict)
    """The definitions of the groupings that the query reads, by the names under which it does."""
    stored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By the same names, what each of the views has stored of them."""

    @property
    def name(self) -> str:
        return _name(self.views)


def of_one_shape(
    queries: Mapping[str, Relation], groupings: Mapping[str, Mapping[str, Aggregate]] | None = None
) -> list[OneShape]:
    """The groups of views that differ only in constants, two or more each; ``groupings`` are those of each."""
    of_each = groupings or {}
    shapes: dict[QueryShape, dict[str, tuple[Expression, ...]]] = {}
    for name, query in queries.items():
        taken = shape(query, of_each.get(name, NO_GROUPINGS))
        if taken is not None:
            shapes.setdefault(taken[0], {})[name] = taken[1]
    return [_one_shape(common, members, of_each) for common, members in shapes.items() if len(members) > 1]


def _one_shape(
    common: QueryShape,
    members: Mapping[str, tuple[Expression, ...]],
    groupings: Mapping[str, Mapping[str, Aggregate]],
) -> OneShape:
    views = tuple(members)
    names = [f"{_name(views)}#shared{n}" for n, _ in enumerate(common.groupings, 1)]
    one = in_one(common, list(members.values()), names)
    of_views = zip(*(groupings.get(view, NO_GROUPINGS) for view in views), strict=True)
    return OneShape(
        views,
        one.plan,
        dict(zip(names, one.groupings, strict=True)),
        dict(zip(names, of_views, strict=True)),
    )


def _name(views: tuple[str, ...]) -> str:
    return f"{views[0]} and {len(views) - 1} more"


def groups(views: list[StoredView], definitions: Mapping[str, Relation]) -> list[list[StoredView]]:
    """Views in groups, one after the other: those of one group stand at one instant, and none reads another.

    ``definitions`` are those of views that are not stored.
    """
    grouped: list[list[StoredView]] = []
    names: set[str] = set()
    for view in views:
        last = grouped[-1] if grouped else []
        alike = last and last[0].until == view.until and not view.is_outdated and not last[0].is_outdated
        if alike and names.isdisjoint(influents(view.plan, definitions)):
            last.append(view)
        else:
            grouped.append([view])
            names.clear()
        names.add(view.name)
    return grouped


def in_common(queries: Collection[Relation], definitions: Mapping[str, Relation]) -> list[str]:
    """The views that several queries read, themselves or through others in common; each after those it reads."""
    uses = Counter(name for query in queries for name in reads(query) if name in definitions)
    names: list[str] = []
    waiting = [name for name, times in uses.items() if times > 1]
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        names.append(name)
        for below in reads(definitions[name]):
            if below in definitions:
                uses[below] += 1
                waiting += [below] if uses[below] > 1 else []
    return sorted(names, key=lambda name: (_height(name, definitions), name))


def _height(name: str, definitions: Mapping[str, Relation]) -> int:
    return 1 + max((_height(b, definitions) for b in reads(definitions[name]) if b in definitions), default=0)


def over_shared(
    view: StoredView, definitions: Mapping[str, Relation], precomputed: frozenset[str]
) -> SharedQuery | None:
    """A stored view's query that reads views with precomputed deltas; None if its groupings would be others then."""
    normal = normalise(view.plan, definitions, keep=precomputed)
    over_views = stored(view.view, normal, 0, strict=False)
    if _shapes(over_views.groupings) != _shapes(view.groupings):
        return None
    return SharedQuery(over_views.over, over_views.groupings)


def _shapes(groupings: Mapping[str, Aggregate]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The names and columns of groupings, in order."""
    return [(name, [(f.name, f.type) for f in grouping.fields]) for name, grouping in groupings.items()]
