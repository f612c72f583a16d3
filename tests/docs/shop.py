"""A shop of eight views and four rules, as a new user would write it from the documentation, and one day of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidings
from tidings import Database

OPENED = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)

SCHEMA = """
CREATE TABLE product (
  sku INT PRIMARY KEY, name VARCHAR(20) NOT NULL, kind STRING, price DECIMAL(8, 2) CHECK (price > 0)
);
CREATE TABLE stock (sku INT PRIMARY KEY, qty INT CHECK (qty >= 0), least INT DEFAULT 5);
CREATE TABLE customer (id INT PRIMARY KEY, name STRING NOT NULL, city STRING);
CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, placed TIMESTAMP, due TIMESTAMP);
CREATE TABLE line (order_id INT, sku INT, qty INT, PRIMARY KEY (order_id, sku));
CREATE TABLE payment (order_id INT, amount DECIMAL(10, 2), at TIMESTAMP);
CREATE TABLE reorder (sku INT, qty INT, at TIMESTAMP);
"""

VIEWS = """
CREATE VIEW order_value AS
  SELECT o.id, o.customer, sum(l.qty * p.price) AS value
  FROM orders o JOIN line l ON l.order_id = o.id JOIN product p ON p.sku = l.sku GROUP BY o.id, o.customer;
CREATE VIEW paid AS SELECT order_id, sum(amount) AS amount FROM payment GROUP BY order_id;
CREATE VIEW open_order AS
  SELECT v.id, v.customer, v.value - coalesce(p.amount, 0) AS owed
  FROM order_value v LEFT JOIN paid p ON p.order_id = v.id WHERE v.value > coalesce(p.amount, 0);
CREATE VIEW overdue AS
  SELECT o.id, c.name FROM open_order w JOIN orders o ON o.id = w.id JOIN customer c ON c.id = o.customer
  WHERE o.due < now();
CREATE MATERIALIZED VIEW spend AS
  SELECT c.id, c.name, count(*) AS orders, sum(v.value) AS value
  FROM customer c JOIN order_value v ON v.customer = c.id GROUP BY c.id, c.name;
CREATE VIEW low_stock AS
  SELECT s.sku, p.name, s.qty, s.least FROM stock s JOIN product p ON p.sku = s.sku WHERE s.qty < s.least;
CREATE VIEW best_of_kind AS
  SELECT kind, sku, sold FROM (
    SELECT p.kind, p.sku, sum(l.qty) AS sold,
           row_number() OVER (PARTITION BY p.kind ORDER BY sum(l.qty) DESC, p.sku) AS place
    FROM product p JOIN line l ON l.sku = p.sku GROUP BY p.kind, p.sku
  ) WHERE place = 1;
CREATE MATERIALIZED VIEW idle AS
  SELECT c.name FROM customer c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id);
"""

RULES = """
CREATE RULE restock WHEN SELECT sku, least, qty FROM low_stock
  DO INSERT INTO reorder SELECT sku, 3 * least - qty, now() FROM condition WITH (action = 'deferred', key = sku);
CREATE RULE remind WHEN SELECT id, name FROM overdue DO CALL remind(id, name);
CREATE RULE vip WHEN SELECT id, name FROM spend WHERE value >= 100 DO NOTIFY 'sales';
CREATE RULE no_credit WHEN SELECT customer FROM open_order GROUP BY customer HAVING sum(owed) > 500
  DO RAISE 'this customer owes too much';
