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
    reads = {
        "insert": "INSERT INTO log SELECT 'a', c.item FROM condition c JOIN aux a ON a.id = c.item",
        "nested": "INSERT INTO log SELECT 'a', item FROM condition WHERE item IN (SELECT id FROM aux)",
        "through": "DELETE FROM log WHERE EXISTS (SELECT 1 FROM old_aux o WHERE o.id = log.item)",
        "set": "UPDATE log SET item = (SELECT max(id) FROM old_aux)",
        "merge": "MERGE INTO log USING aux ON log.item = aux.id WHEN MATCHED THEN DELETE",
        "common": "INSERT INTO log WITH aux AS (SELECT item FROM condition) SELECT 'a', item FROM aux",
        "shadow": "INSERT INTO log WITH aux AS (SELECT id FROM aux) SELECT 'a', id FROM aux",
        "call": "CALL p((SELECT count(*) FROM aux))",
    }
    db.sql("CREATE TABLE aux (id INT, z INT); CREATE VIEW old_aux AS SELECT id FROM aux WHERE z > 9")
    for name, action in reads.items():
        db.sql(f"CREATE RULE {name} ON SIGNAL bell WHEN SELECT item FROM orders DO {action}")
    return RuleDependencies(db._parts.registry, db._parts.storage.relations)


@pytest.mark.parametrize(
    ("relation", "rules"),
    [
        ("low", ["order_more", "watch"]),
        ("STOCK", ["order_more", "ring", "watch"]),
        ("lim", ["order_more", "watch"]),
        ("aux", ["insert", "nested", "through", "set", "merge", "shadow", "call"]),
        ("old_aux", ["through", "set"]),
        ("condition", []),
        ("nothing", []),
    ],
)
def test_dependents(dependencies: RuleDependencies, relation: str, rules: list[str]) -> None:
    assert [rule.name for rule in dependencies.dependents(relation)] == rules


def test_what_rules_change_and_wait_for(dependencies: RuleDependencies) -> None:
    assert "order_more" in [rule.name for rule in dependencies.dependents("orders")]
    assert {"ring", "insert"} <= {rule.name for rule in dependencies.dependents("log")}
    assert {"ring", "insert"} <= {rule.name for rule in dependencies.dependents("bell")}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("DROP TABLE orders", DependentObjects),
        ("DROP TABLE aux", DependentObjects),
        ("DROP TABLE aux CASCADE", DependentObjects),
        ("DROP VIEW old_aux", DependentObjects),
        ("ALTER TABLE aux RENAME TO other", DependentObjects),
        ("ALTER TABLE aux RENAME COLUMN z TO y", DependentObjects),
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


def test_a_refusal_says_what_was_to_be_done(db: Database, dependencies: RuleDependencies) -> None:
    texts = {
        "DROP VIEW low": {"name": "low", "change": "dropped"},
        "ALTER TABLE stock RENAME TO goods": {"name": "stock", "change": "renamed"},
        "ALTER TABLE lim RENAME COLUMN least TO most": {"name": "lim.least", "change": "renamed"},
    }
    for text, parameters in texts.items():
        with pytest.raises(DependentObjects) as refused:
            db.sql(text)
        assert {name: refused.value.parameters[name] for name in parameters} == parameters


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
    db.sql("DROP RULE order_more; DROP RULE watch; DROP VIEW low; DROP TABLE lim")
    db.sql("".join(f"DROP RULE {rule.name};" for rule in dependencies.dependents("aux")) + "DROP TABLE aux CASCADE")
    assert dependencies.dependents("lim") == []
