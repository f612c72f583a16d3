"""A shop: the example that has to give the same changes wherever its rows and its engine are."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import pyarrow as pa

from tidings import Database

ITEMS = 12_000
"""More rows than travel as a part of a plan."""

Told: TypeAlias = dict[str, list[list[Any]]]
"""Rows and changes, in order, as JSON has them."""

UNSOLD = """
    SELECT i.item, i.kind, s.qty FROM items i JOIN stock s ON s.item = i.item
    WHERE s.qty < i.least AND NOT EXISTS (SELECT 1 FROM sales x WHERE x.item = i.item)
"""
PER_KIND = """
    SELECT i.kind, count(*) AS sales, CAST(sum(x.amount) AS BIGINT) AS amount, max(x.price) AS price
    FROM sales x JOIN items i ON i.item = x.item GROUP BY i.kind
"""


def define(db: Database) -> None:
    """Tables, a view with NOT EXISTS, a stored grouping and a rule."""
    db.sql(f"""
        CREATE TABLE items (item BIGINT PRIMARY KEY, kind STRING, least INT);
        CREATE TABLE stock (item BIGINT PRIMARY KEY, qty INT);
        CREATE TABLE sales (item BIGINT, amount INT, price DOUBLE);
        CREATE TABLE orders (item BIGINT, qty INT);
        CREATE VIEW unsold AS {UNSOLD};
        CREATE MATERIALIZED VIEW per_kind AS {PER_KIND};
        CREATE RULE reorder WHEN SELECT item, qty FROM unsold
          DO INSERT INTO orders SELECT item, qty FROM condition WITH (action = 'deferred', key = item);
    """)


def load(db: Database) -> None:
    """The rows the shop begins with."""
    item = pa.array(range(ITEMS), pa.int64())
    kind = pa.array([f"kind {n % 7}" for n in range(ITEMS)])
    db.load("items", pa.table({"item": item, "kind": kind, "least": pa.array([10] * ITEMS, pa.int32())}))
    db.load("stock", pa.table({"item": item, "qty": pa.array([100] * ITEMS, pa.int32())}))


def trade(db: Database, since: int, until: int) -> None:
    """Some days of the shop, a transaction each: items run short, are sold, are restocked and go."""
    for day in range(since, until):
        with db.transaction() as tx:
            tx.update("stock", [(n, 100) for n in (day, day + 100)], [(day, 3), (day + 100, 5)])
            tx.insert("sales", [(day + 100, day, 2.5), (day + 50, 1, float("nan")), (day + 50, 1, -0.0)])
        with db.transaction() as tx:
            tx.delete("sales", [(day + 100, day, 2.5)])
            tx.update("stock", [(day, 3)], [(day, 50 + day)])


def tell(db: Database) -> Told:
    """Everything that the shop told, and what is in it."""
    db.advance()
    told = {
        f"changes of {view}": sorted(
            [repr(list(c.row.values())), c.time, c.weight] for c in db.changes(view, since=0, per_commit=True).rows()
        )
        for view in ("unsold", "per_kind", PER_KIND)
    }
    for name in ("unsold", "per_kind", "orders", "SELECT count(*) AS n, max(qty) AS most FROM stock"):
        told[name] = sorted([repr(list(row.values()))] for row in db.query(name).rows())
    told["firings"] = sorted([[f["rows"]] for f in db.query("SELECT rows FROM tidings.firings").rows()])
    return told


def check(told: Told) -> None:
    """The stored view says what its query says, and the changes add up to the rows."""
    assert told["changes of per_kind"] == told[f"changes of {PER_KIND}"] != []
    for view in ("unsold", "per_kind"):
        net: Counter[str] = Counter()
        for row, _, weight in told[f"changes of {view}"]:
            net[row] += weight
        assert sorted([row] for row in net.elements()) == told[view]
        assert min(net.values()) >= 0
    assert len(told["firings"]) == len(told["orders"]) > 0


def begin(db: Database) -> None:
    """The example up to its first wave."""
    define(db)
    load(db)
    trade(db, 0, 1)


def end(db: Database) -> Told:
    """The example from after its first wave on."""
    db.fold()
    trade(db, 1, 2)
    return tell(db)


def whole(db: Database) -> Told:
    """The example from its beginning to its end."""
    begin(db)
    db.advance()
    return end(db)
