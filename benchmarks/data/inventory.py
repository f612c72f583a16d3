"""The factory inventory: items, suppliers and the condition "quantity below threshold", at any size."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

import tidings

SCHEMA = """
CREATE TABLE quantity (item BIGINT PRIMARY KEY, qty INT);
CREATE TABLE consume_freq (item BIGINT, freq INT);
CREATE TABLE delivery_time (item BIGINT, supplier BIGINT, days INT);
CREATE TABLE supplies (supplier BIGINT, item BIGINT);
CREATE TABLE min_stock (item BIGINT, amount INT);
CREATE VIEW threshold AS
  SELECT c.item, c.freq * d.days + m.amount AS threshold
  FROM consume_freq c JOIN delivery_time d ON d.item = c.item
  JOIN supplies s ON s.item = d.item AND s.supplier = d.supplier
  JOIN min_stock m ON m.item = c.item;
"""
TABLES = ("quantity", "consume_freq", "delivery_time", "supplies", "min_stock")
LOW_STOCK = (
    "SELECT q.item, q.qty, t.threshold FROM quantity q JOIN threshold t ON t.item = q.item WHERE q.qty < t.threshold"
)
RECOMPUTE = """
SELECT q.item, q.qty, c.freq * d.days + m.amount AS threshold
FROM quantity q JOIN consume_freq c ON c.item = q.item
JOIN delivery_time d ON d.item = c.item
JOIN supplies s ON s.item = d.item AND s.supplier = d.supplier
JOIN min_stock m ON m.item = c.item
WHERE q.qty < c.freq * d.days + m.amount
"""
"""The condition with its view written out, for an engine that knows the tables only."""


def rows(items: int) -> dict[str, pa.Table]:
    """Every table; about one item in twenty is low."""
    number = pa.array(range(items), pa.int64())
    supplier = _spread(number, 7, items // 100 + 1, pa.int64())
    freq, days, amount = (
        _spread(number, 3, 20, pa.int32()),
        _spread(number, 5, 10, pa.int32()),
        _spread(number, 11, 100, pa.int32()),
    )
    threshold = pc.add(pc.multiply(freq, days), amount)
    slack = pc.subtract(_spread(number, 13, 1000, pa.int32()), pa.scalar(50, pa.int32()))
    columns = {
        "quantity": {"item": number, "qty": pc.add(threshold, slack)},
        "consume_freq": {"item": number, "freq": freq},
        "delivery_time": {"item": number, "supplier": supplier, "days": days},
        "supplies": {"supplier": supplier, "item": number},
        "min_stock": {"item": number, "amount": amount},
    }
    return {table: pa.table(data) for table, data in columns.items()}


def load(db: tidings.Database, items: int) -> None:
    """Create the inventory and fill it."""
    db.sql(SCHEMA)
    db.sql(f"CREATE VIEW low_stock AS {LOW_STOCK}")
    for table, data in rows(items).items():
        db.load(table, data, sorted_by="item")


def _spread(number: pa.Array, step: int, below: int, type: pa.DataType) -> pa.Array:
    """Values below a bound, spread evenly and the same in every run."""
    scaled = pc.multiply(number, pa.scalar(step * 7919, pa.int64()))
    whole = pc.divide(scaled, pa.scalar(below, pa.int64()))
    return pc.subtract(scaled, pc.multiply(whole, pa.scalar(below, pa.int64()))).cast(type)


@dataclass(slots=True)
class Sales:
    """Transactions that each give one item another quantity, often one around its threshold."""

    db: tidings.Database
    items: int
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    def commit(self, transactions: int) -> int:
        """Commit some, one after the other; the time before the first."""
        since = self.db.time
        for _ in range(transactions):
            with self.db.transaction() as tx:
                tx.update("quantity", [{"item": self.rng.randrange(self.items), "qty": self.rng.randrange(300)}])
        return since
