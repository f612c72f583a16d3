"""A step over looked-up rows: every state it reads is replaced by the few rows of it that the delta's keys ask for.

    ΔA ⋈_{a=b} (B ⋉_{b ∈ π_a ΔA})   becomes   ΔA ⋈_{a=b} B?1,   where B?1 are the rows of B whose b is in π_a ΔA

A lookup says of which relation and version it wants rows, by which column, and where the keys come from: columns of
deltas, or a plan over deltas and rows that were looked up before.  A lookup without a column wants all rows, or those
that meet the conditions right above.  What is looked up need not be exact: rows too many meet nothing above.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias

from sqlglot import exp

from tidings.delta.key_columns import LISTABLE, KeyColumn, key_columns, scanned_columns
from tidings.delta.plan import Step
from tidings.delta.restrict import alternatives
from tidings.ir.expression import Expression, aliases, column, ref
from tidings.ir.relation import Column, Filter, Item, Join, Project, Relation, Restrict, Scan, Version
from tidings.ir.traverse import children, walk, with_children

Fanouts: TypeAlias = Callable[[str, str], float | None]
"""About how many rows a relation has per value of a column; None where that is not known."""

KEYS, KEY = "?keys", "key"
"""Where the plan of :func:`lookup_plan` reads the keys."""


def unknown_fanouts(relation: str, column: str) -> None:
    """Where no table is known."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows to look up in one version of a relation, under a name of their own."""

    name: str
    relation: str
    version: Version
    columns: tuple[Column, ...]
    column: Column | None = None
    """What they are looked up by; None if all rows are read."""
    keys: tuple[KeyColumn, ...] = ()
    """The columns of deltas, and of rows looked up before, that hold all keys; none if they are computed …"""
    plan: Relation | None = None
    """… by this plan, which is there too where it may find fewer keys than those columns hold."""
    nulls: bool = False
    """Whether rows with NULL in the column are looked up too."""
    conditions: tuple[Expression, ...] = ()
    """Without a column: what rows have to meet."""

    @property
    def is_whole(self) -> bool:
        """Whether all rows are read."""
        return self.column is None and not self.conditions


