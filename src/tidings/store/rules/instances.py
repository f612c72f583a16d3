"""Instances of rules as the catalog holds them: which ones there are, how each stands, and when it is due.

Only rules with a life of their own have any (see :mod:`tidings.rules.instance.lifecycle`).  Instances are looked up
by a digest of their key, and by when they are due, so judging a rule reads those that something happens to and no
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeAlias

import pyarrow as pa
from sqlalchemy import Connection, Row, delete, insert, select

from tidings.store.catalog import schema
from tidings.store.files import pack, unpack

Phase: TypeAlias = Literal["pending", "alive", "lingering"]
"""It holds, and has not been told; it was told; it holds no more, and that has not been told."""

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
    """When something is to be told unless something happens before."""
    quiet: bool = False
    """It began in a way that does not count, so that was not told."""
    muted: bool = False
    """That it began fell into a silence."""


def digest(key: object) -> str:
    """What an instance is known by, from the values that say which one it is.

    >>> digest((1, "a")) == digest((1, "a")), digest((1, None)) == digest((1, "None"))
    (True, False)
    """
    return sha256(repr(key).encode()).hexdigest()[:32]


def is_followed(connection: Connection, rule: int) -> bool:
    """Whether the instances of a rule are known."""
    wanted = select(schema.followed).where(schema.followed.c.rule == rule)
    return connection.execute(wanted).first() is not None


def follow(connection: Connection, rule: int) -> None:
    """Note that the instances of a rule are known, in somebody's transaction."""
    if not is_followed(connection, rule):
        connection.execute(insert(schema.followed).values(rule=rule))


def unfollow(connection: Connection, rules: Sequence[int], *, forget: bool = True) -> None:
    """Note that the instances of rules are not known any more; they are forgotten, or looked at again later."""
    connection.execute(delete(schema.followed).where(schema.followed.c.rule.in_(rules)))
    if forget:
        connection.execute(delete(_IN).where(_IN.c.rule.in_(rules)))


def every(connection: Connection, rule: int) -> list[Instance]:
    """All instances of a rule."""
    return [_instance(r) for r in connection.execute(select(_IN).where(_IN.c.rule == rule)).all()]


def concerned(connection: Connection, rule: int, keys: Iterable[str], until: int) -> list[Instance]:
    """The instances of some keys, and those that are due up to an instant."""
    wanted, listed = select(_IN).where(_IN.c.rule == rule), sorted(set(keys))
    found = {r.key: r for r in connection.execute(wanted.where(_IN.c.due <= until)).all()}
    for first in range(0, len(listed), _AT_ONCE):
        some = connection.execute(wanted.where(_IN.c.key.in_(listed[first : first + _AT_ONCE]))).all()
        found |= {r.key: r for r in some}
    return [_instance(r) for r in found.values()]


def keep(connection: Connection, rule: int, became: dict[str, Instance | None]) -> None:
    """Record what became of instances, in somebody's transaction; None is for those that are over."""
    keys = list(became)
    for first in range(0, len(keys), _AT_ONCE):
        these = _IN.c.key.in_(keys[first : first + _AT_ONCE])
        connection.execute(delete(_IN).where(_IN.c.rule == rule, these))
    rows = [
        {
            "rule": rule,
            "key": one.key,
            "phase": one.phase,
            "rows": one.count,
            "began": one.began,
            "ended": one.ended,
            "due": one.due,
            "quiet": int(one.quiet),
            "muted": int(one.muted),
            "inline": pack(one.row),
        }
        for one in became.values()
        if one is not None
    ]
    if rows:
        connection.execute(insert(_IN), rows)


def _instance(r: Row[tuple[object, ...]]) -> Instance:
    return Instance(
        *(r.key, r.phase, r.rows, unpack(r.inline), r.began, r.ended, r.due), quiet=bool(r.quiet), muted=bool(r.muted)
    )
