"""The delta of a keyed operator, run on DuckDB: versions, the input at each of them, and what differs."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.unit.schema import plan
from tidings import Database
from tidings.delta import keyed
from tidings.delta.differentiate.lift import lift
from tidings.delta.restrict import is_active, restrictions
from tidings.ir.expression import show
from tidings.ir.relation import Project, Relation, Scan, SemiJoin, Version
from tidings.ir.traverse import walk

GROUPS = plan("""
    aggregate g [a int := u.a] [m bigint := MAX(u.c)]
      scan u u [a int, c bigint]
    """)
TOTAL = plan("""
    aggregate g [] [m bigint := MAX(u.c)]
      scan u u [c bigint]
    """)
OUTER = plan("""
    project r [a int := u.a, e string := w.e]
      outer_join [u.c = w.c, u.a > 1]
        scan u u [a int, c bigint]
        scan w w [c bigint, e string]
    """)


def delta(node: Relation, *changed: str) -> Relation:
    return keyed.delta("v", lift(node), frozenset(changed))


def scans(node: Relation, relation: str) -> set[Version]:
    return {n.version for n in walk(node) if isinstance(n, Scan) and n.relation == relation}


def test_a_delta_has_instants_and_weights() -> None:
    found = delta(GROUPS, "u")
    assert isinstance(found, Project)
    assert [f.name for f in found.fields] == ["a", "m", "__t", "__w"]


def test_old_rows_are_restricted_to_touched_keys() -> None:
    found = restrictions(delta(GROUPS, "u"))
    assert [(show(r.expression), r.null_safe) for r in found] == [("u.a", True)]
    assert all(is_active(r.keys) for r in found)


def test_both_sides_are_restricted_by_the_side_that_changed() -> None:
    assert {show(r.expression) for r in restrictions(delta(OUTER, "w"))} == {"u.c", "w.c"}
    assert {show(r.expression) for r in restrictions(delta(OUTER, "u"))} == {"u.c", "w.c"}


def test_without_a_key_all_old_rows_are_read() -> None:
    assert restrictions(delta(TOTAL, "u")) == []


def test_the_delta_of_a_side_that_did_not_change_is_not_read() -> None:
    assert scans(delta(OUTER, "w"), "u") == {Version.OLD}
    assert scans(delta(OUTER, "u"), "w") == {Version.OLD}
    assert scans(delta(OUTER, "u", "w"), "w") == {Version.OLD, Version.DELTA}


@pytest.fixture
def shop(db: Database) -> Database:
    """At 1001 to 1004: a row comes, another, one goes, the last goes."""
    for sign, row in (("+", (1, 5)), ("+", (1, 7)), ("-", (1, 7)), ("-", (1, 5))):
        with db.transaction() as tx:
            (tx.insert if sign == "+" else tx.delete)("quantity", [row])
    return db


def reported(db: Database, query: str, since: int = 0) -> list[tuple[int, int, tuple[object, ...]]]:
    changes = db.changes(query, since=since, per_commit=True).rows()
    return sorted(((c.time, c.weight, tuple(c.row.values())) for c in changes), key=lambda c: (c[:2], str(c[2])))


def start(db: Database) -> int:
    return min(c.time for c in db.changes("quantity", since=0, per_commit=True).rows())


def test_each_instant_is_a_version(shop: Database) -> None:
    t = start(shop)
    assert reported(shop, "SELECT item, max(qty) AS m FROM quantity GROUP BY item") == [
        (t, 1, (1, 5)),
        (t + 1, -1, (1, 5)),
        (t + 1, 1, (1, 7)),
        (t + 2, -1, (1, 7)),
        (t + 2, 1, (1, 5)),
        (t + 3, -1, (1, 5)),
    ]


def test_what_stays_the_same_cancels(shop: Database) -> None:
    t = start(shop)
    assert reported(shop, "SELECT DISTINCT item FROM quantity") == [(t, 1, (1,)), (t + 3, -1, (1,))]
    assert reported(shop, "SELECT item, min(qty) AS m FROM quantity GROUP BY item") == [
        (t, 1, (1, 5)),
        (t + 3, -1, (1, 5)),
    ]


def test_a_total_is_always_there(shop: Database) -> None:
    t = start(shop)
    assert reported(shop, "SELECT count(*) AS n FROM quantity", since=t + 2) == [
        (t + 3, -1, (1,)),
        (t + 3, 1, (0,)),
    ]


def test_the_version_before_the_batch_comes_from_the_old_state(shop: Database) -> None:
    t = start(shop)
    assert reported(shop, "SELECT item, max(qty) AS m FROM quantity GROUP BY item", since=t + 1) == [
        (t + 2, -1, (1, 7)),
        (t + 2, 1, (1, 5)),
        (t + 3, -1, (1, 5)),
    ]


def test_null_is_a_key(db: Database) -> None:
    db.sql("INSERT INTO quantity VALUES (NULL, 1), (NULL, 2), (1, 4)")
    since = db.time
    db.sql("INSERT INTO quantity VALUES (NULL, 3)")
    assert reported(db, "SELECT item, max(qty) AS m FROM quantity GROUP BY item", since) == [
        (db.time, -1, (None, 2)),
        (db.time, 1, (None, 3)),
    ]


KEYED = [
    "SELECT item, count(*) AS n, max(qty) AS m FROM quantity GROUP BY item",
    "SELECT count(*) AS n, sum(qty) AS s FROM quantity",
    "SELECT DISTINCT qty FROM quantity",
    "SELECT q.item, q.qty, t.lim FROM quantity q LEFT JOIN threshold t ON q.item = t.item",
    "SELECT q.item, t.lim FROM quantity q FULL JOIN threshold t ON q.item = t.item AND q.qty < t.lim",
    "SELECT q.item FROM quantity q LEFT ANTI JOIN threshold t ON q.item = t.item",
    "SELECT item FROM quantity EXCEPT ALL SELECT item FROM threshold",
    "SELECT item FROM quantity INTERSECT SELECT item FROM threshold",
    "SELECT item, row_number() OVER (PARTITION BY item ORDER BY qty) AS n FROM quantity",
    "SELECT item, qty FROM quantity ORDER BY qty DESC LIMIT 2",
    "SELECT item FROM quantity WHERE item NOT IN (SELECT item FROM threshold)",
    "SELECT item, (SELECT max(lim) FROM threshold t WHERE t.item = q.item) AS m FROM quantity q",
    "SELECT n, count(*) AS times FROM (SELECT item, count(*) AS n FROM quantity GROUP BY item) AS x GROUP BY n",
]
Changes = dict[str, list[tuple[str, tuple[int | None, int]]]]
HISTORY: list[Changes] = [
    {"quantity": [("+", (1, 5)), ("+", (1, 5)), ("+", (None, 2))]},
    {"threshold": [("+", (1, 9)), ("+", (None, 1))]},
    {"quantity": [("-", (1, 5)), ("+", (2, 7))], "threshold": [("+", (2, 3))]},
    {"threshold": [("-", (None, 1)), ("-", (1, 9))]},
    {"quantity": [("-", (None, 2)), ("-", (1, 5)), ("-", (2, 7))]},
]


def bag(db: Database, query: str, at: int) -> Counter[tuple[object, ...]]:
    return Counter(tuple(r.values()) for r in db.query(query, as_of=at).rows())


@pytest.mark.parametrize("query", KEYED)
def test_deltas_are_differences_of_states(db: Database, query: str) -> None:
    for changes in HISTORY:
        with db.transaction() as tx:
            for table, rows in changes.items():
                for sign, row in rows:
                    (tx.insert if sign == "+" else tx.delete)(table, [row])
    first = db.time - len(HISTORY)
    for since in (first, first + 2):
        found = reported(db, query, since)
        for instant in range(since + 1, db.time + 1):
            after, before = bag(db, query, instant), bag(db, query, instant - 1)
            expected = {r: after[r] - before[r] for r in after | before if after[r] != before[r]}
            assert {r: w for t, w, r in found if t == instant} == expected


def test_only_keys_of_the_left_side_are_touched_by_the_right() -> None:
    """A hot key that the left side does not have has no versions, however often the right side changes there."""
    led = [n for n in walk(delta(OUTER, "w")) if isinstance(n, SemiJoin)]
    assert led
    assert all(scans(n.right, "u") == {Version.OLD} and scans(n.left, "w") == {Version.DELTA} for n in led)
    assert not [n for n in walk(delta(OUTER, "u")) if isinstance(n, SemiJoin)]
