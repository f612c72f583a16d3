"""Watch a small inventory: which items begin and cease to be low in stock, and when."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path

import tidings
from tidings import instant

HERE = Path(__file__).parent

Row = tuple[int, ...]

OPENING: dict[str, list[Row]] = {
    "quantity": [(1, 500), (2, 310)],
    "max_stock": [(1, 5000), (2, 7500)],
    "min_stock": [(1, 100), (2, 200)],
    "consume_freq": [(1, 20), (2, 30)],
    "supplies": [(1, 1), (2, 2)],
    "delivery_time": [(1, 1, 2), (2, 2, 3)],
}

# Each transaction is a list of (table, old row, new row).
DAY: list[list[tuple[str, Row, Row]]] = [
    [("quantity", (1, 500), (1, 120))],
    [("min_stock", (2, 200), (2, 250))],
    [("quantity", (1, 120), (1, 5000))],
    [("quantity", (2, 310), (2, 300)), ("delivery_time", (2, 2, 3), (2, 2, 1))],
    [("quantity", (1, 5000), (1, 139))],
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark")
    engine = parser.parse_args().engine

    # A clock moved by hand makes the output the same every time. Leave it out to get the time of day.
    clock = tidings.ManualClock(datetime(2026, 1, 5, 7, 0, tzinfo=UTC))
    with tidings.open(engine=engine, clock=clock) as db:
        db.sql((HERE / "schema.sql").read_text(encoding="utf-8"))
        db.sql((HERE / "views.sql").read_text(encoding="utf-8"))
        with db.transaction() as tx:
            for table, rows in OPENING.items():
                tx.insert(table, rows)
        start = db.time

        for updates in DAY:
            clock.advance(timedelta(hours=1))
            with db.transaction() as tx:
                for table, old, new in updates:
                    tx.update(table, [old], [new])

        for change in db.changes("low_stock", since=start, per_commit=True).rows():
            verb = "begins" if change.weight > 0 else "ceases"
            print(f"{instant(change.time):%H:%M}  item {change.row['item']} {verb} to be low")
        for row in db.query("to_order").rows():
            print(f"to order: {row['amount']} of item {row['item']}")


if __name__ == "__main__":
    main()
