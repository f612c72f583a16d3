"""What a bound rule knows, and which rules are refused because their parts do not go together."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW
from tidings import Database
from tidings.errors import InvalidRule
from tidings.lang.sql import statement as sql
from tidings.rules.binding import RuleBinder
from tidings.rules.rule import Rule
from tidings.store.rules.rule_store import RuleRecord


def bound(db: Database, text: str) -> Rule:
    binder = RuleBinder(db._parts.storage.relations, db._parts.storage.backend)
    return binder.bind_record(RuleRecord(7, "r", text, True, 0, 0, 0))


def test_influents_and_columns(db: Database) -> None:
    rule = bound(db, f"CREATE RULE r {LOW} DO NOTIFY 'x'")
    assert (rule.id, rule.name, rule.influents) == (7, "r", frozenset({"stock", "lim"}))
    assert [(c.name, c.type) for c in rule.columns] == [("item", "int")]
    assert (rule.condition_coupling, rule.action_coupling) == ("deferred", "detached")
    assert not rule.reads_clock


def test_changes_are_read_of_a_table(db: Database) -> None:
    rule = bound(db, "CREATE RULE r WHEN SELECT old.qty, new.qty FROM CHANGES(stock) DO NOTIFY 'x'")
    assert [(of.name, of.key) for of in rule.condition.changes] == [("stock", ("item",))]
    assert rule.influents == {"stock"}
    assert [c.name for c in rule.columns] == ["old_qty", "qty"]


def test_parameters_are_a_table_that_is_joined(db: Database) -> None:
    rule = bound(db, "CREATE RULE r (least INT) WHEN SELECT item FROM stock WHERE qty < least DO NOTIFY 'x'")
    assert rule.condition.activations == "activations_of_r"
    assert rule.influents == {"stock", "activations_of_r"}
    assert [c.name for c in rule.columns] == ["item", "least"]


def test_what_is_evaluated_when_an_event_happens(db: Database) -> None:
    db.sql("CREATE EVENT bell (n INT)")
    assert bound(db, f"CREATE RULE r ON SIGNAL bell {LOW} DO NOTIFY 'x'").evaluates_on_event
    assert bound(db, f"CREATE RULE r ON EVERY INTERVAL '1' HOUR {LOW} DO NOTIFY 'x'").evaluates_on_event
    assert not bound(db, "CREATE RULE r ON SIGNAL bell WHEN SELECT n FROM bell DO NOTIFY 'x'").evaluates_on_event
    on_table = bound(db, f"CREATE RULE r ON INSERT INTO log {LOW} DO NOTIFY 'x'")
    assert (on_table.evaluates_on_event, on_table.event_tables) == (False, frozenset({"log"}))


def test_what_reads_the_clock_is_judged_after_commits(db: Database) -> None:
    db.sql("CREATE TABLE seen (item INT, at TIMESTAMP)")
    text = "CREATE RULE r WHEN SELECT item FROM seen WHERE at < now() - INTERVAL '1' HOUR DO NOTIFY 'x'"
    rule = bound(db, text)
    assert (rule.reads_clock, rule.depends_on_time, rule.condition_coupling) == (True, True, "detached")


@pytest.mark.parametrize(
    "rest",
    [
        f"ON EVERY INTERVAL '1' HOUR {LOW} DO DELETE FROM log WITH (action = 'deferred')",
        f"ON INSERT INTO log THEN DELETE FROM log {LOW} DO NOTIFY 'x' WITH (condition = 'detached')",
        "ON EVERY INTERVAL '1' HOUR WHEN GONE SELECT item FROM low DO NOTIFY 'x'",
        f"{LOW} DO NOTIFY 'x' WITH (effective = 'soon')",
        f"{LOW} DO NOTIFY 'x' WITH (effective = '2026-02-01', expires = '2026-01-31 23:59:59')",
        f"{LOW} DO NOTIFY 'x' WITH (expires = '2026-02-01', effective = '2026-02-01 00:00:00')",
        f"ON EVERY INTERVAL '1' HOUR {LOW} DO NOTIFY 'x' WITH (condition = 'immediate')",
        f"ON AT TIMESTAMP '2026-01-31' {LOW} DO NOTIFY 'x' WITH (condition = 'deferred')",
        "WHEN SELECT item FROM stock WHERE now() > TIMESTAMP '2026-01-31' DO NOTIFY 'x' WITH (condition = 'immediate')",
        f"{LOW} DO RAISE 'x' WITH (group_by = item)",
        f"{LOW} DO RAISE 'x' WITH (resolved)",
        "WHEN CHANGED SELECT item FROM low DO NOTIFY 'x' WITH (for = INTERVAL '1' MINUTE)",
        "WHEN SELECT name FROM tidings.rules DO NOTIFY 'x'",
    ],
)
def test_parts_that_do_not_go_together(db: Database, rest: str) -> None:
    with pytest.raises(InvalidRule):
        bound(db, f"CREATE RULE r {rest}")


def test_a_statement_is_bound_without_its_text(db: Database) -> None:
    (statement,) = sql.read(f"CREATE RULE r {LOW} DO NOTIFY 'x'")
    assert isinstance(statement, sql.CreateRule)
    binder = RuleBinder(db._parts.storage.relations, db._parts.storage.backend)
    assert binder.bind(RuleRecord(1, "r", "", True, 0, 0, 0), statement).statement is statement
