"""Statements about rules and events, read from text."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidSyntax, ReservedName, UnsupportedType
from tidings.ir.relation import Column
from tidings.lang.sql import statement
from tidings.lang.sql.statements.action import Call, Modify, Raise, Send
from tidings.lang.sql.statements.dml import Insert
from tidings.lang.sql.statements.event import And, At, Every, Or, SignalEvent, TableEvent, Then
from tidings.lang.sql.statements.rule import CreateRule
from tidings.lang.sql.statements.rule_options import Options


def rule(text: str) -> CreateRule:
    (found,) = statement.read(text)
    assert isinstance(found, CreateRule)
    return found


def test_all_clauses() -> None:
    found = rule("""
        CREATE OR REPLACE RULE watch (i BIGINT, price DECIMAL(10, 2)) ON UPDATE OF item(a, b)
        WHEN GONE SELECT CASE WHEN a THEN 1 ELSE 2 END AS c FROM item WHERE id = i
        DO CALL act(c, c + 1)
        WITH (priority = -3, semantics = 'nervous', condition = 'immediate', action = 'deferred', key = (c), initial)
    """)
    assert (found.name, found.replace, found.when) == ("watch", True, "gone")
    assert found.parameters == (Column("i", "bigint"), Column("price", "decimal(10,2)"))
    assert isinstance(found.event, TableEvent)
    assert (found.event.kind, found.event.table, found.event.columns) == ("update", "item", ("a", "b"))
    assert isinstance(found.action, Call)
    assert [a.sql() for a in found.action.arguments] == ["c", "c + 1"]
    assert found.options == Options(-3, True, "immediate", "deferred", initial=True, key=("c",))


def test_defaults() -> None:
    found = rule("CREATE RULE r WHEN SELECT a FROM t DO NOTIFY 'x'")
    assert found.options == Options(condition="deferred", action="detached")
    assert (found.event, found.when, found.parameters) == (None, "begins", ())
    assert rule("CREATE RULE r WHEN SELECT a FROM t DO RAISE 'x'").options.action == "deferred"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NOTIFY 'buyers'", Send("notify", "buyers")),
        ("WEBHOOK 'https://example.com/x'", Send("webhook", "https://example.com/x")),
        ("FILE 'a/b.jsonl'", Send("file", "a/b.jsonl")),
        ("MAIL 'ann@example.com'", Send("mail", "ann@example.com")),
        ("RAISE 'it''s too much'", Raise("it's too much")),
    ],
)
def test_actions(text: str, expected: object) -> None:
    assert rule(f"CREATE RULE r WHEN SELECT a FROM t DO {text}").action == expected


@pytest.mark.parametrize(
    ("action", "target"),
    [
        ("WEBHOOK 'nonsense'", "'nonsense'"),
        ("WEBHOOK 'ftp://example.com/x'", "'ftp://example.com/x'"),
        ("WEBHOOK 'https://'", "'https://'"),
        ("MAIL 'nobody'", "'nobody'"),
        ("MAIL 'ann@'", "'ann@'"),
    ],
)
def test_targets_that_nothing_can_be_sent_to(action: str, target: str) -> None:
    with pytest.raises(InvalidSyntax) as refused:
        rule(f"CREATE RULE r WHEN SELECT a FROM t DO {action}")
    at = refused.value.place
    assert at is not None
    assert at.text[at.start : at.end] == target
    assert refused.value.hint


@pytest.mark.parametrize(
    "action",
    [
        "NOTIFY 'x', NOTIFY 'y'",
        "CALL p(), CALL q(a)",
        "INSERT INTO log SELECT a FROM condition, NOTIFY 'y'",
        "INSERT INTO log SELECT a FROM condition, CALL q(a) WITH (priority = 1)",
        "INSERT INTO log SELECT a FROM condition WHERE a > 1, RAISE 'y'",
        "INSERT INTO log VALUES (1), WEBHOOK 'https://example.com/y'",
        "DELETE FROM log, NOTIFY 'y'",
        "UPDATE log SET n = 1, NOTIFY 'y'",
    ],
)
def test_a_rule_has_one_action(action: str) -> None:
    with pytest.raises(InvalidSyntax) as refused:
        rule(f"CREATE RULE r WHEN SELECT a FROM t DO {action}")
    at = refused.value.place
    assert at is not None
    assert at.text[at.start : at.end] in ("NOTIFY", "CALL", "RAISE", "WEBHOOK")
    assert refused.value.hint == "make a rule for each of them"


def test_tables_may_be_called_like_actions() -> None:
    found = rule("CREATE RULE r WHEN SELECT a FROM t DO INSERT INTO log SELECT a FROM condition, mail, file AS call")
    assert isinstance(found.action, Modify)


def test_an_action_may_have_a_with_of_its_own() -> None:
    found = rule("""
        CREATE RULE r WHEN SELECT a FROM t
        DO INSERT INTO log WITH c AS (SELECT a FROM condition) SELECT a FROM c WITH (priority = 2)
    """)
    assert isinstance(found.action, Modify)
    assert isinstance(found.action.change, Insert)
    assert found.options.priority == 2


def event(text: str) -> object:
    found = rule(f"CREATE RULE r ON {text} WHEN SELECT a FROM t DO RAISE 'x'").event
    return _bare(found)


def _bare(found: object) -> object:
    """An event without places."""
    match found:
        case TableEvent():
            return TableEvent(found.kind, found.table, found.columns)
        case SignalEvent():
            return SignalEvent(found.event)
        case Or(parts=parts):
            return Or(tuple(map(_bare, parts)))  # type: ignore[arg-type]
        case And(parts=parts, within=within):
            return And(tuple(map(_bare, parts)), within)  # type: ignore[arg-type]
        case Then(parts=parts, within=within):
            return Then(tuple(map(_bare, parts)), within)  # type: ignore[arg-type]
        case _:
            return found


def test_events_and_how_they_bind() -> None:
    a, b, c = TableEvent("insert", "a"), TableEvent("delete", "b"), SignalEvent("c")
    assert event("INSERT INTO a") == a
    assert event("INSERT INTO a OR DELETE FROM b AND SIGNAL c") == Or((a, And((b, c))))
    assert event("INSERT INTO a AND DELETE FROM b THEN SIGNAL c") == And((a, Then((b, c))))
    assert event("(INSERT INTO a OR DELETE FROM b) THEN SIGNAL c") == Then((Or((a, b)), c))
    assert event("INSERT INTO a THEN SIGNAL c WITHIN INTERVAL 90 SECONDS") == Then((a, c), 90_000_000)
    assert event("INSERT INTO a AND SIGNAL c WITHIN INTERVAL '1' DAY 1 HOUR") == And((a, c), 90_000_000_000)
    assert event("EVERY INTERVAL '2 HOURS' OR AT TIMESTAMP '1970-01-01 00:00:01'") == Or(
        (Every(7_200_000_000), At(1_000_000))
    )


def test_among_other_statements() -> None:
    found = statement.read("""
        CREATE TABLE t (a INT); CREATE EVENT IF NOT EXISTS e (x INT, y ARRAY<STRING>);
        CREATE RULE r WHEN SELECT a FROM t DO RAISE 'a; b';
        ENABLE RULE r; DISABLE GROUP g; ACTIVATE RULE r(1, 'x'); DEACTIVATE RULE r(-1); SIGNAL e SELECT 1, 'x';
        DROP RULE IF EXISTS r; DROP EVENT e; SELECT a FROM t
    """)
    assert [type(s).__name__ for s in found] == [
        *("CreateTable", "CreateEvent", "CreateRule", "SwitchRule", "SwitchRule", "ActivateRule", "ActivateRule"),
        *("Signal", "DropRule", "DropEvent", "Query"),
    ]
    created = found[2]
    assert isinstance(created, CreateRule)
    assert created.definition == "CREATE RULE r WHEN SELECT a FROM t DO RAISE 'a; b'"
    assert rule(created.definition).action == Raise("a; b")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("CREATE RULE", ""),
        ("CREATE RULE 'a' WHEN SELECT 1 AS x DO RAISE 'x'", "'a'"),
        ("CREATE RULE a SELECT 1 AS x DO RAISE 'x'", "SELECT"),
        ("CREATE RULE a WHEN SELECT 1 AS x", ""),
        ("CREATE RULE a WHEN SELECT 1 AS x DO NOTIFY buyers", "buyers"),
        ("CREATE RULE a WHEN SELECT x FROM WHERE y DO RAISE 'x'", "WHERE"),
        ("CREATE RULE a WHEN DROP TABLE t DO RAISE 'x'", "DROP TABLE t"),
        ("CREATE RULE a ON EVERY INTERVAL 1 MONTH WHEN SELECT 1 AS x DO RAISE 'x'", "1"),
        ("CREATE RULE a ON AT TIMESTAMP 'noon' WHEN SELECT 1 AS x DO RAISE 'x'", "'noon'"),
        ("CREATE RULE a WHEN SELECT 1 AS x DO RAISE 'x' WITH (semantics = 'loose')", "semantics"),
        ("CREATE OR REPLACE EVENT e (x INT)", "e"),
        ("ENABLE RULE a b", "b"),
    ],
)
def test_where_it_is_wrong(text: str, shown: str) -> None:
    before = "SELECT 1 AS x;\n"
    with pytest.raises(InvalidSyntax) as refused:
        statement.read(before + text)
    at = refused.value.place
    assert at is not None
    assert at.text == before + text
    assert at.text[at.start : at.end] == shown


def test_names_and_types_are_checked() -> None:
    with pytest.raises(ReservedName):
        statement.read("CREATE EVENT e (__x INT)")
    with pytest.raises(UnsupportedType):
        statement.read("CREATE EVENT e (x NOTHING_LIKE_IT)")
