"""Instances of rules as the catalog holds them: which ones there are, how each stands, and when it is due.

Only rules that track instances have any (see :mod:`tidings.rules.instance.lifecycle`).  Instances are looked up
by a digest of their key, and by when they are due, so judging a rule reads those that something happens to and no
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeAlias

import pyarrow as pa
from sqlalchemy import Connection, Row, delete, func, insert, select

from tidings.store.catalog import schema
from tidings.store.files import pack, unpack

Phase: TypeAlias = Literal["pending", "alive", "lingering"]
"""It holds, and that was not reported yet; that was reported; it holds no more, and that was not reported yet."""

_AT_ONCE = 500
"""So many keys are asked for in one query."""

_IN = schema.instance


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a rule."""

    key: str
    phase: Phase
    count: int
    """How many rows are this instance; none while it lingers."""
    row: pa.Table
    """The last of its rows."""
    began: int | None
    """Since when it holds; None if it did so before anybody looked."""
    ended: int | None = None
    """Since when it holds no more."""
    due: int | None = None
    """When something is to be reported, unless something happens before."""
    quiet: bool = False
    """It began in a way that does not count, so that was not reported."""
    muted: bool = False
    """That it began fell into a silence."""


def digest(key: object) -> str:
    """What an instance is known by, from the values that say which one it is.

    >>> digest((1, "a")) == digest((1, "a")), digest((1, None)) == digest((1, "None"))
    (True, False)
    """
    return sha256(repr(key).encode()).hexdigest()[:32]


def is_tracked(connection: Connection, rule: int) -> bool:
    """Whether the instances of a rule are tracked: those that held when tracking began are recorded too."""
    tracked = select(schema.followed).where(schema.followed.c.rule == rule)
    return connection.execute(tracked).first() is not None


def track(connection: Connection, rule: int) -> None:
    """Note that the instances of a rule are tracked from now on, in the caller's transaction."""
    if not is_tracked(connection, rule):
        connection.execute(insert(schema.followed).values(rule=rule))


def untrack(connection: Connection, rules: Sequence[int], *, forget: bool = True) -> None:
    """Note that the instances of rules are not tracked any more; they are forgotten, unless tracking goes on later."""
    connection.execute(delete(schema.followed).where(schema.followed.c.rule.in_(rules)))
    if forget:
        connection.execute(delete(_IN).where(_IN.c.rule.in_(rules)))


def all_of(connection: Connection, rule: int) -> list[Instance]:
    """All instances of a rule."""
    return [_instance(r) for r in connection.execute(select(_IN).where(_IN.c.rule == rule)).all()]


def affected(connection: Connection, rule: int, keys: Iterable[str], until: int) -> list[Instance]:
    """The instances of some keys, and those that are due up to an instant."""
    query, listed = select(_IN).where(_IN.c.rule == rule), sorted(set(keys))
    rows = {r.key: r for r in connection.execute(query.where(_IN.c.due <= until)).all()}
    for first in range(0, len(listed), _AT_ONCE):
        by_key = connection.execute(query.where(_IN.c.key.in_(listed[first : first + _AT_ONCE]))).all()
        rows |= {r.key: r for r in by_key}
    return [_instance(r) for r in rows.values()]


def next_due(connection: Connection, rules: Sequence[int], after: int) -> int | None:
    """The first instant after another at which an instance of some rules is due."""
    return connection.execute(select(func.min(_IN.c.due)).where(_IN.c.rule.in_(rules), _IN.c.due > after)).scalar()


def record(connection: Connection, rule: int, changed: dict[str, Instance | None]) -> None:
    """Record how instances stand now, in the caller's transaction; None is for those that are over."""
    keys = list(changed)
    for first in range(0, len(keys), _AT_ONCE):
        is_changed = _IN.c.key.in_(keys[first : first + _AT_ONCE])
        connection.execute(delete(_IN).where(_IN.c.rule == rule, is_changed))
    rows = [
        {
            "rule": rule,
            "key": instance.key,
            "phase": instance.phase,
            "rows": instance.count,
            "began": instance.began,
            "ended": instance.ended,
            "due": instance.due,
            "quiet": int(instance.quiet),
            "muted": int(instance.muted),
            "inline": pack(instance.row),
        }
        for instance in changed.values()
        if instance is not None
    ]
    if rows:
        connection.execute(insert(_IN), rows)


def _instance(r: Row[tuple[object, ...]]) -> Instance:
    return Instance(
        key=r.key,
        phase=r.phase,
        count=r.rows,
        row=unpack(r.inline),
        began=r.began,
        ended=r.ended,
        due=r.due,
        quiet=bool(r.quiet),
        muted=bool(r.muted),
    )
