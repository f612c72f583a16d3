"""The rules of a database, as rows and as text."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW
from tidings import Database
from tidings.errors import UnknownRule
from tidings.rules.descriptions import RuleDescriptions
from tidings.rules.system_tables import RuleSystemTables


@pytest.fixture
def descriptions(db: Database) -> RuleDescriptions:
    db.sql(f"CREATE RULE second {LOW} DO NOTIFY 'x' WITH (priority = 3)")
    db.sql(f"CREATE RULE first {LOW} DO NOTIFY 'x'; DISABLE RULE first")
    rules = db._parts.rules
    return RuleDescriptions(rules.registry, RuleSystemTables(rules.registry, rules.silences.store, db._parts.timeline))


def test_rules_by_name(descriptions: RuleDescriptions) -> None:
    rows = descriptions.rules().rows()
    assert [(r["name"], r["enabled"], r["priority"]) for r in rows] == [("first", False, 0), ("second", True, 3)]
    assert list(rows[0]) == ["name", "enabled", "priority", "condition", "action", "does", "error"]


def test_the_statement_as_it_was_written(descriptions: RuleDescriptions) -> None:
    assert descriptions.create_rule("SECOND") == f"CREATE RULE second {LOW} DO NOTIFY 'x' WITH (priority = 3)"
    with pytest.raises(UnknownRule) as refused:
        descriptions.create_rule("secnd")
    assert refused.value.hint == "did you mean second?"
