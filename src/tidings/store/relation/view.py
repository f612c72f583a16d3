"""Views: named queries, and those whose rows are stored.

A stored view is stored like a table, with Tidings as its writer: the rows it had when it was made are its base, and
every change is logged at its own instant.  Groupings inside its query that can be carried on from their old rows are
stored as well (:mod:`tidings.rewrite.accumulate`), under names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tidings.ir.fragments import FragmentScheme
from tidings.ir.relation import Aggregate, Column, Relation, Scan
from tidings.ir.text import show
from tidings.ir.traverse import rebuild
from tidings.rewrite.accumulate import accumulate
from tidings.store.records import Cursor
from tidings.store.relation.table import Table

GROUPS = "#groups"
"""Between the name of a stored view and the number of one of its groupings."""


class Refresh(StrEnum):
    """When a stored view is brought up to date."""

    IMMEDIATE = "immediate"
    """Inside every commit."""
    ON_ADVANCE = "on advance"
    """By ``advance()``, and when it is read."""
    MANUAL = "manual"
    """When that is asked for; until then its query stands for it."""


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
    by_cost: bool = False
    """Whether it is left to costs if its rows are stored."""
    fragments: FragmentScheme | None = None
    """What it is the whole of, if it is a fragmented table."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(f.name, f.type) for f in self.plan.fields)


@dataclass(slots=True)
class StoredView:
    """A view whose rows are stored.

    Its cursor says from when to when the rows reach; they do not count where it ends before it begins.
    """

    view: View
    strict: bool
    over: Relation
    """Its query over the groupings that are stored."""
    groupings: dict[str, Aggregate]
    tables: dict[str, Table]
    """The rows of the view and of its groupings, by name."""
    cursor: Cursor
    refresh: Refresh = Refresh.ON_ADVANCE

    @property
    def since(self) -> int:
        """The instant from which on its rows and changes are stored."""
        return self.cursor.since

    @property
    def until(self) -> int:
        """The instant its rows are of."""
        return self.cursor.until

    @property
    def error(self) -> str | None:
        """Why it stays where it is."""
        return self.cursor.error

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
    def all_tables(self) -> list[Table]:
        """The view's own rows first, then those of its groupings."""
        return [self.rows, *(t for t in self.tables.values() if t is not self.rows)]

    @property
    def is_outdated(self) -> bool:
        """Whether its rows have to be computed anew."""
        return self.since > self.until

    def undo(self) -> Callable[[], None]:
        """A function that brings it back to how it is now."""
        tables, cursor = dict(self.tables), self.cursor

        def back() -> None:
            self.tables, self.cursor = tables, cursor

        return back

    def reaches(self, since: int, until: int) -> bool:
        """Whether its rows and changes are stored from one instant to another."""
        return self.since <= since and until <= self.until and self.rows.forgotten <= since

    def outdate(self) -> None:
        """Let its rows not count any more: what it reads is not what it was."""
        self.cursor = replace(self.cursor, since=self.until + 1)


def stored(
    view: View,
    normal: Relation,
    at: int,
    *,
    strict: bool,
    refresh: Refresh = Refresh.ON_ADVANCE,
    known: Mapping[str, str] | None = None,
) -> StoredView:
    """A stored view, still without rows; ``normal`` is its query without views in it.

    ``known`` are names of groupings by their texts, for those that are stored already.
    """
    groupings: dict[str, Aggregate] = {}
    names = dict(known or {})

    def store(node: Relation) -> Relation:
        split = accumulate(node, stored=True) if isinstance(node, Aggregate) else None
        if split is None:
            return node
        groups, values = split
        name = names.pop(show(groups), None) or _free(view.name, {*groupings, *(known or {}).values()})
        groupings[name] = groups
        scan = Scan(name, groups.alias, tuple(Column(f.name, f.type) for f in groups.fields))
        return type(values)(scan, values.alias, values.items)

    over = rebuild(normal, store)
    tables = {n: _table(n, groups) for n, groups in groupings.items()}
    tables[view.name] = Table(view.name, view.columns)
    return StoredView(view, strict, over, groupings, tables, Cursor(at, at, None), refresh)


def _table(name: str, groups: Aggregate) -> Table:
    """The table that stores the groups of an aggregate."""
    columns = tuple(Column(f.name, f.type) for f in groups.fields)
    return Table(name, columns, group_key=tuple(k.name for k in groups.keys))


def _free(view: str, taken: set[str]) -> str:
    number = 1
    while f"{view}{GROUPS}{number}" in taken:
        number += 1
    return f"{view}{GROUPS}{number}"
