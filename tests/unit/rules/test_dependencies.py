"""What rules read, change or wait for can neither be dropped nor renamed."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW, NOW
from tidings import Database
from tidings.errors import ColumnInUse, DependentObjects, UnsupportedStatement
from tidings.rules.dependencies import RuleDependencies


@pytest.fixture
def dependencies(db: Database) -> RuleDependencies:
    db.sql(f"""
        CREATE EVENT bell (n INT);
        CREATE RULE order_more {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition {NOW};
        CREATE RULE ring ON SIGNAL bell OR INSERT INTO log WHEN SELECT item FROM stock DO NOTIFY 'x';
        CREATE RULE watch WHEN SELECT new.item FROM CHANGES(low, item) DO NOTIFY 'x'
    """)
    return RuleDependencies(db._parts.registry, db._parts.storage.relations)


@pytest.mark.parametrize(
    ("relation", "rules"),
    [
        ("low", ["order_more", "watch"]),
        ("STOCK", ["order_more", "ring", "watch"]),
        ("lim", ["order_more", "watch"]),
        ("orders", ["order_more"]),
        ("log", ["ring"]),
        ("bell", ["ring"]),
        ("nothing", []),
    ],
)
def test_dependents(dependencies: RuleDependencies, relation: str, rules: list[str]) -> None:
    assert dependencies.dependents(relation) == rules


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("DROP TABLE orders", DependentObjects),
        ("DROP VIEW low", DependentObjects),
        ("DROP EVENT bell", DependentObjects),
        ("ALTER TABLE log RENAME TO diary", DependentObjects),
        ("ALTER TABLE stock RENAME COLUMN qty TO amount", DependentObjects),
        ("DROP TABLE bell", UnsupportedStatement),
        ("CREATE VIEW v AS SELECT name FROM tidings.rules", UnsupportedStatement),
    ],
)
def test_what_is_refused(db: Database, dependencies: RuleDependencies, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        db.sql(text)


@pytest.mark.parametrize(
    "rule",
    [
        "WHEN SELECT c FROM wide DO NOTIFY 'x'",
        "WHEN SELECT a FROM wide WHERE c > 1 DO NOTIFY 'x'",
        "ON UPDATE OF wide(C) WHEN SELECT item FROM stock DO NOTIFY 'x'",
        "WHEN SELECT new.a FROM CHANGES(wide, a) WHERE new.c > 1 DO NOTIFY 'x'",
        "WHEN SELECT new.a FROM CHANGES((SELECT a, c FROM wide), a) DO NOTIFY 'x'",
        "WHEN SELECT item FROM stock DO INSERT INTO wide SELECT item, 1, 1 FROM condition",
        "WHEN SELECT item FROM stock DO INSERT INTO wide (a, c) SELECT item, 1 FROM condition",
        "WHEN SELECT item FROM stock DO UPDATE wide SET c = 1",
        "WHEN SELECT item FROM stock DO DELETE FROM wide WHERE wide.c > 1",
        "WHEN SELECT item FROM stock DO INSERT INTO log SELECT 'x', c FROM wide",
        "WHEN SELECT item FROM stock DO MERGE INTO wide USING condition ON a = item WHEN MATCHED THEN UPDATE SET c = 1",
    ],
)
def test_columns_that_rules_use_are_not_dropped(db: Database, rule: str) -> None:
    db.sql(f"CREATE TABLE wide (a INT, b INT, c INT); CREATE RULE r {rule}")
    with pytest.raises(ColumnInUse) as refused:
        db.sql("ALTER TABLE wide DROP COLUMN c")
    assert refused.value.parameters == {"column": "c", "table": "wide", "users": "rule r"}
    db.sql("DROP RULE r; ALTER TABLE wide DROP COLUMN c")


@pytest.mark.parametrize(
    "rule",
    [
        "WHEN SELECT a FROM wide WHERE b > 1 DO INSERT INTO log SELECT 'x', a FROM condition",
        "ON UPDATE OF wide(a) WHEN SELECT a, b AS c FROM wide DO NOTIFY 'x'",
        "WHEN SELECT new.a FROM CHANGES(wide, a) WHERE new.b > 1 DO INSERT INTO log SELECT 'x', a FROM condition",
        "WHEN SELECT a, b AS c FROM wide DO UPDATE wide SET b = (SELECT max(condition.c) FROM condition)",
    ],
)
def test_rules_of_other_columns_go_on(db: Database, rule: str) -> None:
    db.sql(f"CREATE TABLE wide (a INT, c INT, b INT); CREATE RULE r {rule}")
    db.sql("ALTER TABLE wide DROP COLUMN c; INSERT INTO wide VALUES (1, 2)")
    db.sql("UPDATE wide SET a = 3")
    db.advance()
    assert db.status().failing_rules == ()
    assert db.query("SELECT DISTINCT state FROM tidings.firings WHERE rule = 'r' AND state IN ('done', 'sent')").rows()


def test_columns_of_events_are_not_dropped(db: Database, dependencies: RuleDependencies) -> None:
    with pytest.raises(UnsupportedStatement):
        db.sql("ALTER TABLE bell DROP COLUMN n")


def test_what_no_rule_needs_any_more_may_go(db: Database, dependencies: RuleDependencies) -> None:
    db.sql("DROP RULE order_more; DROP RULE watch; DROP TABLE orders; DROP VIEW low; DROP TABLE lim")
    assert dependencies.dependents("lim") == []
