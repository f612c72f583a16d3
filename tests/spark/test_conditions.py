"""Conditions of rules on Spark alone: all that a commit is judged by are one job."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tidings
from tidings import Database
from tidings.errors import RuleFailed
from tidings.waves.engines import Engines

pytestmark = pytest.mark.spark

CONDITIONS = (
    "SELECT item, qty FROM stock WHERE qty < 20",
    "SELECT item, qty FROM stock WHERE qty < 30 AND item > 1",
    "SELECT s.item, l.least AS qty FROM stock s JOIN lim l ON l.item = s.item WHERE s.qty < l.least",
    "SELECT item, qty FROM low WHERE item <> 2",
    "SELECT l.item, s.qty FROM low l JOIN stock s ON s.item = l.item",
    "SELECT item, max(qty) AS qty FROM stock GROUP BY item HAVING max(qty) > 150",
)


def shop(spark: Any) -> Database:
    db = tidings.open(spark=spark, execution="spark", clock=tidings.ManualClock(0))
    db.sql("""
        CREATE TABLE stock (item INT PRIMARY KEY, qty INT, note STRING);
        CREATE TABLE lim (item INT PRIMARY KEY, least INT);
        CREATE VIEW low AS SELECT s.item, s.qty FROM stock s JOIN lim l ON l.item = s.item WHERE s.qty < l.least + 5;
        INSERT INTO stock VALUES (1, 100, '1'), (2, 100, '2'), (3, 100, '3');
        INSERT INTO lim VALUES (1, 10), (2, 50), (3, 50)
    """)
    for n, condition in enumerate(CONDITIONS):
        db.sql(f"CREATE RULE r{n} WHEN {condition} DO NOTIFY 'x'")
    return db


def firings(db: Database) -> Counter[tuple[str, tuple[str, ...]]]:
    kept = db._parts.registry.store.firings()
    return Counter((f.rule, tuple(sorted(map(str, f.rows.to_pylist())))) for f in kept)


UPDATES = (
    "UPDATE stock SET qty = 12 WHERE item = 1",
    "UPDATE stock SET qty = qty - 75 WHERE item > 1",
    "UPDATE stock SET qty = 200",
)


def test_one_job_and_the_same_firings(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop(spark) as db:
        jobs = []
        for update in UPDATES:
            with db._parts.backend.counted() as counted:
                db.sql(update)
            jobs.append(counted.number)
        together = firings(db)
    monkeypatch.setattr(Engines, "shares_jobs", property(lambda self: False))
    with shop(spark) as db:
        alone_jobs = []
        for update in UPDATES:
            with db._parts.backend.counted() as counted:
                db.sql(update)
            alone_jobs.append(counted.number)
        assert firings(db) == together
    assert len(together) > len(CONDITIONS)
    assert all(a is not None and b is not None and a <= b - 4 for a, b in zip(jobs, alone_jobs, strict=True)), jobs


def test_a_condition_that_fails_is_named(spark: Any) -> None:
    with shop(spark) as db:
        db.sql("CREATE RULE bad WHEN SELECT item FROM stock WHERE CAST(note AS INT) > 5 DO NOTIFY 'x'")
        with pytest.raises(RuleFailed) as failed:
            db.sql("UPDATE stock SET qty = 5, note = 'no number' WHERE item = 1")
        assert failed.value.parameters["rule"] == "bad"
        db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
        assert {rule for rule, _ in firings(db)} == {"r0", "r2", "r3", "r4"}
