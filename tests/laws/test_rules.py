"""Rules do what a plain interpreter of them does: the same firings, in the same order, and the same rows at the end.

Random rules over three tables, two views and a signal: conditions that join, group and negate, that read views in
common, changes and signals, that have parameters, some of them alike but for a number; events composed of others;
priorities, both semantics, all couplings, and actions that change what the conditions read.  Transactions are
committed, refused, or given up.  The interpreter evaluates every condition from scratch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tests.laws.plain_events import CONTEXTS, SECOND, random_event
from tests.laws.plain_rules import TABLES, VIEWS, Plain, PlainChanges, PlainRule
from tests.laws.seeds import SEED, chunks
from tidings.deliver.deliveries import DeliverySettings
from tidings.errors import CascadeTooLong, RuleRaised
from tidings.front.choices import Engine, Execution
from tidings.retry_policy import RetryPolicy

BOUND = 6

CONDITIONS = (
    "SELECT k, v FROM a WHERE v < {n}",
    "SELECT k, v FROM b WHERE v > 1",
    "SELECT k, 0 AS v FROM a WHERE v > {n} OR v = 0",
    "SELECT k, v FROM c WHERE v >= {n}",
    "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k WHERE a.v < b.v AND b.v <> {n}",
    "SELECT a.k, b.v FROM a LEFT JOIN b ON a.k = b.k WHERE a.v <= {n}",
    "SELECT k, CAST(count(*) AS INT) AS v FROM a GROUP BY k HAVING count(*) > 1",
    "SELECT k, max(v) AS v FROM b GROUP BY k",
    "SELECT k, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT DISTINCT k, 1 AS v FROM a WHERE v IN (SELECT v FROM b)",
    "SELECT k, v FROM joined WHERE v < {n}",
    "SELECT k, v FROM joined WHERE k NOT IN (SELECT k FROM c WHERE v > {n})",
    "SELECT k, v FROM largest WHERE v >= {n}",
    "SELECT l.k, c.v FROM largest l JOIN c ON c.k = l.k",
)
SIGNALLED = (
    "SELECT k, v FROM e WHERE v > {n}",
    "SELECT a.k, e.v FROM a JOIN e ON a.k = e.k WHERE a.v <> {n}",
    "SELECT k, v FROM c WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.k = c.k)",
)
OF_A, OF_B, OF_C = (PlainChanges("changes", table) for table in "abc")
ALSO_B, ALSO_C, BY_VALUE = PlainChanges("others", "b"), PlainChanges("others", "c"), PlainChanges("others", "c", "v")
CHANGES = (
    ((OF_C,), "SELECT new_k AS k, old_v AS v FROM changes WHERE new_v > old_v"),
    ((OF_C,), "SELECT coalesce(new_k, old_k) AS k, coalesce(new_v, 0) - coalesce(old_v, 0) AS v FROM changes"),
    ((OF_C,), "SELECT new_k AS k, a.v FROM changes JOIN a ON a.k = new_k WHERE old_v IS NULL OR old_v <> {n}"),
    ((OF_B,), "SELECT old_k AS k, old_v AS v FROM changes WHERE new_k IS NULL"),
    (
        (OF_C, ALSO_B),
        "SELECT changes.new_k AS k, others.new_v AS v FROM changes JOIN others ON others.new_k = changes.new_k"
        " WHERE changes.old_v IS NULL OR changes.old_v <> {n}",
    ),
    (
        (OF_A, ALSO_B),
        "SELECT new_k AS k, new_v AS v FROM changes WHERE new_k IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM others WHERE others.new_k = changes.new_k)",
    ),
    (
        (OF_C, ALSO_C),
        "SELECT changes.new_k AS k, others.old_v AS v FROM changes JOIN others ON others.old_v = changes.new_v",
    ),
    (
        (OF_C, BY_VALUE),
        "SELECT changes.new_k AS k, others.old_k AS v FROM changes JOIN others ON others.new_k = changes.new_k",
    ),
    (
        (OF_B, ALSO_C),
        "SELECT new_k AS k, new_v AS v FROM changes WHERE new_k IS NOT NULL"
        " UNION ALL SELECT old_k, old_v FROM others WHERE old_v < {n}",
    ),
)
PARAMETERS = (
    "SELECT k, v FROM a WHERE v < i",
    "SELECT k, v FROM c WHERE k = i AND v > {n}",
    "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k WHERE b.v = i",
)
ACTIONS = (
    "UPDATE a SET v = v + 1 WHERE k IN (SELECT k FROM condition) AND v < 3",
    "UPDATE b SET v = v - 1 WHERE k IN (SELECT k FROM condition) AND v > 0",
    "UPDATE a SET v = (v + 1) % 3 WHERE k IN (SELECT k FROM condition)",
    "UPDATE c SET v = v + 1 WHERE k IN (SELECT k FROM condition) AND v < 3",
    "INSERT INTO b SELECT DISTINCT k, 3 - v FROM condition",
    "INSERT INTO a SELECT k, v FROM condition WHERE k < 2 AND v NOT IN (SELECT v FROM a)",
    "INSERT INTO c SELECT DISTINCT k, 1 FROM condition WHERE k NOT IN (SELECT k FROM c)",
    "DELETE FROM a WHERE k IN (SELECT k FROM condition)",
    "DELETE FROM b WHERE v IN (SELECT v FROM condition)",
    "DELETE FROM c WHERE k IN (SELECT k FROM condition)",
)
COUPLINGS = (
    ("immediate", "immediate"),
    ("immediate", "deferred"),
    ("immediate", "detached"),
    ("immediate", "detached independent"),
    ("deferred", "deferred"),
    ("deferred", "deferred"),
    ("deferred", "detached"),
    ("deferred", "detached independent"),
    ("detached", "immediate"),
    ("detached", "detached"),
    ("detached", "detached independent"),
)


def random_rule(random: Random, age: int) -> PlainRule:
    condition, action = random.choice(COUPLINGS)
    kind = random.choices(("tables", "signals", "changes", "parameters"), (6, 2, 2, 2))[0]
    changes: tuple[PlainChanges, ...] = ()
    query = random.choice(CONDITIONS)
    match kind:
        case "signals":
            query = random.choice(SIGNALLED)
        case "changes":
            changes, query = random.choice(CHANGES)
        case "parameters":
            query = random.choice(PARAMETERS)
    refuses = condition != "detached" and action in ("immediate", "deferred") and random.random() < 0.05
    when = random.choices(("begins", "gone", "changed"), (6, 2, 2))[0]
    event = random_event(random, late=condition == "detached") if random.random() < 0.5 else None
    state = event is not None and when == "begins" and random.random() < 0.4
    rule = PlainRule(
        name=f"r{age}",
        age=age,
        event=event,
        when=when,  # type: ignore[arg-type]
        query=query.format(n=random.randint(0, 3)),
        changes=changes,
        parameter=kind == "parameters",
        initial=kind == "parameters" and random.random() < 0.3,
        statement=None if refuses else random.choice(ACTIONS),
        priority=random.randint(0, 2),
        nervous=random.random() < 0.3 and not state,
        key=random.random() < 0.3,
        condition=condition,
        action=action,
        context=random.choice(CONTEXTS),
        state=state,
    )
    return random_rule(random, age) if rule.asks and (when != "begins" or rule.nervous) else rule


def random_statement(random: Random, rules: list[PlainRule]) -> str:
    table, k, v = random.choice(("a", "b")), random.randint(0, 3), random.randint(0, 3)
    plain = (
        f"INSERT INTO {table} VALUES ({k}, {v})",
        f"INSERT INTO {table} VALUES ({k}, {v}), ({random.randint(0, 3)}, {random.randint(0, 3)})",
        f"UPDATE {table} SET v = {v} WHERE k = {k}",
        f"UPDATE {table} SET k = {k} WHERE v = {v}",
        f"DELETE FROM {table} WHERE v = {v}",
        f"INSERT INTO c SELECT DISTINCT k, {v} FROM {table} WHERE k NOT IN (SELECT k FROM c)",
        f"UPDATE c SET v = {v} WHERE k = {k}",
        f"DELETE FROM c WHERE k = {k}",
        f"SIGNAL e VALUES ({k}, {v})",
    )
    activations = [rule.activations for rule in rules if rule.parameter]
    if activations and random.random() < 0.3:
        name = random.choice(activations)
        come = f"INSERT INTO {name} SELECT DISTINCT v FROM {table} WHERE v NOT IN (SELECT i FROM {name})"
        return random.choice((come, come, f"DELETE FROM {name} WHERE i = {v}"))
    return random.choice(plain)


def define_views(db: tidings.Database) -> None:
    for name, query in VIEWS.items():
        db.sql(f"CREATE VIEW {name} AS {query}")


def life(seed: int, engine: Engine = "duckdb", spark: Any = None, most: int = 7) -> None:
    """One database with rules, compared with its interpretation."""
    random, clock = Random(seed), tidings.ManualClock(0)
    rules = [random_rule(random, age) for age in range(random.randint(1, 5))]
    plain = Plain(rules, BOUND)
    texts = [rule.text for rule in rules]
    once = DeliverySettings(policy=RetryPolicy(attempts=1))
    execution: Execution = ("spark", "auto")[seed % 2]
    with tidings.open(
        engine=engine, spark=spark, clock=clock, execution=execution, cascade=BOUND, deliveries=once
    ) as db:
        db.sql("CREATE TABLE a (k INT, v INT); CREATE TABLE b (k INT, v INT); CREATE EVENT e (k INT, v INT)")
        db.sql("CREATE TABLE c (k INT PRIMARY KEY, v INT)")
        define_views(db)
        for table in TABLES:
            rows = [(k, random.randint(0, 3)) for k in (range(3) if table == "c" else random.choices(range(4), k=4))]
            with db.transaction() as tx:
                tx.insert(table, rows)
            plain.state[table] = Counter(rows)
        for text in texts:
            db.sql(text)
        for rule in rules:
            if rule.parameter:
                committed = plain.transaction([f"INSERT INTO {rule.activations} VALUES (2)"])
                assert committed == activates(db, rule), (seed, texts)
        done: list[object] = []
        for _ in range(random.randint(2, most)):
            plain.clock += random.choice((0, 0, 10, 20))
            clock.set(plain.clock * SECOND)
            statements = [random_statement(random, rules) for _ in range(random.randint(1, 4))]
            wanted = random.random() < 0.9
            done.append((plain.clock, statements, wanted))
            committed = plain.transaction(statements, commits=wanted)
            assert committed == commits(db, statements, wanted), (seed, texts, done)
            if random.random() < 0.3:
                plain.advance()
                db.advance()
                done.append("advance")
            agree(db, plain, (seed, texts, done))
        plain.advance()
        db.advance()
        agree(db, plain, (seed, texts, done, "advance"))


def commits(db: tidings.Database, statements: list[str], wanted: bool) -> bool:
    tx = db.transaction()
    try:
        for statement in statements:
            tx.sql(statement)
        tx.commit() if wanted else tx.rollback()
    except (RuleRaised, CascadeTooLong):
        return False
    return wanted


def activates(db: tidings.Database, rule: PlainRule) -> bool:
    try:
        db.sql(f"ACTIVATE RULE {rule.name}(2)")
    except (RuleRaised, CascadeTooLong):
        return False
    return True


def agree(db: tidings.Database, plain: Plain, case: object) -> None:
    kept = db._parts.registry.store.firings()
    firings = [(f.rule, f.depth, Counter(tuple(r.values()) for r in f.rows.to_pylist())) for f in kept]
    assert firings == [(f.rule.name, f.depth, f.rows) for f in plain.firings], case
    for table in TABLES:
        assert Counter(tuple(r.values()) for r in db.query(table).rows()) == plain.state[table], (table, case)


@pytest.mark.parametrize("seeds", chunks(60, quick=10, size=10))
def test_as_a_plain_interpreter_says(seeds: range) -> None:
    for seed in seeds:
        life(seed)


def loaded(seed: int, by_load: bool) -> Counter[Any]:
    """What rules fire for when a table gets its first rows, in one transaction or by a load."""
    random = Random(seed)
    rules = [random_rule(random, age) for age in range(3)]
    target = random.choice(TABLES)
    with tidings.open(engine="duckdb", execution=("spark", "auto")[seed % 2]) as db:
        db.sql("CREATE TABLE a (k INT, v INT); CREATE TABLE b (k INT, v INT); CREATE EVENT e (k INT, v INT)")
        db.sql("CREATE TABLE c (k INT PRIMARY KEY, v INT); CREATE TABLE log (k INT)")
        define_views(db)
        rows = {}
        for table in TABLES:
            rows[table] = [
                (k, random.randint(0, 3)) for k in (range(4) if table == "c" else random.choices(range(4), k=5))
            ]
            if table != target:
                with db.transaction() as tx:
                    tx.insert(table, rows[table])
        for rule in rules:
            db.sql(replace(rule, statement="INSERT INTO log SELECT k FROM condition").text)
            if rule.parameter:
                db.sql(f"ACTIVATE RULE {rule.name}(2)")
        if by_load:
            columns = zip(*rows[target], strict=True)
            db.load(target, pa.table([pa.array(c, pa.int32()) for c in columns], ["k", "v"]))
        else:
            with db.transaction() as tx:
                tx.insert(target, rows[target])
        db.advance()
        kept = db._parts.registry.store.firings()
        return Counter((f.rule, frozenset(Counter(map(repr, f.rows.to_pylist())).items())) for f in kept)


@pytest.mark.parametrize("seeds", chunks(60, quick=10, size=10))
def test_a_load_is_judged_as_one_transaction(seeds: range) -> None:
    found = [(loaded(seed, True), loaded(seed, False), seed) for seed in seeds]
    assert [seed for one, other, seed in found if one != other] == []
    assert any(one for one, _, _ in found)


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(SEED * 1_000_000, SEED * 1_000_000 + 8))
def test_as_a_plain_interpreter_says_on_spark(seed: int, spark: Any) -> None:
    life(seed, "spark", spark, most=3)
