"""Instances hold or do not hold, and every way of judging a rule sees the same of them.

Random conditions over tables with duplicates and NULLs, with and without a key, on beginnings, ends and changes, with
events.  After each transaction a strict rule has fired for the instances that hold after
it and did not before, by sets of rows or of keys, as two full evaluations of its query say.  Rules that are judged
before the commit, after it, and in a backtest fire for the same.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import tidings
from tests.laws.seeds import chunks

Row = tuple[Any, ...]
Fired = dict[int, Counter[Row]]

CONDITIONS = (
    "SELECT k, v FROM a WHERE v < 3",
    "SELECT k, v FROM a WHERE v IS NULL OR v > 1",
    "SELECT v AS k, k AS v FROM c WHERE v > 0",
    "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT a.k, c.v FROM a JOIN c ON c.k = a.k WHERE a.v <> 2",
    "SELECT c.k, b.v FROM c LEFT JOIN b ON b.k = c.v",
    "SELECT k, v FROM a UNION ALL SELECT v AS k, k AS v FROM b",
    "SELECT k, max(v) AS v FROM b GROUP BY k",
    "SELECT k, v FROM b WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = b.v)",
    "SELECT k, v FROM doubled",
)
EVENTS = ("", "", "", "ON INSERT INTO a ", "ON UPDATE OF c OR DELETE FROM b ")


def value(random: Random) -> str:
    return random.choice(("NULL", "0", "1", "2", "3"))


def statement(random: Random) -> str:
    table, k, v = random.choice("ab"), value(random), value(random)
    return random.choice(
        (
            f"INSERT INTO {table} VALUES ({k}, {v}), ({k}, {value(random)})",
            f"INSERT INTO {table} SELECT k, v FROM {table} WHERE k = {k}",
            f"DELETE FROM {table} WHERE k <=> {k}",
            f"UPDATE {table} SET v = {v} WHERE k <=> {k}",
            f"UPDATE c SET v = {v} WHERE k = {random.randint(0, 3)}",
            f"DELETE FROM c WHERE k = {random.randint(0, 3)}",
            f"INSERT INTO c SELECT n, {v} FROM (VALUES ({random.randint(0, 3)})) x(n) WHERE n NOT IN (SELECT k FROM c)",
        )
    )


def holding(db: tidings.Database, query: str, by_key: bool) -> dict[Row, Row]:
    """The instances of a query, each with its row."""
    rows = [tuple(row.values()) for row in db.query(query).rows()]
    instances: dict[Row, Row] = {}
    for row in sorted(rows, key=lambda row: [(v is not None, v) for v in row]):
        instances.setdefault(row[:1] if by_key else row, row)
    return instances


def told(when: str, by_key: bool, before: dict[Row, Row], after: dict[Row, Row]) -> Counter[Row]:
    """What a strict rule tells of instances that held before a transaction and hold after it."""
    if when == "":
        return Counter(row for instance, row in after.items() if instance not in before)
    if when == "GONE ":
        return Counter(row for instance, row in before.items() if instance not in after)
    found = Counter[Row]()
    for instance in before.keys() | after.keys():
        old, new = before.get(instance), after.get(instance)
        if old != new:
            mark = "came" if old is None else "went" if new is None else "changed"
            shown = old if new is None else new
            assert shown is not None
            found[(*shown, mark, *((old[1] if old and new else None,) if by_key else ()))] += 1
    return found


def history(seed: int) -> None:
    random = Random(seed)
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(0), execution=("spark", "auto")[seed % 2]) as db:
        db.sql(
            "CREATE TABLE a (k INT, v INT); CREATE TABLE b (k INT, v INT); CREATE TABLE c (k INT PRIMARY KEY, v INT)"
        )
        db.sql("CREATE VIEW doubled AS SELECT k, v FROM a UNION ALL SELECT k, v FROM a WHERE v < 2")
        db.sql("INSERT INTO a VALUES (1, 1), (1, 1), (NULL, 2); INSERT INTO c VALUES (0, 1), (2, 2)")
        rules = []
        for n in range(8):
            query, when, by_key = (
                random.choice(CONDITIONS),
                random.choice(("", "GONE ", "CHANGED ")),
                random.random() < 0.5,
            )
            event = random.choice(EVENTS)
            body = f"{event}WHEN {when}{query} DO NOTIFY 'x'"
            key = ", key = k" if by_key else ""
            for coupling in ("deferred", "detached"):
                db.sql(f"CREATE RULE {coupling}_{n} {body} WITH (condition = '{coupling}'{key})")
            rules.append(
                (n, query, when, by_key, event, f"CREATE RULE tried_{n} {body} WITH (condition = 'detached'{key})")
            )
        since = db.status().time
        expected: dict[int, Fired] = {n: {} for n, *_ in rules}
        done = []
        for _ in range(random.randint(3, 6)):
            before = {n: holding(db, query, by_key) for n, query, _, by_key, _, _ in rules}
            statements = [statement(random) for _ in range(random.randint(1, 3))]
            done.append(statements)
            with db.transaction() as tx:
                for text in statements:
                    tx.sql(text)
            time = db.status().time
            for n, query, when, by_key, _, _ in rules:
                rows = told(when, by_key, before[n], holding(db, query, by_key))
                if rows:
                    expected[n][time] = rows
        db.advance()
        fired: dict[str, Fired] = {}
        for firing in db._parts.registry.store.firings():
            fired.setdefault(firing.rule, {})[firing.time] = Counter(tuple(r.values()) for r in firing.rows.to_pylist())
        for n, _, _, _, event, text in rules:
            case = (seed, text, done)
            deferred = fired.get(f"deferred_{n}", {})
            tried = {b.time: Counter(tuple(r.values()) for r in b.rows) for b in db.backtest(text, since=since)}
            assert deferred == fired.get(f"detached_{n}", {}) == tried, case
            assert deferred.items() <= expected[n].items() if event else deferred == expected[n], (case, expected[n])


@pytest.mark.parametrize("seeds", chunks(42, quick=2, size=6))
def test_instances_hold_or_do_not(seeds: range) -> None:
    for seed in seeds:
        history(seed)