def lookup_plan(lookup: Lookup) -> Relation:
    """The plan of a lookup's rows, of the current relation; the keys are the column :data:`KEY` of :data:`KEYS`."""
    mentioned = {column.table for c in lookup.conditions for column in c.find_all(exp.Column)}
    scan = Scan(lookup.relation, next(iter(mentioned), "wanted"), lookup.columns)
    if lookup.column is None:
        return Filter(scan, lookup.conditions) if lookup.conditions else scan
    keys = Scan(KEYS, "keys", (Column(KEY, lookup.column.type),), Version.DELTA)
    key = Project(keys, "keys", (Item(KEY, lookup.column.type, column("keys", KEY)),))
    return Restrict(scan, column(scan.alias, lookup.column.name), key, lookup.nulls)


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A step that reads nothing but deltas and lookups; these in an order in which each can be made."""

    step: Step
    lookups: tuple[Lookup, ...]


def looked_up(step: Step, fanouts: Fanouts = unknown_fanouts) -> LookedUp:
    """The step over lookups; of the columns that a relation can be looked up by, that with the fewest rows per key."""
    lookups: dict[tuple[object, ...], Lookup] = {}
    done: dict[int, Relation] = {}
    more = _alternatives(step.plan)

    def stand_in(scan: Scan, *by: object) -> Scan:
        """A scan of the rows of a lookup; equal lookups are one."""
        key = (scan.relation, scan.version, scan.columns, *by)
        if key not in lookups:
            lookups[key] = Lookup(f"{scan.relation}?{_mark(key)}", *key)  # type: ignore[arg-type]
        return replace(scan, relation=lookups[key].name)

    def restricted(node: Restrict, scan: Scan) -> Scan:
        best = _best([*_restrictions(node), *more.get(id(node), ())], scan, fanouts)
        return stand_in(scan) if best is None else stand_in(scan, _column(best, scan), *_keys(best, go), best.null_safe)

    def under(node: Relation, conditions: tuple[Expression, ...]) -> Relation:
        """A relation right below some conditions; of a state only those rows are read that meet those on it alone."""
        if not isinstance(node, Scan) or node.version is Version.DELTA:
            return go(node)
        on_it_alone = tuple(c for c in conditions if aliases(c) == {node.alias})
        return stand_in(node, None, (), None, False, on_it_alone)

    def go(node: Relation) -> Relation:
        if id(node) not in done:
            done[id(node)] = new(node)
        return done[id(node)]

    def new(node: Relation) -> Relation:
        if isinstance(node, Restrict):
            scan = _scanned(node)
            return go(node.input) if scan is None else restricted(node, scan)
        if isinstance(node, Filter | Join):
            return with_children(node, tuple(under(child, node.conditions) for child in children(node)))
        if isinstance(node, Scan):
            return node if node.version is Version.DELTA else under(node, ())
        return with_children(node, tuple(map(go, children(node))))

    return LookedUp(replace(step, plan=go(step.plan)), tuple(lookups.values()))


def _keys(
    restriction: Restrict, looked_up: Callable[[Relation], Relation]
) -> tuple[tuple[KeyColumn, ...], Relation | None]:
    """The columns that hold the keys of a restriction, and the plan that computes them where that may find fewer."""
    columns = key_columns(restriction)
    if columns is not None:
        return columns, None
    plan = looked_up(restriction.keys)
    return scanned_columns(plan) or (), plan


def _mark(key: tuple[object, ...]) -> str:
    """A short name for what is looked up; the same in every program."""
    return f"{zlib.crc32(repr(key).encode()):08x}"


def _alternatives(plan: Relation) -> dict[int, list[Restrict]]:
    """Other restrictions that could stand where one stands, by the identity of that: all joins it is in allow them."""
    nodes = list(walk(plan))
    keys = {id(node.keys) for node in nodes if isinstance(node, Restrict)}
    allowed: dict[int, list[Restrict]] = {}
    for node in nodes:
        restricted = [c for c in children(node) if isinstance(c, Restrict)] if id(node) not in keys else []
        others = alternatives(node) if restricted and isinstance(node, Join) else {}
        for child in restricted:
            here = others.get(id(child), [])
            allowed[id(child)] = here if id(child) not in allowed else [r for r in allowed[id(child)] if r in here]
    return allowed


def _best(restrictions: list[Restrict], scan: Scan, fanouts: Fanouts) -> Restrict | None:
    """The restriction of a scan by which rows are looked up: by known keys if there are any, with few rows per key."""

    def rank(restriction: Restrict) -> tuple[bool, float]:
        fanout = fanouts(scan.relation, _column(restriction, scan).name)
        return key_columns(restriction) is None, inf if fanout is None else fanout

    usable = [r for r in restrictions if ref(r.expression) and r.keys.fields[0].type in LISTABLE]
    return min(usable, key=rank, default=None)


def _column(restriction: Restrict, scan: Scan) -> Column:
    """The column of a scan that is compared with the keys of a restriction."""
    restricted = ref(restriction.expression)
    assert restricted is not None, "other expressions are not looked up by"
    return next(c for c in scan.columns if c.name == restricted[1])


def _restrictions(node: Relation) -> list[Restrict]:
    """A restriction and those right below it; of what is restricted twice in the same way only the first."""
    chain: list[Restrict] = []
    while isinstance(node, Restrict):
        if not (chain and chain[-1].expression == node.expression):
            chain.append(node)
        node = node.input
    return chain


def _scanned(node: Relation) -> Scan | None:
    """The state a chain of restrictions is of."""
    while isinstance(node, Restrict):
        node = node.input
    return node if isinstance(node, Scan) and node.version is not Version.DELTA else None
