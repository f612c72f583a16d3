"""Actions are checked when a rule is bound."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW, rows
from tidings import Database
from tidings.errors import (
    InvalidExpression,
    InvalidRule,
    NotATable,
    TidingsError,
    UnknownColumn,
    UnknownFunction,
    UnknownRelation,
    UnsupportedStatement,
)
from tidings.rules.action.summary import summary


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("CALL note(item)", "call note"),
        ("DELETE FROM log WHERE item IN (SELECT item FROM condition)", "delete log"),
        ("RAISE 'too low'", "raise too low"),
        ("FILE 'out.jsonl'", "file out.jsonl"),
    ],
)
def test_what_is_accepted_and_its_summary(db: Database, action: str, words: str) -> None:
    rule = db._parts.registry.find_or_propose(f"CREATE RULE r {LOW} DO {action}")
    assert summary(rule.action) == words


@pytest.mark.parametrize(
    ("action", "error", "marked"),
    [
        ("INSERT INTO log SELECT 'a', itm FROM condition", UnknownColumn, "itm"),
        ("INSERT INTO log SELECT 'a', item, 3, 4 FROM condition", InvalidExpression, "log"),
        ("INSERT INTO log SELECT 'a' FROM condition", InvalidExpression, "log"),
        ("INSERT INTO log (what, itm) SELECT 'a', item FROM condition", UnknownColumn, "log (what, itm"),
        ("INSERT INTO log VALUES ('a', 1, 2)", InvalidExpression, "log"),
        ("INSERT INTO low SELECT item, 1 FROM condition", NotATable, "low"),
        ("INSERT INTO bell SELECT item FROM condition", UnsupportedStatement, "bell"),
        ("INSERT INTO tidings.rules SELECT item FROM condition", UnsupportedStatement, None),
        ("INSERT INTO nothing SELECT item FROM condition", UnknownRelation, "nothing"),
        ("INSERT INTO condition SELECT 5", InvalidRule, "condition"),
        ("DELETE FROM Condition", InvalidRule, "Condition"),
        ("INSERT INTO log SELECT name, 1 FROM tidings.rules", InvalidRule, "tidings.rules"),
        ("INSERT INTO log SELECT 'a', z FROM condition, nothing", UnknownRelation, "nothing"),
        ("INSERT INTO log SELECT nosuch(item), item FROM condition", UnknownFunction, None),
        ("UPDATE stock SET colour = 1", UnknownColumn, "colour"),
        ("UPDATE stock SET qty = colour", UnknownColumn, "colour"),
        ("UPDATE stock SET qty = 1 WHERE item IN (SELECT itm FROM condition)", UnknownColumn, "itm"),
        ("DELETE FROM stock WHERE itm = 1", UnknownColumn, "itm"),
        ("MERGE INTO stock s USING condition c ON s.item = c.itm WHEN MATCHED THEN DELETE", UnknownColumn, "c.itm"),
        (
            "MERGE INTO stock s USING condition c ON s.item = c.item WHEN MATCHED THEN UPDATE SET colour = 1",
            UnknownColumn,
            "colour",
        ),
        ("MERGE INTO stock USING condition c ON TRUE WHEN NOT MATCHED THEN INSERT *", UnknownColumn, None),
        ("CALL note(nosuch(item))", UnknownFunction, None),
    ],
)
@pytest.mark.parametrize("create", ["CREATE RULE", "CREATE OR REPLACE RULE"])
def test_an_action_that_cannot_run_is_refused_and_shown(
    db: Database, create: str, action: str, error: type[TidingsError], marked: str | None
) -> None:
    db.sql(f"CREATE EVENT bell (n INT); CREATE RULE r {LOW} DO NOTIFY 'old'")
    name = "r" if "REPLACE" in create else "s"
    text = f"\n{create} {name} {LOW} DO {action}"
    with pytest.raises(error) as refused:
        db.sql(text)
    at = refused.value.place
    if marked is not None:
        assert at is not None
        assert at.text == text
        assert at.text[at.start : at.end] == marked
    assert db.query("SELECT name, does FROM tidings.rules").rows() == [{"name": "r", "does": "notify old"}]


@pytest.mark.parametrize(
    "action",
    [
        "INSERT INTO log VALUES ('a', 1)",
        "INSERT INTO log (item) SELECT item + least FROM condition JOIN lim USING (item)",
        "UPDATE stock SET qty = DEFAULT WHERE item = 3",
        "DELETE FROM orders",
        "MERGE INTO orders o USING condition c ON o.item = c.item WHEN NOT MATCHED THEN INSERT (item) VALUES (c.item)",
        "INSERT INTO seen SELECT item, now() FROM condition",
        "INSERT INTO log SELECT 'rung', n FROM bell",
        "CALL note(item + 1, (SELECT count(*) FROM stock))",
    ],
)
def test_an_action_that_can_run_is_not_run(db: Database, action: str) -> None:
    db.sql("CREATE EVENT bell (n INT); CREATE TABLE seen (item INT, at TIMESTAMP); INSERT INTO orders VALUES (7, 7)")
    before = db.time
    db.sql(f"CREATE RULE r {LOW} DO {action} WITH (action = 'deferred')")
    assert db.time == before
    assert db.query("orders").rows() == [{"item": 7, "qty": 7}]


def test_an_action_may_read_and_change_the_activations_of_its_rule(db: Database) -> None:
    db.sql("""
        CREATE RULE once (i INT) WHEN SELECT item FROM stock WHERE item = i AND qty < 50
          DO DELETE FROM activations_of_once WHERE i IN (SELECT i FROM condition) WITH (action = 'deferred');
        CREATE RULE note (i INT) WHEN SELECT item FROM stock WHERE item = i AND qty < 50
          DO INSERT INTO log SELECT 'active', i FROM activations_of_note WITH (action = 'deferred');
        ACTIVATE RULE once(1); ACTIVATE RULE note(1); ACTIVATE RULE note(2);
        UPDATE stock SET qty = 5 WHERE item = 1
    """)
    assert rows(db, "activations_of_once") == []
    assert rows(db, "log") == [("active", 1), ("active", 2)]


@pytest.mark.parametrize(
    ("action", "error"),
    [("CALL note(item + colour)", UnknownColumn), ("INSERT INTO nothing SELECT item FROM condition", UnknownRelation)],
)
def test_what_is_refused(db: Database, action: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        db._parts.registry.find_or_propose(f"CREATE RULE r {LOW} DO {action}")
