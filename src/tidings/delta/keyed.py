"""The delta of a keyed operator: evaluate it for the touched keys, at every instant that touched them.

Let ``K`` be the operator's key, ``D`` the deltas of its inputs.  The *versions* are the pairs of a touched key and an
instant at which it changed, and for each key the version before the batch:

    V  =  distinct π_{K, t}(D)  ⊎  distinct π_{K, 0}(D),      next(k, t) = the following version of k

The input as it was at a version are the rows of its old state with that key and the changes up to then:

    X  =  V ⋈_{K} (A ⋉ K(D)  ⊎  D)   where  D.t ≤ V.t,   summed up and taken as plain rows

The operator itself, with the version as one more key, gives the answer of every key at every version, so any
deterministic operator works as it is.  An answer holds from its version until the next one:

    Δ  =  { (y, t, +1) : y at version t, not the first }  ⊎  { (y, next(t), -1) : y at version t, not the last }

What stays the same from one version to the next cancels when the delta is consolidated.

Where there is no answer without rows of the first input, as in outer and semi joins, only keys that it has count as
touched by the second: a reply to nothing concerns no message, however many there are.

Cost: the rows of the touched keys, once per instant that touched them.  An operator without a key (a total, a window
over everything) has one key that every change touches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tidings.delta.versioned import BEFORE
from tidings.ir.expression import TIME, WEIGHT, Expression, cast, column, literal, operand, read, show_name, substitute
from tidings.ir.relation import (
    Aggregate,
    Column,
    Filter,
    Item,
    Join,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    Union,
    Values,
    Version,
    Window,
)

SINCE = "__v"
UNTIL = "__n"
VERSION = (Column(SINCE, "bigint"), Column(UNTIL, "bigint"))
"""Which version a row belongs to, and when the next one begins (NULL for the last)."""

VERSIONS = "__versions"
"""The alias of the versions; no user's relation is called so."""


@dataclass(frozen=True, slots=True)
class KeyedInput:
    """One input of a keyed operator: a relation by name, and its part of the key."""

    scan: Scan
    key: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Lifted:
    """A keyed operator ready to be evaluated per version.

    ``apply`` puts the operator over its inputs, each of which has the version's columns as well, and the versions
    themselves; its result has the version's columns too, under ``alias``.
    """

    inputs: tuple[KeyedInput, ...]
    key_types: tuple[str, ...]
    columns: tuple[Column, ...]
    alias: str
    apply: Callable[[list[Relation], Relation], Relation]
    first_leads: bool = False
    """Whether a key has no answer where the first input has no row with it."""


def delta(name: str, operator: Lifted, changed: frozenset[str]) -> Relation:
    """The changes of a keyed operator's result, not yet consolidated."""
    moving = [i for i in operator.inputs if i.scan.relation in changed]
    versions = _versions(operator, moving)
    at_versions = [_at_versions(i, operator, versions, moving) for i in operator.inputs]
    answers = operator.apply(at_versions, versions)
    return differences(name, operator.alias, operator.columns, answers)


def _versions(operator: Lifted, moving: list[KeyedInput]) -> Relation:
    """Each touched key with each instant that touched it, the one before the batch, and the following one."""
    keys = tuple(Column(f"__k{n}", t) for n, t in enumerate(operator.key_types))
    parts: list[Relation] = []
    for number, entry in enumerate(moving):
        scan = Scan(entry.scan.relation, entry.scan.alias, entry.scan.columns, Version.DELTA)
        typed = [Item(c.name, c.type, e) for c, e in zip(keys, entry.key, strict=True)]
        for when, instant in enumerate((column(scan.alias, TIME), literal(BEFORE))):
            since = Item(SINCE, "bigint", cast(instant, "bigint"))
            parts.append(Project(scan, f"touch_{number}_{when}", (*typed, since)))
    columns = (*keys, VERSION[0])
    touched: Relation = Union(tuple(parts), "touched", columns)
    if _is_led(operator, moving):
        first = _keys(operator, moving)
        same = (exp.NullSafeEQ(this=column("touched", k.name), expression=column("led", k.name)) for k in keys)
        touched = SemiJoin(touched, first, tuple(same))
    distinct = Aggregate(
        touched, "version", tuple(Item(c.name, c.type, column("touched", c.name)) for c in columns), ()
    )
    partition = ", ".join(f"version.{show_name(c.name)}" for c in keys)
    over = f"{f'PARTITION BY {partition} ' if partition else ''}ORDER BY version.{SINCE}"
    following = Item(UNTIL, "bigint", read(f"LEAD(version.{SINCE}) OVER ({over})"))
    window = Window(distinct, "following", (following,))
    items = (*(Item(c.name, c.type, column("version", c.name)) for c in columns),)
    return Project(window, VERSIONS, (*items, Item(UNTIL, "bigint", column("following", UNTIL))))


def _is_led(operator: Lifted, moving: list[KeyedInput]) -> bool:
    """Whether there may be touched keys that the first input does not have, and that do not matter therefore."""
    return operator.first_leads and bool(operator.key_types) and any(m is not operator.inputs[0] for m in moving)


