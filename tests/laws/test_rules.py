"""Rules do what a plain interpreter of them does: the same firings, in the same order, and the same rows at the end.

Random rules over two tables: conditions that join, group and negate, some of them alike but for a number, events,
priorities, both semantics, all couplings, and actions that change what the conditions read.  The interpreter evaluates
every condition from scratch.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import tidings
from tests.laws.plain_rules import TABLES, Plain, PlainRule
from tests.laws.seeds import chunks
from tidings.errors import CascadeTooLong, RuleRaised

BOUND = 6

CONDITIONS = (
    "SELECT k, v FROM a WHERE v < {n}",
    "SELECT k, v FROM b WHERE v > 1",
    "SELECT k, 0 AS v FROM a WHERE v > {n} OR v = 0",
    "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k WHERE a.v < b.v AND b.v <> {n}",
    "SELECT a.k, b.v FROM a LEFT JOIN b ON a.k = b.k WHERE a.v <= {n}",
    "SELECT k, CAST(count(*) AS INT) AS v FROM a GROUP BY k HAVING count(*) > 1",
    "SELECT k, max(v) AS v FROM b GROUP BY k",
    "SELECT k, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT DISTINCT k, 1 AS v FROM a WHERE v IN (SELECT v FROM b)",
)
ACTIONS = (
    "UPDATE a SET v = v + 1 WHERE k IN (SELECT k FROM condition) AND v < 3",
    "UPDATE b SET v = v - 1 WHERE k IN (SELECT k FROM condition) AND v > 0",
    "UPDATE a SET v = (v + 1) % 3 WHERE k IN (SELECT k FROM condition)",
    "INSERT INTO b SELECT DISTINCT k, 3 - v FROM condition",
    "INSERT INTO a SELECT k, v FROM condition WHERE k < 2 AND v NOT IN (SELECT v FROM a)",
    "DELETE FROM a WHERE k IN (SELECT k FROM condition)",
    "DELETE FROM b WHERE v IN (SELECT v FROM condition)",
)
COUPLINGS = (
    ("immediate", "immediate"),
    ("immediate", "deferred"),
    ("immediate", "detached"),
    ("deferred", "deferred"),
    ("deferred", "deferred"),
    ("deferred", "detached"),
    ("detached", "detached"),
)


def random_rule(random: Random, age: int) -> PlainRule:
    condition, action = random.choice(COUPLINGS)
    event = None
    if random.random() < 0.3:
        event = random.choice(("insert", "delete", "update")), random.choice(TABLES)
    raises = action != "detached" and random.random() < 0.05
    return PlainRule(
        name=f"r{age}",
        age=age,
        event=event,  # type: ignore[arg-type]
        when=(when := random.choices(("begins", "gone", "changed"), (6, 2, 1))[0]),
        query=random.choice(CONDITIONS).format(n=random.randint(0, 3)),
        statement=None if raises else random.choice(ACTIONS),
        priority=random.randint(0, 2),
        nervous=random.random() < 0.3,
        key=when != "changed" and random.random() < 0.2,
        condition=condition,
        action=action,
    )


def random_statement(random: Random) -> str:
    table, k, v = random.choice(TABLES), random.randint(0, 3), random.randint(0, 3)
    return random.choice(
        (
            f"INSERT INTO {table} VALUES ({k}, {v})",
            f"INSERT INTO {table} VALUES ({k}, {v}), ({random.randint(0, 3)}, {random.randint(0, 3)})",
            f"UPDATE {table} SET v = {v} WHERE k = {k}",
            f"UPDATE {table} SET k = {k} WHERE v = {v}",
            f"DELETE FROM {table} WHERE v = {v}",
        )
    )


def life(seed: int) -> None:
    """One database with rules, beside its interpretation."""
    random = Random(seed)
    rules = [random_rule(random, age) for age in range(random.randint(1, 5))]
    plain = Plain(rules, BOUND)
    with tidings.open(engine="duckdb") as db:
        db._book.bound = BOUND
        db.sql("; ".join(f"CREATE TABLE {t} (k INT, v INT)" for t in TABLES))
        for rule in rules:
            db.sql(rule.text)
        done: list[object] = []
        for _ in range(random.randint(2, 7)):
            statements = [random_statement(random) for _ in range(random.randint(1, 3))]
            done.append(statements)
            committed = plain.transaction(statements)
            assert committed == commits(db, statements), (seed, done)
            if random.random() < 0.3:
                plain.advance()
                db.advance()
                done.append("advance")
            agree(db, plain, (seed, [r.text for r in rules], done))
        plain.advance()
        db.advance()
        agree(db, plain, (seed, [r.text for r in rules], done, "advance"))


def commits(db: tidings.Database, statements: list[str]) -> bool:
    try:
        with db.transaction() as tx:
            for statement in statements:
                tx.sql(statement)
    except (RuleRaised, CascadeTooLong):
        return False
    return True


def agree(db: tidings.Database, plain: Plain, case: object) -> None:
    kept = db._book.store.firings()
    firings = [(f.rule, f.depth, Counter(tuple(r.values()) for r in f.rows.to_pylist())) for f in kept]
    assert firings == [(f.rule.name, f.depth, f.rows) for f in plain.firings], case
    for table in TABLES:
        assert Counter(tuple(r.values()) for r in db.query(table).rows()) == plain.state[table], (table, case)


@pytest.mark.parametrize("seeds", chunks(100, quick=10, size=10))
def test_as_a_plain_interpreter_says(seeds: range) -> None:
    for seed in seeds:
        life(seed)
