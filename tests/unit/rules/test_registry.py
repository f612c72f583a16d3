"""The registry knows the records of rules, and binds a rule once for as long as definitions stay."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW, NOW
from tidings import Database
from tidings.errors import UnknownRule
from tidings.rules.registry import RuleRegistry

ORDER = f"DO INSERT INTO orders SELECT item, 1 FROM condition {NOW}"


@pytest.fixture
def registry(db: Database) -> RuleRegistry:
    db.sql(f"CREATE RULE a {LOW} {ORDER}; CREATE RULE b ON INSERT INTO log WHEN SELECT item FROM lim {ORDER}")
    return db._parts.registry


def test_records_by_name(registry: RuleRegistry) -> None:
    assert [(r.id, r.name, r.enabled) for r in registry.records] == [(1, "a", True), (2, "b", True)]
    assert registry.record("B").id == 2
    assert registry.find("c") is None
    with pytest.raises(UnknownRule) as refused:
        registry.record("bb")
    assert refused.value.hint is not None


def test_rules_that_a_table_touches(db: Database, registry: RuleRegistry) -> None:
    assert [r.name for r in registry.touching(["stock"])] == ["a"]
    assert [r.name for r in registry.touching(["lim"])] == ["a", "b"]
    assert [r.name for r in registry.touching(["log"])] == ["b"]
    assert registry.touching(["orders"]) == []
    db.sql("DISABLE RULE a")
    assert registry.touching(["stock"]) == []


def test_a_rule_is_bound_once_until_a_definition_changes(db: Database, registry: RuleRegistry) -> None:
    first = registry.bind(registry.record("a"))
    db.sql("DISABLE RULE a")
    again = registry.bind(registry.record("a"))
    assert again is first
    assert not again.record.enabled
    db.sql("CREATE TABLE other (n INT)")
    assert registry.bind(registry.record("a")) is not first


def test_errors_are_recorded_and_cleared(db: Database, registry: RuleRegistry) -> None:
    registry.set_error(1, ValueError("no luck"))
    assert registry.failing() == {1}
    assert db.query("SELECT error FROM tidings.rules WHERE name = 'a'").rows() == [{"error": "ValueError: no luck"}]
    registry.set_error(1, None)
    assert registry.failing() == set()


def test_a_rule_that_cannot_be_bound_is_left_out_and_marked(db: Database, registry: RuleRegistry) -> None:
    db._parts.storage.relations.remove(db._parts.storage.relations.table("log"))
    db._parts.registry.compiled.forget()
    assert [r.name for r in registry.rules()] == ["a"]
    assert registry.failing() == {2}


def test_a_rule_by_its_name_or_from_a_text(db: Database, registry: RuleRegistry) -> None:
    assert registry.find_or_propose("A").id == 1
    text = f"CREATE RULE c {LOW} {ORDER}"
    proposed = registry.find_or_propose(text)
    assert (proposed.id, proposed.name) == (0, "c")
    assert registry.find_or_propose(text) is proposed
    assert registry.find("c") is None
    with pytest.raises(UnknownRule):
        registry.find_or_propose("SELECT 1")


def test_the_cursor_moves(db: Database) -> None:
    db.sql(f"CREATE RULE late {LOW} DO NOTIFY 'x' WITH (condition = 'detached')")
    (rule,) = db._parts.registry.rules()
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    before = rule.cursor
    db.advance()
    assert rule.cursor == db._parts.registry.record("late").until == db.time > before
