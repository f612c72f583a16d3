"""The factory inventory: items, suppliers and the condition "quantity below threshold", at any size."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

import tidings

SCHEMA = """
CREATE TABLE quantity (item BIGINT, qty INT);
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
LOW_STOCK = (
    "SELECT q.item, q.qty, t.threshold FROM quantity q JOIN threshold t ON t.item = q.item WHERE q.qty < t.threshold"
)


def load(db: tidings.Database, items: int) -> None:
    """Create the inventory and fill it; about one item in twenty is low."""
    db.sql(SCHEMA)
    db.sql(f"CREATE VIEW low_stock AS {LOW_STOCK}")
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
    for table, data in columns.items():
        db.load(table, pa.table(data), sorted_by="item")


def _spread(number: pa.Array, step: int, below: int, type: pa.DataType) -> pa.Array:
    """Values below a bound, spread evenly and the same in every run."""
    scaled = pc.multiply(number, pa.scalar(step * 7919, pa.int64()))
    whole = pc.divide(scaled, pa.scalar(below, pa.int64()))
    return pc.subtract(scaled, pc.multiply(whole, pa.scalar(below, pa.int64()))).cast(type)
