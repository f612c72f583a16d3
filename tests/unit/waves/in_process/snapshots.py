"""A table whose base is a snapshot in a folder: sales of parts, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

import tidings
from tidings import Database

ROWS = 1_000


@contextmanager
def shop(folder: Path) -> Iterator[Database]:
    clock = tidings.ManualClock(1)
    with tidings.open(folder, engine="duckdb", execution="auto", clock=clock, retention=None) as db:
        db.sql("CREATE TABLE sales (sale BIGINT PRIMARY KEY, part BIGINT, amount INT); CREATE TABLE memory (x INT)")
        numbers = pa.array(range(ROWS), pa.int64())
        parts = pa.array([n * 7 % 100 if n % 10 else None for n in range(ROWS)], pa.int64())
        amounts = pa.repeat(pa.scalar(2, pa.int32()), ROWS)
        db.load("sales", pa.table({"sale": numbers, "part": parts, "amount": amounts}))
        yield db
