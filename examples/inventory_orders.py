"""Order what runs short in a factory, once per shortage.

The tables and views are those of the folder ``inventory``; the rule beside them watches an answer that six tables have
a say in.  A procedure stands for the supplier: it is told of new orders after the commit that placed them.

    python examples/inventory_orders.py [--engine duckdb]
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import tidings

HERE = Path(__file__).parent / "inventory"

OPENING: dict[str, list[tuple[int, ...]]] = {
    "quantity": [(1, 500), (2, 800)],
    "max_stock": [(1, 5000), (2, 7500)],
    "min_stock": [(1, 100), (2, 200)],
    "consume_freq": [(1, 20), (2, 30)],
    "supplies": [(1, 1), (2, 2)],
    "delivery_time": [(1, 1, 2), (2, 2, 3)],
}

DAY = {
    "360 of item 1 leave": "UPDATE quantity SET quantity = 140 WHERE item = 1",
    "one more leaves": "UPDATE quantity SET quantity = 139 WHERE item = 1",
    "and a hundred": "UPDATE quantity SET quantity = 39 WHERE item = 1",
    "suppliers of item 2 need three weeks from now on": "UPDATE delivery_time SET delivery_time = 21 WHERE item = 2",
    "a delivery fills the store with item 1": "UPDATE quantity SET quantity = 5000 WHERE item = 1",
    "nearly all of item 1 leaves": "UPDATE quantity SET quantity = 20 WHERE item = 1",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark")
    engine = parser.parse_args().engine

    clock = tidings.ManualClock(datetime(2026, 1, 5, 8, 0, tzinfo=UTC))
    with tidings.open(engine=engine, clock=clock) as db:
        for name in ("schema.sql", "views.sql"):
            db.sql((HERE / name).read_text(encoding="utf-8"))
        with db.transaction() as tx:
            for table, rows in OPENING.items():
                tx.insert(table, rows)
        db.sql((HERE / "rules.sql").read_text(encoding="utf-8"))
        db.sql("CREATE RULE call_supplier WHEN SELECT item, amount FROM orders DO CALL supplier(item, amount)")

        @db.procedure("supplier", each=True)
        def supplier(order: dict[str, Any]) -> None:
            print(f"          supplier: {order['amount']} of item {order['item']}, very well")

        for said, change in DAY.items():
            clock.advance(timedelta(hours=1))
            print(f"{datetime.fromtimestamp(clock.now() / 1e6, UTC):%H:%M}     {said}")
            db.sql(change)
            db.advance()

        placed = sorted(db.query("orders").rows(), key=lambda row: row["placed"])
        print("orders:", ", ".join(f"{row['amount']} of item {row['item']} at {row['placed']:%H:%M}" for row in placed))
        fired = db.query("SELECT rule, count(*) AS times FROM tidings.firings GROUP BY rule").rows()
        print("fired: ", ", ".join(f"{row['rule']} {row['times']} times" for row in sorted(fired, key=str)))


if __name__ == "__main__":
    main()