def _keys(operator: Lifted, moving: list[KeyedInput]) -> Relation:
    """The keys the first input has or had, among those that are touched."""
    first = operator.inputs[0]
    rows = timed_rows(first, operator, moving)
    by_rows = {(first.scan.alias, c.name): column(rows_alias(first), c.name) for c in first.scan.columns}
    typed = zip(first.key, operator.key_types, strict=True)
    return Project(rows, "led", tuple(Item(f"__k{n}", t, substitute(e, by_rows)) for n, (e, t) in enumerate(typed)))


def _at_versions(entry: KeyedInput, operator: Lifted, versions: Relation, moving: list[KeyedInput]) -> Relation:
    """An input's rows as they were at each version, under the input's own alias."""
    leads = entry is operator.inputs[0] or not _is_led(operator, moving)
    rows = timed_rows(entry, operator, moving, None if leads else versions)
    by_rows = {(entry.scan.alias, c.name): column(rows_alias(entry), c.name) for c in entry.scan.columns}
    same_key = [
        exp.NullSafeEQ(this=column(VERSIONS, f"__k{n}"), expression=operand(substitute(e, by_rows)))
        for n, e in enumerate(entry.key)
    ]
    up_to = exp.LTE(this=column(rows_alias(entry), TIME), expression=column(VERSIONS, SINCE))
    joined = Join((versions, rows), (*same_key, up_to))
    keys = (
        *(Item(c.name, c.type, column(rows_alias(entry), c.name)) for c in entry.scan.columns),
        *(Item(c.name, c.type, column(VERSIONS, c.name)) for c in VERSION),
    )
    total = Item(WEIGHT, "bigint", cast(exp.Sum(this=column(rows_alias(entry), WEIGHT)), "bigint"))
    alias = f"{entry.scan.alias}_seen"
    seen = Aggregate(joined, alias, keys, (total,))
    present = Filter(seen, (exp.GT(this=column(alias, WEIGHT), expression=literal(0)),))
    repeated = Repeat(present, column(alias, WEIGHT))
    items = tuple(Item(i.name, i.type, column(alias, i.name)) for i in keys)
    return Project(repeated, entry.scan.alias, items)


def rows_alias(entry: KeyedInput) -> str:
    return f"{entry.scan.alias}_all"


def timed_rows(
    entry: KeyedInput, operator: Lifted, moving: list[KeyedInput], versions: Relation | None = None
) -> Relation:
    """The old rows that have a touched key, and the changes.

    With versions the old rows are restricted once more, to the keys these have: there are fewer where another input
    leads, and one that is left out may have very many rows.
    """
    scan = entry.scan
    old: Relation = Scan(scan.relation, scan.alias, scan.columns, Version.OLD)
    for number, expression in enumerate(entry.key):
        type = operator.key_types[number]
        changed = [(_changes(m), m.key[number]) for m in moving]
        old = Restrict(old, expression, touched(type, changed), null_safe=True)
        if versions is not None:
            fewer = Project(versions, "keys", (Item("key", type, column(VERSIONS, f"__k{number}")),))
            old = Restrict(old, expression, fewer, null_safe=True)
    plain = tuple(Item(c.name, c.type, column(scan.alias, c.name)) for c in scan.columns)
    weight = Item(WEIGHT, "bigint", column(scan.alias, WEIGHT))
    before = Item(TIME, "bigint", cast(literal(BEFORE), "bigint"))
    parts: list[Relation] = [Project(old, f"{scan.alias}_old", (*plain, before, weight))]
    if any(m.scan.relation == scan.relation for m in moving):
        changes = Scan(scan.relation, scan.alias, scan.columns, Version.DELTA)
        when = Item(TIME, "bigint", column(scan.alias, TIME))
        parts.append(Project(changes, f"{scan.alias}_changes", (*plain, when, weight)))
    columns = (*scan.columns, Column(TIME, "bigint"), Column(WEIGHT, "bigint"))
    return Union(tuple(parts), rows_alias(entry), columns)


def _changes(entry: KeyedInput) -> Scan:
    return Scan(entry.scan.relation, entry.scan.alias, entry.scan.columns, Version.DELTA)


def touched(type: str, changed: list[tuple[Scan, Expression]]) -> Relation:
    """The touched values of one part of a key, which each of the deltas computes in its own way."""
    parts: list[Relation] = []
    for place, (scan, key) in enumerate(changed):
        parts.append(Project(scan, f"keys_{place}", (Item("key", type, key),)))
    return parts[0] if len(parts) == 1 else Union(tuple(parts), "keys", (Column("key", type),))


def differences(name: str, alias: str, columns: tuple[Column, ...], answers: Relation) -> Relation:
    """Every answer as a change: it comes with its version and goes with the next."""
    sign = Values("sign", (Column("s", "int"),), ((literal(1),), (read("-1"),)))
    since, until, s = column(alias, SINCE), column(alias, UNTIL), column("sign", "s")
    begins = f"(sign.s = 1 AND {show_name(alias)}.{SINCE} > {BEFORE})"
    ends = f"(sign.s = -1 AND NOT {show_name(alias)}.{UNTIL} IS NULL)"
    both = Join((answers, sign), (read(f"{begins} OR {ends}"),))
    when = exp.If(this=exp.EQ(this=s.copy(), expression=literal(1)), true=since, false=until)
    items = [Item(c.name, c.type, column(alias, c.name)) for c in columns]
    items.append(Item(TIME, "bigint", when))
    items.append(Item(WEIGHT, "bigint", cast(s, "bigint")))
    return Project(both, name, tuple(items))