"""

NAMES = ("order_value", "paid", "open_order", "overdue", "spend", "low_stock", "best_of_kind", "idle")


@dataclass(slots=True)
class Shop:
    """An open shop: what its rules said, and what its readers heard."""

    db: Database
    clock: tidings.ManualClock
    reminded: list[str] = field(default_factory=list)
    rows: dict[str, Counter[str]] = field(default_factory=dict)
    """The rows of each view, kept by its changes alone."""
    position: int = 0

    def hour(self) -> None:
        """An hour passes; rules act, and readers hear of it."""
        self.clock.advance(timedelta(hours=1))
        self.db.advance()

    def look(self) -> None:
        """Every view: its rows are what readers hold, and what its text says."""
        for name in NAMES:
            held = self.rows.setdefault(name, Counter())
            for change in self.db.changes(name, since=self.position):
                held[str(change.row)] += change.weight
            assert +held == Counter(map(str, self.db.query(name).rows())), name
            assert min(held.values(), default=0) >= 0, name
        self.position = max(self.db.time, self.clock.now())


def build(db: Database, clock: tidings.ManualClock, folder: Path) -> Shop:
    """Declare the shop and give it its first rows, in the forms that people have them in."""
    db.sql(SCHEMA)
    db.load("product", [(1, "bolt", "metal", 0.1), (2, "nut", "metal", 0.05), (3, "plank", "wood", Decimal("12.50"))])
    pq.write_table(pa.table({"sku": [1, 2, 3], "qty": [500, 4, 40]}), folder / "stock.parquet")
    db.load("stock", folder / "stock.parquet")
    (folder / "customer.csv").write_text("id,name,city\n1,Ann,Ulm\n2,Bob,\n3,Cy,Bonn\n", encoding="utf-8")
    db.sql(f"COPY customer FROM '{folder / 'customer.csv'}'")
    assert db.time >= clock.now()
    db.sql(VIEWS)
    shop = Shop(db, clock, position=db.time)
    serve(shop)
    db.sql(RULES)
    for name in NAMES:
        shop.rows[name] = Counter(map(str, db.query(name).rows()))
    return shop


def serve(shop: Shop) -> None:
    """Register what rules call; done anew by every process."""

    @shop.db.procedure("remind", each=True)
    def remind(row: dict[str, Any]) -> None:
        shop.reminded.append(f"{row['name']} {row['id']}")


def morning(shop: Shop) -> None:
    """Orders come in; a product runs short, and is ordered once."""
    db, due = shop.db, OPENED + timedelta(hours=5)
    with db.transaction() as tx:
        tx.insert("orders", [{"id": 10, "customer": 1, "placed": OPENED, "due": due}])
        tx.insert("line", [(10, 1, 100), (10, 3, 9)])
        tx.sql("UPDATE stock SET qty = qty - 9 WHERE sku = 3")
    assert (db.query("order_value").rows(), db.query("overdue").rows()) == (
        [{"id": 10, "customer": 1, "value": Decimal("122.50")}],
        [],
    )
    shop.look()
    shop.hour()
    db.sql("UPDATE stock SET qty = 3 WHERE sku = 3", None)
    assert db.query("SELECT sku, qty FROM reorder ORDER BY sku").rows() == [{"sku": 3, "qty": 12}]
    db.sql("UPDATE stock SET qty = 2 WHERE sku = 3")
    assert len(db.query("reorder")) == 1, "it was short before"
    with db.transaction() as tx:
        tx.upsert("stock", [{"sku": 3, "qty": 50, "least": 5}, {"sku": 2, "qty": 90, "least": 5}])
    shop.hour()
    shop.look()
    assert len(db.query("low_stock")) == 0


def noon(shop: Shop) -> None:
    """Somebody owes too much and is refused; the others go on."""
    db = shop.db
    tx = db.transaction()
    tx.insert("orders", [{"id": 11, "customer": 2, "placed": OPENED, "due": OPENED + timedelta(days=2)}])
    tx.insert("line", [(11, 3, 45)])
    with pytest.raises(tidings.errors.RuleRaised) as refused:
        tx.commit()
    assert "owes too much" in refused.value.message
    assert len(db.query("orders")) == 1
    db.sql(
        "BEGIN; INSERT INTO orders VALUES (12, 3, :now, NULL); INSERT INTO line VALUES (12, 2, 10); COMMIT",
        {"now": OPENED},
    )
    assert sorted(row["name"] for row in db.query("idle")) == ["Bob"]
    shop.hour()
    shop.look()
    assert {row["kind"]: row["sku"] for row in db.query("best_of_kind")} == {"metal": 1, "wood": 3}


def afternoon(shop: Shop) -> None:
    """An order falls due without being paid, and is paid after the reminder."""
    db = shop.db
    assert shop.reminded == []
    for _ in range(3):
        shop.hour()
    assert shop.reminded == ["Ann 10"]
    shop.look()
    began = db.time
    db.sql("INSERT INTO payment VALUES (10, 122.50, now())")
    assert [(c.row, c.weight) for c in db.changes("overdue", since=began)] == [({"id": 10, "name": "Ann"}, -1)]
    shop.hour()
    shop.look()
    assert shop.reminded == ["Ann 10"]
    assert [row["id"] for row in db.query("open_order")] == [12]
    assert [row["id"] for row in db.query("open_order", as_of=began)] != [12]


def evening(shop: Shop) -> None:
    """The till is opened anew: everything is there, and goes on from where it was."""
    assert [row["name"] for row in shop.db.sql("SHOW RULES") or ()] == ["no_credit", "remind", "restock", "vip"]
    assert Counter(row["rule"] for row in shop.db.query("tidings.firings")) == {"restock": 1, "remind": 1, "vip": 1}
    shop.db.sql("DELETE FROM line WHERE order_id = 10; DELETE FROM orders WHERE id = 10")
    shop.look()
    assert sorted(row["name"] for row in shop.db.query("idle")) == ["Ann", "Bob"]
    shop.hour()
    assert shop.db.check() == []
