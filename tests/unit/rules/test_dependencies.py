"""What rules read, change or wait for can neither be dropped nor renamed."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW, NOW
from tidings import Database
from tidings.errors import DependentObjects, UnsupportedStatement
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


def test_what_no_rule_needs_any_more_may_go(db: Database, dependencies: RuleDependencies) -> None:
    db.sql("DROP RULE order_more; DROP RULE watch; DROP TABLE orders; DROP VIEW low; DROP TABLE lim")
    assert dependencies.dependents("lim") == []
