"""Views: named queries, and those whose rows are kept.

A stored view is kept like a table, with Tidings as its writer: the rows it had when it was made are its base, and every
change is logged at its own instant.  Groupings inside its query that can be carried on from their old rows are kept as
well (:mod:`tidings.rewrite.accumulate`), under names of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.ir.relation import Aggregate, Column, Relation, Scan
from tidings.ir.traverse import rebuild
from tidings.rewrite.accumulate import accumulate
from tidings.store.table import Table


@dataclass(frozen=True, slots=True)
class View:
    """A named query: its text as given and its bound plan."""

    name: str
    text: str
    plan: Relation
    query: str = ""
    """The text of its query alone."""
    named: tuple[str, ...] = ()
    """The names it gives its columns, if it does."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(f.name, f.type) for f in self.plan.fields)


@dataclass(slots=True)
class StoredView:
    """A view whose rows are kept, from ``since`` to ``until``; they do not count where it ends before it begins."""

    view: View
    strict: bool
    over: Relation
    """Its query over the groupings that are kept."""
    groupings: dict[str, Aggregate]
    tables: dict[str, Table]
    """The rows of the view and of its groupings, by name."""
    since: int
    until: int
    error: str | None = None
    """Why it stays where it is."""

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def plan(self) -> Relation:
        return self.view.plan

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.view.columns

    @property
    def rows(self) -> Table:
        """The view's own rows."""
        return self.tables[self.name]

    @property
    def is_outdated(self) -> bool:
        """Whether its rows have to be computed anew."""
        return self.since > self.until

    def outdate(self) -> None:
        """Let its rows not count any more: what it reads is not what it was."""
        self.since = self.until + 1


def stored(view: View, normal: Relation, at: int, *, strict: bool) -> StoredView:
    """A view to be kept, still without rows; ``normal`` is its query without views in it."""
    groupings: dict[str, Aggregate] = {}

    def keep(node: Relation) -> Relation:
        split = accumulate(node) if isinstance(node, Aggregate) else None
        if split is None:
            return node
        groups, values = split
        name = f"{view.name}#groups{len(groupings) + 1}"
        groupings[name] = groups
        scan = Scan(name, groups.alias, tuple(Column(f.name, f.type) for f in groups.fields))
        return type(values)(scan, values.alias, values.items)

    over = rebuild(normal, keep)
    tables = {n: Table(n, tuple(Column(f.name, f.type) for f in g.fields)) for n, g in groupings.items()}
    tables[view.name] = Table(view.name, view.columns)
    return StoredView(view, strict, over, groupings, tables, at, at)
