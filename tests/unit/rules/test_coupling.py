"""Immediate, deferred and detached: when conditions are judged and actions run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

import tidings
from tests.unit.rules.test_agenda import LOW, fired, rows
from tidings import Database, ManualClock
from tidings.errors import (
    CheckViolated,
    DuplicateKey,
    InternalError,
    InvalidRule,
    InvalidSyntax,
    NullNotAllowed,
    RuleRaised,
    TidingsError,
    UnknownRule,
    UnknownTransactionState,
)
from tidings.store.fold import Folding
from tidings.store.rules.outbox import Outbox
from tidings.write.transaction import Transaction


def states(db: Database) -> list[tuple[str, str]]:
    found = db.query("SELECT id, rule, state FROM tidings.firings").rows()
    return [(r["rule"], r["state"]) for r in sorted(found, key=lambda r: r["id"])]


def test_immediate_runs_after_the_statement(db: Database) -> None:
    db.sql(f"""
        CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition
          WITH (condition = 'immediate', action = 'immediate')
    """)
    with db.transaction() as tx:
        tx.sql("UPDATE stock SET qty = 5 WHERE item = 1")
        assert tx.query("orders").rows() == [{"item": 1, "qty": 50}]
        tx.sql("UPDATE stock SET qty = 50 WHERE item = 1")
        tx.update("stock", [{"item": 1, "qty": 4}])
        assert len(tx.query("orders")) == 2
    assert len(fired(db)) == 2


def test_immediate_raise_ends_the_statement(db: Database) -> None:
    db.sql("""
        CREATE RULE never WHEN SELECT item, qty FROM stock WHERE qty < 0 DO RAISE 'less than nothing'
          WITH (condition = 'immediate')
    """)
    tx = db.transaction()
    with pytest.raises(RuleRaised):
        tx.sql("UPDATE stock SET qty = -1 WHERE item = 1")
    with pytest.raises(UnknownTransactionState):
        tx.commit()
    assert rows(db, "stock") == [(1, 100), (2, 100)]


def test_immediate_condition_with_deferred_action(db: Database) -> None:
    """Judged after the statement, so it fires though the shortage is over at the end; it acts at the end."""
    db.sql(f"""
        CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition
          WITH (condition = 'immediate', action = 'deferred')
    """)
    with db.transaction() as tx:
        tx.sql("UPDATE stock SET qty = 5 WHERE item = 1")
        assert len(tx.query("orders")) == 0
        tx.sql("UPDATE stock SET qty = 50 WHERE item = 1")
    assert rows(db, "orders") == [(1, 50)]


def test_detached_action_waits_for_advance(db: Database) -> None:
    db.sql(f"CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    assert (rows(db, "orders"), states(db)) == ([], [("reorder", "waiting")])
    db.advance()
    assert (rows(db, "orders"), states(db)) == ([(1, 50)], [("reorder", "done")])
    db.advance()
    assert rows(db, "orders") == [(1, 50)]


def test_detached_actions_trigger_rules_in_turn(db: Database) -> None:
    db.sql(f"""
        CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition;
        CREATE RULE noted WHEN SELECT item FROM orders DO INSERT INTO log SELECT 'ordered', item FROM condition
    """)
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    db.advance()
    assert rows(db, "log") == [("ordered", 1)]
    assert db.query("SELECT rule, depth FROM tidings.firings WHERE depth > 0").rows() == [{"rule": "noted", "depth": 1}]


def test_what_is_sent_is_in_the_outbox(db: Database) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'buyers'")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    (entry,) = Outbox(db._parts.storage.rule_tables).entries()
    assert (entry.message.channel, entry.message.target, entry.message.rule) == ("notify", "buyers", "tell")
    assert '"rows": [{"item": 1}]' in entry.message.payload
    assert states(db) == [("tell", "sent")]


def test_independent_is_recorded_even_if_the_transaction_is_given_up(db: Database) -> None:
    db.sql(f"""
        CREATE RULE tell {LOW} DO NOTIFY 'buyers' WITH (condition = 'immediate', action = 'detached independent');
        CREATE RULE other {LOW} DO NOTIFY 'sellers' WITH (condition = 'immediate')
    """)
    tx = db.transaction()
    tx.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    tx.rollback()
    assert states(db) == [("tell", "sent")]


@pytest.mark.parametrize("condition", ["immediate", "deferred"])
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("INSERT INTO part VALUES (1, 2000)", CheckViolated),
        ("INSERT INTO part VALUES (2, 20)", DuplicateKey),
        ("INSERT INTO part VALUES (NULL, 20)", NullNotAllowed),
    ],
)
def test_independent_is_recorded_once_whatever_refuses_the_commit(
    db: Database, condition: str, change: str, error: type[TidingsError]
) -> None:
    db.sql(f"""
        CREATE TABLE part (id INT PRIMARY KEY, size INT CHECK (size < 1000));
        INSERT INTO part VALUES (2, 5);
        CREATE RULE attempt WHEN SELECT size FROM part WHERE size > 10
          DO INSERT INTO log SELECT 'tried', size FROM condition
          WITH (condition = '{condition}', action = 'detached independent');
        CREATE RULE done WHEN SELECT size FROM part WHERE size > 10
          DO INSERT INTO log SELECT 'done', size FROM condition WITH (condition = '{condition}')
    """)

    def attempt() -> None:
        with db.transaction() as tx:
            tx.sql(change)
            tx.commit()

    with pytest.raises(error):
        db.sql(change)
    with pytest.raises(error):
        attempt()
    assert states(db) == [("attempt", "waiting")] * 2
    db.advance()
    assert [what for what, _ in rows(db, "log")] == ["tried"] * 2
    assert len(rows(db, "part")) == 1


def test_independent_is_not_recorded_again_when_something_fails_after_the_commit(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'buyers' WITH (action = 'detached independent')")

    def fail(_: object) -> None:
        raise OSError("no room to fold")

    monkeypatch.setattr(Folding, "step", fail)
    with pytest.raises(InternalError, match="no room"):
        db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    monkeypatch.undo()
    assert states(db) == [("tell", "sent")]


def test_detached_condition_judges_each_transaction_alone(db: Database) -> None:
    action = "DO INSERT INTO orders SELECT item, 50 FROM condition"
    db.sql(f"CREATE RULE reorder {LOW} {action} WITH (condition = 'detached')")
    for qty in (5, 100, 4, 3):
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    assert fired(db) == []
    db.advance()
    assert fired(db) == [("reorder", 1), ("reorder", 1)]
    assert rows(db, "orders") == [(1, 50), (1, 50)]
    db.advance()
    assert len(fired(db)) == 2


def test_condition_and_action_in_one_transaction_after_the_commit(db: Database, clock: ManualClock) -> None:
    """There are both or neither: a rule whose action fails stays where it is, and goes on from there."""
    seen: list[tuple[int, int]] = []
    fails = [True]

    @db.procedure("act")
    def act(given: list[dict[str, int]], tx: Transaction) -> None:
        seen.extend((row["item"], row["qty"]) for row in given)
        tx.insert("log", [("acted", row["item"]) for row in given])
        if fails[0] and given[0]["qty"] == 4:
            raise ValueError("no luck")

    db.sql("""
        CREATE RULE both WHEN SELECT item, qty FROM low DO CALL act(item, qty)
          WITH (condition = 'detached', action = 'immediate')
    """)
    for qty in (5, 100, 4, 100, 3):
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    assert seen == []
    db.advance()
    assert list(dict.fromkeys(seen)) == [(1, 5), (1, 4)]
    seen.clear()
    assert (rows(db, "log"), states(db)) == ([("acted", 1)], [("both", "done")])
    assert db.query("SELECT error FROM tidings.rules").rows() == [{"error": "ValueError: no luck"}]
    fails[0] = False
    db.advance()
    assert seen == [(1, 4), (1, 3)]
    assert states(db) == [("both", "done")] * 3
    assert db.query("SELECT error FROM tidings.rules").rows() == [{"error": None}]


@pytest.mark.parametrize("cascade", [5])
def test_what_triggers_itself_after_commits_ends(db: Database) -> None:
    for name, action in (("one", "detached"), ("other", "immediate")):
        db.sql(f"""
            CREATE TABLE {name}s (n INT);
            CREATE RULE {name} WHEN SELECT n FROM {name}s DO INSERT INTO {name}s SELECT n + 1 FROM condition
              WITH (condition = 'detached', action = '{action}');
            INSERT INTO {name}s VALUES (0)
        """)
    db.advance()
    assert [r["n"] for r in db.query("SELECT n FROM ones ORDER BY n").rows()] == list(range(6))
    assert [r["n"] for r in db.query("SELECT n FROM others ORDER BY n").rows()] == list(range(6))
    errors = [r["error"] for r in db.query("SELECT error FROM tidings.rules").rows()]
    assert all(e.startswith("CascadeTooLong") for e in errors)


def test_the_clock_triggers(db: Database, clock: ManualClock) -> None:
    db.sql("""
        CREATE TABLE msg (id INT, ts TIMESTAMP);
        CREATE RULE old WHEN SELECT id FROM msg WHERE ts + INTERVAL 1 HOUR < now()
          DO INSERT INTO log SELECT 'old', id FROM condition;
        INSERT INTO msg VALUES (7, now())
    """)
    db.advance()
    assert rows(db, "log") == []
    clock.advance(timedelta(hours=2))
    db.advance()
    assert rows(db, "log") == [("old", 7)]


def test_every_interval_takes_what_holds(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE daily ON EVERY INTERVAL 1 DAY {LOW} DO INSERT INTO log SELECT 'low', item FROM condition")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    for _ in range(2):
        clock.advance(timedelta(days=1))
        db.advance()
    assert rows(db, "log") == [("low", 1), ("low", 1)]


@pytest.mark.parametrize(("policy", "expected"), [("", 1), ("last", 1), ("all", 3), ("none", 0)])
def test_ticks_that_were_missed(db: Database, clock: ManualClock, policy: str, expected: int) -> None:
    option = f" WITH (catch_up = '{policy}')" if policy else ""
    action = "DO INSERT INTO log SELECT 'tick', n FROM condition"
    db.sql(f"CREATE RULE daily ON EVERY INTERVAL 1 DAY WHEN SELECT 1 AS n {action}{option}")
    clock.advance(timedelta(days=3, hours=1))
    db.advance()
    assert len(rows(db, "log")) == expected
    clock.advance(timedelta(days=1))
    db.advance()
    assert len(rows(db, "log")) == expected + 1


def test_for_an_interval(db: Database, clock: ManualClock) -> None:
    action = "DO INSERT INTO log SELECT 'low', item FROM condition"
    db.sql(f"CREATE RULE long {LOW} {action} WITH (for = INTERVAL 5 MINUTES)")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    clock.advance(timedelta(minutes=3))
    db.sql("UPDATE stock SET qty = 100 WHERE item = 1; UPDATE stock SET qty = 5 WHERE item = 2")
    db.advance()
    clock.advance(timedelta(minutes=4))
    db.advance()
    assert rows(db, "log") == []
    clock.advance(timedelta(minutes=2))
    db.advance()
    db.advance()
    assert rows(db, "log") == [("low", 2)]


@pytest.mark.parametrize(
    "options",
    [
        "condition = 'deferred', action = 'immediate'",
        "condition = 'detached', action = 'deferred'",
        "condition = 'sometimes'",
        "priority = 'high'",
    ],
)
def test_couplings_that_cannot_be(db: Database, options: str) -> None:
    with pytest.raises(InvalidSyntax):
        db.sql(f"CREATE RULE a {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition WITH ({options})")


def test_what_waits_for_the_clock_is_detached(db: Database) -> None:
    with pytest.raises(InvalidRule):
        db.sql(f"CREATE RULE a ON EVERY INTERVAL 1 DAY {LOW} DO RAISE 'no'")


def test_rules_and_what_they_have_to_do_survive(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        db.sql(f"""
            CREATE TABLE stock (item INT PRIMARY KEY, qty INT); CREATE TABLE orders (item INT, qty INT);
            CREATE EVENT wake (who STRING);
            CREATE VIEW low AS SELECT item FROM stock WHERE qty < 10;
            CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition;
            CREATE RULE watch (i INT) WHEN SELECT item FROM stock WHERE item = i AND qty > 50
              DO INSERT INTO orders SELECT item, i FROM condition WITH (action = 'deferred');
            ACTIVATE RULE watch(2);
            INSERT INTO stock VALUES (1, 5)
        """)
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        assert states(db) == [("reorder", "waiting")]
        db.advance()
        db.sql("INSERT INTO stock VALUES (2, 60), (3, 60); SIGNAL wake VALUES ('x')")
        assert rows(db, "orders") == [(1, 50), (2, 2)]
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        assert states(db) == [("reorder", "done"), ("watch", "done")]
        assert rows(db, "wake") == []
    with tidings.open(tmp_path / "d", engine="duckdb", read_only=True) as reader:
        assert len(reader.query("SELECT * FROM tidings.rules")) == 2


def test_what_is_sent_is_heard(db: Database) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'buyers'")
    with db.deliveries.listen("buyers") as heard:
        db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
        db.deliveries.step()
        notice = heard.get(1)
        assert notice is not None
        assert notice.payload["data"]["rows"] == [{"item": 1}]
    (row,) = db.query("SELECT channel, target, state, firing FROM tidings.deliveries").rows()
    assert row == {"channel": "notify", "target": "buyers", "state": "delivered", "firing": 1}


def test_payloads_are_valid_json(db: Database) -> None:
    db.sql("""
        CREATE TABLE reading (x DOUBLE, d DECIMAL(5, 2), t TIMESTAMP, b BINARY, many ARRAY<DOUBLE>);
        CREATE RULE tell WHEN SELECT * FROM reading DO NOTIFY 'x'
    """)
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    with db.transaction() as tx:
        tx.insert("reading", [(float("inf"), Decimal("1.50"), at, b"\x01\xff", [float("nan"), -float("inf"), 0.5])])
    (entry,) = Outbox(db._parts.storage.rule_tables).entries()

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no JSON")

    (row,) = json.loads(entry.message.payload, parse_constant=refuse)["data"]["rows"]
    many = ["NaN", "-Infinity", 0.5]
    assert row == {"x": "Infinity", "d": "1.50", "t": "2026-01-02T03:04:05+00:00", "b": "01ff", "many": many}
    (shown,) = db.query("SELECT rows FROM tidings.firings").rows()
    assert json.loads(shown["rows"], parse_constant=refuse) == [row]


def test_a_thread_delivers(db: Database) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'buyers'")
    with db.deliveries.listen("buyers") as heard:
        db.deliveries.start()
        db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
        assert heard.get(30) is not None


def test_firings_are_kept_as_long_as_changes(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'buyers'; UPDATE stock SET qty = 5 WHERE item = 1")
    clock.advance(timedelta(days=6))
    db.sql("UPDATE stock SET qty = 5 WHERE item = 2")
    clock.advance(timedelta(days=2))
    db.advance()
    assert [f.id for f in db._parts.registry.store.firings()] == [2]


def test_backtest(db: Database) -> None:
    """What a rule would have fired for is what one fires for that was there."""
    db.sql(f"CREATE RULE there {LOW} DO INSERT INTO log SELECT 'low', item FROM condition")
    since = db.time
    for qty in (5, 4, 100, 3):
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    expected = [(f.time, f.rows.to_pylist()) for f in db._parts.registry.store.firings()]
    assert len(expected) == 2
    for rule in ("there", f"CREATE RULE proposed {LOW} DO CALL nobody(item)"):
        assert [(found.time, found.rows) for found in db.backtest(rule, since)] == expected
    assert db.backtest("there", expected[0][0])[0].time == expected[1][0]
    with pytest.raises(UnknownRule):
        db.backtest("nothing")
    assert len(fired(db)) == 2


def test_a_condition_that_fails_is_shown_and_goes_on_when_it_is_enabled(db: Database) -> None:
    db.sql("""
        CREATE TABLE words (w STRING);
        CREATE RULE numbers WHEN SELECT CAST(w AS INT) AS item FROM words
          DO INSERT INTO log SELECT 'number', item FROM condition WITH (condition = 'detached')
    """)
    db.sql("INSERT INTO words VALUES ('one')")
    db.advance()
    (rule,) = db.query("SELECT error FROM tidings.rules").rows()
    assert rule["error"].startswith("EngineFailed")
    db.sql("DELETE FROM words; ENABLE RULE numbers; INSERT INTO words VALUES ('2')")
    db.advance()
    assert db.query("SELECT error FROM tidings.rules").rows() == [{"error": None}]
    assert rows(db, "log") == [("number", 2)]
