"""Risch and Sköld, "Monitoring Complex Rule Conditions" (AMOS): the rule monitor_items of section 1.4, as a rule.

The paper activates the rule over a populated database and says when it triggers: below 140 of item1, below 290 of
item2.  Here the quantities are those of a full stock, as in the tests of the same example without rules.
"""

from __future__ import annotations

import pytest

import tidings
from tests.papers.test_amos_inventory import INVENTORY, INVENTORY_SQL

Order = tuple[str, int]

RULE = """
    CREATE RULE monitor_items
      WHEN SELECT q.item FROM quantity q JOIN threshold t ON t.item = q.item WHERE q.value < t.value
      DO INSERT INTO orders
        SELECT c.item, m.value - q.value FROM condition c
        JOIN max_stock m ON m.item = c.item JOIN quantity q ON q.item = c.item
      WITH (action = 'deferred'{options})
"""


def stocked(db: tidings.Database, options: str = "") -> None:
    db.sql(INVENTORY_SQL)
    db.sql("CREATE TABLE orders (item STRING, amount INT)")
    with db.transaction() as tx:
        for name, rows in INVENTORY.items():
            tx.insert(name, sorted(rows))
    db.sql(RULE.format(options=options))


def orders(db: tidings.Database) -> list[Order]:
    return sorted((r["item"], r["amount"]) for r in db.query("orders").rows())


def set_quantity(db: tidings.Database, item: str, value: int) -> None:
    db.sql(f"UPDATE quantity SET value = {value} WHERE item = '{item}'")


def test_thresholds(db: tidings.Database) -> None:
    """The quantity falls to 140 and 290, and nothing happens; then below, and items are ordered to fill the stock."""
    stocked(db)
    set_quantity(db, "item1", 140)
    set_quantity(db, "item2", 290)
    assert orders(db) == []
    set_quantity(db, "item1", 139)
    set_quantity(db, "item2", 289)
    assert orders(db) == [("item1", 4861), ("item2", 7211)]


def test_an_item_is_ordered_once(db: tidings.Database) -> None:
    """Strict: it was low before.  A restock and a second shortage order again."""
    stocked(db)
    for value in (139, 100, 50):
        set_quantity(db, "item1", value)
    assert orders(db) == [("item1", 4861)]
    set_quantity(db, "item1", 5000)
    set_quantity(db, "item1", 20)
    assert orders(db) == [("item1", 4861), ("item1", 4980)]


def test_nervous_orders_again(db: tidings.Database) -> None:
    """The rule sometimes also triggers without the condition having been false."""
    stocked(db, ", semantics = 'nervous'")
    for value in (139, 100):
        set_quantity(db, "item1", value)
    assert orders(db) == [("item1", 4861), ("item1", 4900)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE consume_freq SET value = 3000 WHERE item = 'item1'",
        "UPDATE min_stock SET value = 6000 WHERE item = 'item1'",
        "UPDATE delivery_time SET value = 500 WHERE item = 'item1'",
    ],
)
def test_from_whichever_influent(db: tidings.Database, change: str) -> None:
    stocked(db)
    set_quantity(db, "item1", 4000)
    assert orders(db) == []
    db.sql(change)
    assert orders(db) == [("item1", 1000)]


def test_only_logical_events(db: tidings.Database) -> None:
    """An instance that becomes true and then false in a transaction is not triggered."""
    stocked(db)
    with db.transaction() as tx:
        tx.sql("UPDATE quantity SET value = 1 WHERE item = 'item1'")
        tx.sql("UPDATE quantity SET value = 1 WHERE item = 'item2'")
        tx.sql("UPDATE quantity SET value = 4999 WHERE item = 'item1'")
    assert orders(db) == [("item2", 7499)]


def test_net_changes_of_min_stock(db: tidings.Database) -> None:
    """The log of section 1.5: 100, 150 and 100 again is no change, though 150 would have triggered."""
    stocked(db)
    set_quantity(db, "item1", 160)
    db.sql("""
        CREATE TABLE log (item STRING, old INT, new INT);
        CREATE RULE changes_of_min_stock WHEN SELECT new.item, old.value AS old_value, new.value AS new_value
          FROM CHANGES(min_stock, item)
          DO INSERT INTO log SELECT item, old_value, new_value FROM condition WITH (action = 'deferred')
    """)
    with db.transaction() as tx:
        tx.sql("UPDATE min_stock SET value = 150 WHERE item = 'item1'")
        tx.sql("UPDATE min_stock SET value = 100 WHERE item = 'item1'")
    assert orders(db) == []
    assert db.query("log").rows() == []
    db.sql("UPDATE min_stock SET value = 150 WHERE item = 'item1'")
    assert orders(db) == [("item1", 4840)]
    assert db.query("log").rows() == [{"item": "item1", "old": 100, "new": 150}]


def test_no_longer_triggered_by_what_another_action_does(db: tidings.Database) -> None:
    """A rule with a higher priority restocks; the condition of monitor_items is false when it could be chosen."""
    stocked(db)
    db.sql("""
        CREATE RULE borrow WHEN SELECT item FROM quantity WHERE value < 10
          DO UPDATE quantity SET value = 1000 WHERE item IN (SELECT item FROM condition)
          WITH (action = 'deferred', priority = 1)
    """)
    set_quantity(db, "item1", 5)
    assert orders(db) == []
    set_quantity(db, "item1", 15)
    assert orders(db) == [("item1", 4985)]


def test_activated_for_some_items(db: tidings.Database) -> None:
    """Rules are activated and deactivated separately for different parameters."""
    stocked(db)
    db.sql("""
        DROP RULE monitor_items;
        CREATE RULE monitor_item (i STRING)
          WHEN SELECT q.item FROM quantity q JOIN threshold t ON t.item = q.item WHERE q.value < t.value AND q.item = i
          DO INSERT INTO orders SELECT item, 1 FROM condition WITH (action = 'deferred');
        ACTIVATE RULE monitor_item('item2')
    """)
    set_quantity(db, "item1", 0)
    set_quantity(db, "item2", 0)
    assert orders(db) == [("item2", 1)]
    db.sql("DEACTIVATE RULE monitor_item('item2'); ACTIVATE RULE monitor_item('item1')")
    for item in ("item1", "item2"):
        set_quantity(db, item, 5000)
        set_quantity(db, item, 0)
    assert orders(db) == [("item1", 1), ("item2", 1)]
