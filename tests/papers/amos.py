"""What the tests of the AMOS paper share: facts of the calculus, put into a Tidings database."""

from __future__ import annotations

from collections.abc import Mapping

import tidings
from tidings.algebra.calculus import DeltaSet, Facts, Row, RowSet, SetExpression, Sign, partial
from tidings.delta.zset import ZSet


def differential(node: SetExpression, influent: str, sign: Sign) -> SetExpression:
    """A partial differential that is known to be there."""
    found = partial(node, influent, sign)
    assert found is not None
    return found


def store(db: tidings.Database, facts: Facts) -> int:
    """Bring a database to the old state of some facts, then to the new one in one transaction; the time between."""
    with db.transaction() as first:
        for name in facts.states:
            first.insert(name, sorted(facts.old(name), key=repr))
    since = db.time
    with db.transaction() as second:
        for name, changed in facts.deltas.items():
            second.delete(name, sorted(changed.minus, key=repr))
            second.insert(name, sorted(changed.plus, key=repr))
    return since


def kernel_delta(db: tidings.Database, query: str, since: int) -> ZSet[Row]:
    """The kernel's changes after an instant, all of them made by the last commit."""
    changes = db.changes(query, since=since, per_commit=True).rows()
    assert {c.time for c in changes} <= {db.time}
    return ZSet((tuple(c.row.values()), c.weight) for c in changes)


def bag(db: tidings.Database, query: str, at: int) -> ZSet[Row]:
    """The rows of a query at an instant, each as often as it is there."""
    return ZSet.of(tuple(row.values()) for row in db.query(query, as_of=at).rows())


def weighted(weights: Mapping[tuple[int, ...] | tuple[str, ...] | tuple[str, int], int]) -> ZSet[Row]:
    """Rows with their weights."""
    return ZSet((row, weight) for row, weight in weights.items())


def set_change(before: ZSet[Row], change: ZSet[Row]) -> DeltaSet:
    """What a change of a bag means for the set of its rows."""
    return DeltaSet.between(_rows(before), _rows(before + change))


def _rows(rows: ZSet[Row]) -> RowSet:
    return frozenset(row for row, _ in rows.items())
