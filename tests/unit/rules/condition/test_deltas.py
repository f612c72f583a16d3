"""Conditions that are judged over one slice share what they have in common."""

from __future__ import annotations

import pytest

from tests.unit.rules.condition.test_shape import asked as asked  # a fixture
from tests.unit.rules.test_agenda import NOW, fired
from tidings import Database
from tidings.errors import RuleFailed


def watch(db: Database, name: str, query: str) -> None:
    db.sql(f"CREATE RULE {name} WHEN {query} DO INSERT INTO log SELECT '{name}', item FROM condition {NOW}")


def test_a_view_that_several_conditions_read_is_evaluated_once(db: Database, asked: list[str]) -> None:
    watch(db, "any", "SELECT item FROM low")
    watch(db, "ordered", "SELECT low.item FROM low JOIN orders o ON o.item = low.item")
    watch(db, "second", "SELECT CAST(sum(item) AS INT) AS item FROM low HAVING sum(item) > 1")
    db.sql("INSERT INTO orders VALUES (2, 1)")
    asked.clear()
    db.sql("UPDATE stock SET qty = 5")
    assert asked == ["low", "any", "ordered", "second"]
    assert fired(db) == [("any", 2), ("ordered", 1), ("second", 1)]


def test_a_view_that_is_not_touched_is_not_evaluated(db: Database, asked: list[str]) -> None:
    watch(db, "one", "SELECT o.item FROM orders o WHERE o.item IN (SELECT item FROM low)")
    watch(db, "other", "SELECT o.item FROM orders o WHERE o.item NOT IN (SELECT item FROM low)")
    asked.clear()
    db.sql("INSERT INTO orders VALUES (2, 1)")
    assert asked == ["one", "other"]
    assert fired(db) == [("other", 1)]


def test_a_condition_that_fails_is_named_also_where_others_share_its_view(db: Database) -> None:
    db.sql("CREATE VIEW words AS SELECT item, CAST(what AS INT) AS number FROM log")
    db.sql("CREATE RULE bigger WHEN SELECT item FROM words WHERE number > item DO NOTIFY 'x'")
    db.sql("CREATE RULE smaller WHEN SELECT item FROM words WHERE number < item DO NOTIFY 'x'")
    with pytest.raises(RuleFailed) as failed:
        db.sql("INSERT INTO log VALUES ('no number', 1)")
    assert failed.value.parameters["rule"] == "bigger"
    db.sql("INSERT INTO log VALUES ('2', 1)")
    assert [f.rule for f in db._parts.registry.store.firings()] == ["bigger"]
