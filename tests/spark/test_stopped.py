"""A Spark session that is stopped underneath a database: one clear error, and the database can be closed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

SCRIPT = """
    import sys
    from decimal import Decimal
    from pyspark.sql import SparkSession
    import tidings
    from tidings.errors import SparkStopped

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    in_folder = tidings.open(sys.argv[1], spark=spark, execution="spark")
    in_memory = tidings.open(spark=spark, execution="spark")
    for db in (in_folder, in_memory):
        db.sql("CREATE TABLE t (a INT PRIMARY KEY, b STRING); INSERT INTO t VALUES (1, 'x')")
        db.load("t", [{"a": n, "b": "y"} for n in range(2, 9)])
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b")
        assert len(db.query("SELECT * FROM v")) == 2
    spark.stop()
    questions = ["SELECT b FROM t WHERE a = 2", "INSERT INTO t SELECT a + 100, b FROM t",
                 "CREATE MATERIALIZED VIEW x AS SELECT b FROM t"]
    for db in (in_folder, in_memory):
        for question in questions:
            try:
                db.sql(question)
            except SparkStopped as stopped:
                assert "was stopped" in str(stopped), stopped
            else:
                raise AssertionError(question)
        db.close()
        db.close()
    try:
        tidings.open(sys.argv[1], spark=spark, execution="spark").sql("SELECT upper(b) AS u FROM t")
    except SparkStopped:
        print("all is said")
"""


def test_one_error_says_so(tmp_path: Path) -> None:
    script = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path / "db")]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout.strip() == "all is said", done.stderr[-3000:]
    assert "Traceback" not in done.stderr
