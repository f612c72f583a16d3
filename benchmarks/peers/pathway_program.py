"""The program of Pathway's process; see :mod:`benchmarks.peers.pathway`.  It knows nothing of Tidings.

    python -I pathway_program.py folder

The folder has the tables in Parquet files.  The first line of output says that the condition has been computed from
them.  Then each batch is a line with its rows, answered when it is read, and a line to begin, answered with the number
of changes.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from queue import SimpleQueue

import pandas as pd
import pathway as pw

batches: SimpleQueue[Iterable[tuple[int, int]]] = SimpleQueue()
finished: SimpleQueue[int] = SimpleQueue()
changes: list[tuple[dict[str, int], int, bool]] = []


class Quantity(pw.Schema):
    item: int = pw.column_definition(primary_key=True)
    qty: int


class Sales(pw.io.python.ConnectorSubject):
    """Rows of quantity; one with the item of an earlier row takes its place."""

    def __init__(self) -> None:
        super().__init__(session_type="upsert")

    def run(self) -> None:
        while True:
            for item, qty in batches.get():
                self.next(item=item, qty=qty)
            self.commit()


def condition(folder: Path) -> pw.Table:
    freq, time, supplies, least = (
        pw.debug.table_from_parquet(folder / f"{name}.parquet")
        for name in ("consume_freq", "delivery_time", "supplies", "min_stock")
    )
    quantity = pw.io.python.read(Sales(), schema=Quantity, autocommit_duration_ms=None)
    timed = time.join(supplies, time.item == supplies.item, time.supplier == supplies.supplier)
    timed = timed.select(time.item, time.days)
    needed = freq.join(timed, freq.item == timed.item).select(freq.item, need=freq.freq * timed.days)
    threshold = needed.join(least, needed.item == least.item)
    threshold = threshold.select(needed.item, threshold=needed.need + least.amount)
    stock = quantity.join(threshold, quantity.item == threshold.item)
    return stock.select(quantity.item, quantity.qty, threshold.threshold).filter(pw.this.qty < pw.this.threshold)


def main(folder: Path) -> None:
    def keep(key: pw.Pointer, row: dict[str, int], time: int, is_addition: bool) -> None:
        changes.append((row, time, is_addition))

    def finish(time: int) -> None:
        finished.put(len(changes))
        changes.clear()

    pw.io.subscribe(condition(folder), on_change=keep, on_time_end=finish)
    running = {"monitoring_level": pw.MonitoringLevel.NONE, "default_logging": False}
    threading.Thread(target=pw.run, kwargs=running, daemon=True).start()
    first = pd.read_parquet(folder / "quantity.parquet")
    batches.put(zip(first["item"].tolist(), first["qty"].tolist(), strict=True))
    print(finished.get(), flush=True)
    for line in sys.stdin:
        batch = json.loads(line)
        print("ready", flush=True)
        sys.stdin.readline()
        batches.put(batch)
        print(finished.get(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
