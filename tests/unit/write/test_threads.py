"""Transactions of several threads: each sees its own changes, none holds up another for ever, all count."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

import tidings

SIZE = 100_000
THREADS = 4


def test_several_threads_update_by_key(tmp_path: Path) -> None:
    rows = pa.table({"k": pa.array(range(SIZE)), "x": pa.array([0] * SIZE, pa.int32())})
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, x INT CHECK (x >= 0))")
        db.load("t", rows)

        def work(number: int) -> int:
            rng = random.Random(number)
            for key in (THREADS * rng.randrange(SIZE // THREADS) + number for _ in range(12)):
                with db.transaction() as tx:
                    tx.sql(f"UPDATE t SET x = x + 1 WHERE k = {key}")
                    tx.delete("t", [(key,)])
                    tx.insert("t", [(key, 7)])
                    tx.sql(f"UPDATE t SET x = x + 1 WHERE k IN ({key}, {key + SIZE})")
                    assert tx.query(f"SELECT x FROM t WHERE k = {key}").rows() == [{"x": 8}]
            return len({c.row["k"] for c in db.changes("t").rows() if c.row["k"] % THREADS == number})

        with ThreadPoolExecutor(THREADS) as pool:
            changed = list(pool.map(work, range(THREADS)))
        assert db.query("SELECT count(*) AS n FROM t WHERE x = 8").rows() == [{"n": sum(changed)}]
