"""What rules wait for: changes of tables, signals, and what is composed of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

import tidings
from tests.unit.rules.test_agenda import NOW, fired, rows
from tidings import Database, ManualClock
from tidings.errors import (
    DependentObjects,
    EmptySignal,
    InvalidRule,
    UnknownColumn,
    UnknownEvent,
    UnknownRelation,
    UnsupportedStatement,
)
from tidings.front.choices import Execution

SEEN = f"DO INSERT INTO log SELECT 'seen', item FROM condition {NOW}"


def test_kinds_of_changes(db: Database) -> None:
    for kind in ("INSERT INTO stock", "DELETE FROM stock", "UPDATE OF stock", "UPDATE OF stock(qty)"):
        name = kind.replace(" ", "_").replace("(", "_").replace(")", "").lower()
        db.sql(f"""
            CREATE RULE {name} ON {kind} WHEN SELECT coalesce(new.item, old.item) AS item FROM CHANGES(stock) {SEEN}
        """)
    for change, expected in (
        ("INSERT INTO stock VALUES (3, 1)", ["insert_into_stock"]),
        ("UPDATE stock SET qty = 2 WHERE item = 3", ["update_of_stock", "update_of_stock_qty"]),
        ("UPDATE stock SET qty = 2 WHERE item = 3", []),
        ("DELETE FROM stock WHERE item = 3", ["delete_from_stock"]),
    ):
        before = len(fired(db))
        db.sql(change)
        assert [name for name, _ in fired(db)[before:]] == expected


def test_changes_has_old_and_new_values(db: Database) -> None:
    db.sql(f"""
        CREATE RULE fell ON UPDATE OF stock(qty)
          WHEN SELECT new.item, old.qty, new.qty FROM CHANGES(stock) WHERE new.qty < old.qty / 2
          DO INSERT INTO log SELECT concat(old_qty, ' to ', qty), item FROM condition {NOW}
    """)
    db.sql("UPDATE stock SET qty = 60 WHERE item = 1")
    db.sql("UPDATE stock SET qty = 20")
    with db.transaction() as tx:
        tx.sql("UPDATE stock SET qty = 1")
        tx.sql("UPDATE stock SET qty = 20")
    assert rows(db, "log") == [("100 to 20", 2), ("60 to 20", 1)]


def test_changes_joined_with_tables(db: Database) -> None:
    db.sql(f"""
        CREATE RULE fell WHEN SELECT l.item FROM CHANGES(stock) c JOIN lim l ON l.item = new.item
          WHERE old.qty >= l.least AND new.qty < l.least {SEEN}
    """)
    db.sql("UPDATE lim SET least = least + 1")
    db.sql("UPDATE stock SET qty = 15")
    assert rows(db, "log") == [("seen", 2)]


def test_changes_of_a_view_by_its_key(db: Database) -> None:
    db.sql(f"""
        CREATE RULE moved WHEN SELECT coalesce(new.item, old.item) AS item, old.qty AS o, new.qty AS n
          FROM CHANGES(low, item)
          DO INSERT INTO log SELECT concat(coalesce(o, 0), ' to ', coalesce(n, 0)), item FROM condition {NOW}
    """)
    for qty in (5, 4, 50):
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    assert rows(db, "log") == [("0 to 5", 1), ("4 to 0", 1), ("5 to 4", 1)]


def test_changes_of_a_query(db: Database) -> None:
    db.sql(f"""
        CREATE RULE moved WHEN SELECT new.kind, old.n AS o, new.n AS n
          FROM CHANGES((SELECT item % 2 AS kind, count(*) AS n FROM stock WHERE qty > 0 GROUP BY item % 2), kind)
          DO INSERT INTO log SELECT concat(coalesce(o, 0), ' to ', n), kind FROM condition {NOW}
    """)
    db.sql("INSERT INTO stock VALUES (3, 1), (5, 1); UPDATE stock SET qty = 2 WHERE item = 2")
    db.sql("UPDATE stock SET qty = 0 WHERE item = 3")
    assert rows(db, "log") == [("1 to 3", 1), ("3 to 2", 1)]
    with pytest.raises(DependentObjects):
        db.sql("DROP TABLE stock")


@pytest.mark.parametrize("execution", ["auto", "spark"])
def test_changes_of_several_tables(execution: Execution) -> None:
    with tidings.open(engine="duckdb", execution=execution) as shop:
        shop.sql(f"""
            CREATE TABLE stock (item INT PRIMARY KEY, qty INT);
            CREATE TABLE lim (item INT PRIMARY KEY, least INT);
            CREATE TABLE log (what STRING, item INT);
            INSERT INTO stock VALUES (1, 100), (2, 100);
            INSERT INTO lim VALUES (1, 10), (2, 20);
            CREATE RULE both WHEN SELECT s.new.*, l.old.* FROM CHANGES(stock) s JOIN CHANGES(lim) l
                ON l.old.item = s.new.item
              DO INSERT INTO log SELECT concat(qty, ', was ', old_least), item FROM condition {NOW};
            CREATE RULE moved WHEN SELECT x.new.item FROM CHANGES(stock) x JOIN CHANGES(stock, qty) y
                ON y.new.item = x.old.item WHERE y.old.item IS NOT NULL {SEEN};
            CREATE RULE some_only WHEN SELECT x.new.n FROM CHANGES((SELECT count(*) AS n FROM lim)) x
                JOIN CHANGES((SELECT count(*) AS n FROM stock)) y ON x.new.n <> y.new.n
              DO INSERT INTO log SELECT 'limits', CAST(n AS INT) FROM condition {NOW}
        """)
        shop.sql("UPDATE stock SET qty = 7 WHERE item = 1; UPDATE lim SET least = 8 WHERE item = 1")
        assert rows(shop, "log") == []
        with shop.transaction() as tx:
            tx.sql("UPDATE stock SET qty = 5 WHERE item = 1")
            tx.sql("UPDATE lim SET least = least - 1")
        assert rows(shop, "log") == [("5, was 8", 1)]
        shop.sql("UPDATE stock SET qty = CASE item WHEN 1 THEN 100 ELSE 5 END")
        assert rows(shop, "log") == [("5, was 8", 1), ("seen", 1), ("seen", 2)]
        with shop.transaction() as tx:
            tx.sql("INSERT INTO stock VALUES (3, 1)")
            tx.sql("INSERT INTO lim VALUES (3, 1), (4, 1)")
        assert rows(shop, "log")[1] == ("limits", 4)


def test_signals_are_rows_for_one_transaction(db: Database) -> None:
    db.sql(f"""
        CREATE EVENT counted (item INT, found INT);
        CREATE RULE differs ON SIGNAL counted
          WHEN SELECT c.item FROM counted c JOIN stock s ON s.item = c.item WHERE c.found <> s.qty {SEEN}
    """)
    db.sql("SIGNAL counted VALUES (1, 100), (2, 99)")
    assert rows(db, "log") == [("seen", 2)]
    time = db.signal("counted", [{"item": 1, "found": 7}])
    assert rows(db, "log") == [("seen", 1), ("seen", 2)]
    assert rows(db, "counted") == []
    assert len(db.query("counted", as_of=time)) == 1
    with db.transaction() as tx:
        tx.signal("counted", [(1, 100)])
        assert len(tx.query("counted")) == 1
    db.sql("UPDATE stock SET qty = 3")
    assert len(rows(db, "log")) == 2


def test_empty_and_strange_signals(db: Database) -> None:
    db.sql("CREATE EVENT e (x INT)")
    with pytest.raises(EmptySignal):
        db.signal("e", [])
    with pytest.raises(EmptySignal):
        db.sql("SIGNAL e SELECT item FROM stock WHERE qty > 1000")
    with pytest.raises(UnknownEvent):
        db.sql("SIGNAL stock VALUES (1, 2)")
    with pytest.raises(UnsupportedStatement):
        db.sql("INSERT INTO e VALUES (1)")
    with pytest.raises(UnsupportedStatement):
        db.sql("DROP TABLE e")
    db.sql("DROP EVENT e; DROP EVENT IF EXISTS e")
    with pytest.raises(UnknownEvent):
        db.sql("SIGNAL e VALUES (1)")


def test_a_signal_asks_for_what_holds(db: Database) -> None:
    """The condition does not read the signal: all its rows are instances."""
    db.sql(f"CREATE EVENT check_now (x INT); CREATE RULE low ON SIGNAL check_now WHEN SELECT item FROM low {SEEN}")
    db.sql("UPDATE stock SET qty = 5")
    assert fired(db) == []
    db.sql("SIGNAL check_now VALUES (1)")
    db.sql("SIGNAL check_now VALUES (1)")
    assert fired(db) == [("low", 2), ("low", 2)]


def test_a_detached_condition_over_signals(db: Database) -> None:
    db.sql("""
        CREATE EVENT counted (item INT);
        CREATE RULE seen ON SIGNAL counted WHEN SELECT c.item, s.qty FROM counted c JOIN stock s ON s.item = c.item
          DO INSERT INTO log SELECT concat('had ', qty), item FROM condition WITH (condition = 'detached')
    """)
    db.sql("SIGNAL counted VALUES (1); UPDATE stock SET qty = 5; SIGNAL counted VALUES (1)")
    db.advance()
    assert rows(db, "log") == [("had 100", 1), ("had 5", 1)]


def test_and_then(db: Database) -> None:
    db.sql(f"""
        CREATE EVENT e (x INT);
        CREATE RULE both ON INSERT INTO stock AND INSERT INTO lim WHEN SELECT item FROM stock {SEEN};
        CREATE RULE after ON SIGNAL e THEN INSERT INTO stock WHEN SELECT item FROM stock {SEEN};
        CREATE RULE either ON DELETE FROM lim OR SIGNAL e WHEN SELECT item FROM stock {SEEN};
    """)
    db.sql("INSERT INTO stock VALUES (3, 1)")
    assert fired(db) == []
    with db.transaction() as tx:
        tx.sql("INSERT INTO stock VALUES (4, 1); INSERT INTO lim VALUES (4, 1)")
    assert [n for n, _ in fired(db)] == ["both"]
    with db.transaction() as tx:
        tx.sql("INSERT INTO stock VALUES (5, 1); SIGNAL e VALUES (1)")
    assert [n for n, _ in fired(db)] == ["both", "either"]
    with db.transaction() as tx:
        tx.sql("SIGNAL e VALUES (1); INSERT INTO stock VALUES (6, 1)")
    assert [n for n, _ in fired(db)] == ["both", "either", "after", "either"]


def test_within_an_interval(db: Database, clock: ManualClock) -> None:
    db.sql(f"""
        CREATE EVENT e (x INT);
        CREATE RULE soon ON SIGNAL e THEN INSERT INTO stock WITHIN INTERVAL 5 MINUTES
          WHEN SELECT item FROM stock {SEEN};
    """)
    db.sql("INSERT INTO stock VALUES (3, 1); SIGNAL e VALUES (1)")
    clock.advance(timedelta(minutes=4))
    db.sql("INSERT INTO stock VALUES (4, 1)")
    assert rows(db, "log") == [("seen", 4)]
    clock.advance(timedelta(minutes=4))
    db.sql("INSERT INTO stock VALUES (5, 1)")
    assert rows(db, "log") == [("seen", 4)]


def sent(db: Database, *statements: str) -> list[str]:
    """Which rules one transaction makes fire."""
    before = len(fired(db))
    with db.transaction() as tx:
        for statement in statements:
            tx.sql(statement)
    return [name for name, _ in fired(db)[before:]]


A, B, C = (f"SIGNAL {name} VALUES (1)" for name in "abc")
STOCK = "INSERT INTO log VALUES ('x', 1)"


@pytest.fixture
def nested(db: Database) -> Database:
    """Rules named by what they wait for; each asks for one row that is always there."""
    db.sql("CREATE EVENT a (x INT); CREATE EVENT b (x INT); CREATE EVENT c (x INT); CREATE TABLE one (item INT)")
    db.sql("INSERT INTO one VALUES (1)")
    a, b, c = "SIGNAL a", "SIGNAL b", "SIGNAL c"
    for name, event in (
        ("both_then", f"({a} AND {b}) THEN {c}"),
        ("then_both", f"{a} THEN ({b} AND {c})"),
        ("and_then", f"{a} AND ({b} THEN {c})"),
        ("in_order", f"{a} THEN ({b} THEN {c})"),
        ("either", f"({a} OR {b}) THEN {c}"),
    ):
        db.sql(f"CREATE RULE {name} ON {event} WHEN SELECT item FROM one DO CALL nothing() {NOW}")
    db.procedure("nothing")(lambda rows: None)
    return db


def test_nested_compositions(nested: Database) -> None:
    """A part that is composed takes from its first to its last part."""
    assert sent(nested, A, B, C) == ["both_then", "then_both", "and_then", "in_order", "either"]
    assert sent(nested, A, C, B) == ["then_both", "either"]
    assert sent(nested, B, A, C) == ["both_then", "and_then", "either"]
    assert sent(nested, B, C, A) == ["and_then", "either"]
    assert sent(nested, C, A, B) == []
    assert sent(nested, A, B) == []


def test_nested_within(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE EVENT a (x INT); CREATE EVENT b (x INT); CREATE EVENT c (x INT)")
    db.sql(f"""
        CREATE RULE far ON (SIGNAL a THEN SIGNAL b WITHIN INTERVAL 5 MINUTES) THEN SIGNAL c WITHIN INTERVAL 8 MINUTES
          WHEN SELECT x AS item FROM c {SEEN};
        CREATE RULE near ON (SIGNAL a AND SIGNAL b) THEN SIGNAL c WITHIN INTERVAL 8 MINUTES
          WHEN SELECT x AS item FROM c {SEEN};
        CREATE RULE late ON SIGNAL a THEN SIGNAL b THEN SIGNAL c WITHIN INTERVAL 8 MINUTES
          WHEN SELECT x AS item FROM c DO INSERT INTO log SELECT 'late', item FROM condition
          WITH (condition = 'detached')
    """)
    db.sql(A)
    clock.advance(timedelta(minutes=4))
    db.sql(B)
    clock.advance(timedelta(minutes=4))
    assert sent(db, C) == ["far"]
    clock.advance(timedelta(minutes=1))
    assert sent(db, A, B, C) == []  # a transaction is one moment
    clock.advance(timedelta(minutes=9))
    assert sent(db, C) == []
    assert sent(db, A, B) == []
    assert sent(db, C) == ["near"]
    db.advance()
    assert [name for name, _ in fired(db)].count("late") == 1


def test_immediate_rules_see_what_happened_before_in_the_transaction(db: Database) -> None:
    db.sql("CREATE EVENT a (x INT); CREATE EVENT b (x INT)")
    db.sql("""
        CREATE RULE soon ON SIGNAL a THEN SIGNAL b WHEN SELECT x AS item FROM b
          DO INSERT INTO log SELECT 'soon', item FROM condition WITH (condition = 'immediate', action = 'immediate')
    """)
    assert sent(db, B, A) == []
    assert sent(db, A, STOCK, B) == ["soon"]


def test_changes_after_commits(db: Database) -> None:
    """A detached condition sees the changes of each transaction alone, and what was there then."""
    db.sql("""
        CREATE RULE fell WHEN SELECT new.item, old.qty AS o, new.qty AS n, l.least FROM CHANGES(stock) c
          JOIN lim l ON l.item = new.item WHERE new.qty < old.qty
          DO INSERT INTO log SELECT concat(o, ' to ', n, ' of ', least), item FROM condition
          WITH (condition = 'detached')
    """)
    db.sql("UPDATE stock SET qty = 90 WHERE item = 1; UPDATE lim SET least = 15; UPDATE stock SET qty = 95")
    db.sql("UPDATE stock SET qty = 80 WHERE item = 1")
    since = 0
    db.advance()
    expected = [("100 to 90 of 10", 1), ("100 to 95 of 15", 2), ("95 to 80 of 15", 1)]
    assert rows(db, "log") == expected
    found = [row for one in db.backtest("fell", since) for row in one.rows]
    assert sorted((f"{r['o']} to {r['n']} of {r['least']}", r["item"]) for r in found) == expected
    db.advance()
    assert len(rows(db, "log")) == 3


def test_changes_that_a_signal_explains(db: Database) -> None:
    """The signal is not read by the condition: it says in which transactions changes count."""
    db.sql(f"""
        CREATE EVENT counted (who STRING);
        CREATE RULE corrected ON SIGNAL counted WHEN SELECT new.item FROM CHANGES(stock) {SEEN}
    """)
    db.sql("UPDATE stock SET qty = 1")
    assert sent(db, "UPDATE stock SET qty = 2 WHERE item = 2", "SIGNAL counted VALUES ('ann')") == ["corrected"]
    assert rows(db, "log") == [("seen", 2)]


def test_events_of_what_is_not_there(db: Database) -> None:
    for event, error in (
        ("INSERT INTO nothing", UnknownRelation),
        ("UPDATE OF low(colour)", UnknownColumn),
        ("UPDATE OF stock(colour)", UnknownColumn),
        ("SIGNAL stock", UnknownEvent),
        ("INSERT INTO stock THEN (INSERT INTO lim OR EVERY INTERVAL 1 DAY)", InvalidRule),
        ("INSERT INTO stock AS x THEN DELETE FROM stock AS X", InvalidRule),
    ):
        with pytest.raises(error):
            db.sql(f"CREATE RULE a ON {event} WHEN SELECT item FROM stock {SEEN}")


@pytest.mark.parametrize(
    "text",
    [
        "ON INSERT INTO stock THEN INSERT INTO lim WHEN SELECT item FROM stock DO NOTIFY 'x'"
        " WITH (condition = 'detached')",
        "ON SIGNAL e WHEN GONE SELECT item FROM stock DO NOTIFY 'x'",
        "ON SIGNAL e WHEN CHANGED SELECT item FROM stock DO NOTIFY 'x'",
        "WHEN SELECT new.item FROM CHANGES(stock) DO NOTIFY 'x' WITH (for = INTERVAL 1 MINUTE)",
    ],
)
def test_what_cannot_be_judged(db: Database, text: str) -> None:
    db.sql("CREATE EVENT e (x INT)")
    with pytest.raises(InvalidRule):
        db.sql(f"CREATE RULE a {text}")


def test_what_rules_need_stays(db: Database) -> None:
    db.sql(f"""
        CREATE EVENT e (x INT);
        CREATE RULE a ON SIGNAL e OR INSERT INTO lim WHEN SELECT item FROM stock {SEEN}
    """)
    for text in (
        "DROP EVENT e",
        "DROP TABLE lim CASCADE",
        "DROP TABLE log",
        "ALTER TABLE stock RENAME COLUMN qty TO n",
    ):
        with pytest.raises(DependentObjects):
            db.sql(text)
    db.sql("DROP RULE a; DROP EVENT e; DROP TABLE log")
