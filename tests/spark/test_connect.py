"""The same program over Spark Connect gives the same delta.

Connect and classic Spark cannot share a process, so the program runs in one of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import tidings
from tidings import Database, ManualClock

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import json
from pyspark.sql import SparkSession
import tidings
from tests.spark.test_connect import delta
spark = SparkSession.builder.remote("local[2]").getOrCreate()
with tidings.open(spark=spark, execution="spark", clock=tidings.ManualClock(1000)) as db:
    print("RESULT", json.dumps(delta(db)), flush=True)
spark.stop()
"""


def delta(db: Database) -> list[list[object]]:
    """Define, load, change; every change of a join view."""
    import pyarrow as pa

    db.sql("CREATE TABLE q (item BIGINT, qty INT); CREATE TABLE t (item BIGINT, lim INT)")
    db.sql("CREATE VIEW low AS SELECT q.item, upper('x') AS x FROM q JOIN t ON q.item = t.item WHERE qty < lim")
    db.load("t", pa.table({"item": pa.array([1, 2], pa.int64()), "lim": pa.array([5, 5], pa.int32())}))
    for rows in ([(1, 1), (2, 9)], [(2, 2)]):
        with db.transaction() as tx:
            tx.insert("q", rows)
    with db.transaction() as tx:
        tx.delete("q", [(1, 1)])
    return [[*c.row.values(), c.time, c.weight] for c in db.changes("low", per_commit=True).rows()]


def run() -> subprocess.CompletedProcess[str]:
    pytest.importorskip("pyspark.sql.connect.session", exc_type=ImportError)
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=180)


def test_connect_gives_the_same_delta() -> None:
    with tidings.open(engine="duckdb", clock=ManualClock(1000)) as db:
        expected = delta(db)
    assert expected == [[1, "X", 1000, 1], [2, "X", 1001, 1], [1, "X", 1002, -1]]
    ran = run()
    found = [line.removeprefix("RESULT ") for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert json.loads(found[0]) == expected
