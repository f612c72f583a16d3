"""An instance begins when its first row comes, and is gone when its last one goes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings import Database

INVENTORY = """
    CREATE TABLE quantity (item STRING, value INT); CREATE TABLE supplies (item STRING, supplier STRING);
    CREATE TABLE delivery_time (item STRING, supplier STRING, value INT);
    CREATE TABLE told (item STRING, what STRING);
    CREATE VIEW threshold AS SELECT d.item, 20 * d.value + 100 AS value
      FROM delivery_time d JOIN supplies s ON s.item = d.item AND s.supplier = d.supplier;
    INSERT INTO quantity VALUES ('item1', 5000); INSERT INTO supplies VALUES ('item1', 'sup1');
    INSERT INTO delivery_time VALUES ('item1', 'sup1', 2), ('item1', 'sup2', 2);
"""
LOW = "SELECT q.item FROM quantity q JOIN threshold t ON t.item = q.item WHERE q.value < t.value"
COUPLINGS = ["condition = 'deferred'", "condition = 'immediate'", "condition = 'detached'"]


@pytest.fixture
def db() -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(0)) as db:
        yield db


def told(db: Database) -> list[tuple[object, ...]]:
    db.advance()
    return sorted((tuple(row.values()) for row in db.query("told").rows()), key=repr)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_second_supplier_does_not_order_again(db: Database, coupling: str) -> None:
    db.sql(INVENTORY)
    for when, what in (("", "order"), ("GONE ", "gone")):
        action = f"INSERT INTO told SELECT item, '{what}' FROM condition"
        db.sql(f"CREATE RULE {what} WHEN {when}{LOW} DO {action} WITH ({coupling})")
    db.sql("UPDATE quantity SET value = 139; INSERT INTO supplies VALUES ('item1', 'sup2')")
    db.sql("DELETE FROM supplies WHERE supplier = 'sup1'")
    assert told(db) == [("item1", "order")]
    db.sql("DELETE FROM supplies")
    assert told(db) == [("item1", "gone"), ("item1", "order")]


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_key_begins_with_its_first_row_and_goes_with_its_last(db: Database, coupling: str) -> None:
    db.sql("CREATE TABLE t (id INT PRIMARY KEY, item INT, place STRING); CREATE TABLE told (x STRING, i INT, p STRING)")
    for when, what in (("", "begins"), ("GONE ", "gone"), ("CHANGED ", "changed")):
        mark = "change" if what == "changed" else f"'{what}'"
        action = f"INSERT INTO told SELECT {mark}, item, place FROM condition"
        db.sql(f"CREATE RULE {what} WHEN {when}SELECT item, place FROM t DO {action} WITH ({coupling}, key = item)")
    db.sql("INSERT INTO t VALUES (1, 7, 'b'), (2, 7, 'a')")
    assert told(db) == [("begins", 7, "a"), ("came", 7, "a")]
    db.sql("DELETE FROM told; INSERT INTO t VALUES (3, 7, 'c'); DELETE FROM t WHERE id = 1")
    assert told(db) == []
    db.sql("DELETE FROM t WHERE id = 2")
    assert told(db) == [("changed", 7, "c")]
    db.sql("DELETE FROM t; DELETE FROM told WHERE x = 'changed'")
    assert told(db) == [("gone", 7, "c"), ("went", 7, "c")]


def test_each_activation_has_instances_of_its_own(db: Database) -> None:
    db.sql("CREATE TABLE t (item INT, qty INT); CREATE TABLE told (item INT, least INT)")
    db.sql("""
        CREATE RULE low (least INT) WHEN SELECT item, qty FROM t WHERE qty < least
          DO INSERT INTO told SELECT item, least FROM condition WITH (action = 'deferred', key = item);
        ACTIVATE RULE low(10); ACTIVATE RULE low(20);
        INSERT INTO t VALUES (1, 15); INSERT INTO t VALUES (1, 5); INSERT INTO t VALUES (1, 4)
    """)
    assert told(db) == [(1, 10), (1, 20)]


def test_equal_signals_are_one_instance(db: Database) -> None:
    db.sql("""
        CREATE EVENT e (k INT); CREATE TABLE told (k INT);
        CREATE RULE r ON SIGNAL e WHEN SELECT k FROM e DO INSERT INTO told SELECT k FROM condition;
        SIGNAL e VALUES (1), (1), (2)
    """)
    assert told(db) == [(1,), (2,)]
