"""Fragmented tables on Spark, and a Spark DataFrame as a source of the algebra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings.algebra import relation
from tidings.algebra.changes.substitution import SubstitutionList
from tidings.algebra.expressions.evaluate import evaluate
from tidings.errors import NoFragment

pytestmark = pytest.mark.spark


def test_fragments_on_spark(spark: Any, tmp_path: Path) -> None:
    with tidings.open(tmp_path / "firm", spark=spark, execution="spark") as db:
        db.sql("""
            CREATE TABLE h (k INT, a INT, b STRING) FRAGMENTED BY
                JOIN (UNION (f1 (a) WHERE a < 3, f2 (a) WHERE a >= 3 OR a IS NULL), f3 (b)) ON k;
            INSERT INTO h VALUES (1, 1, 'x'), (2, NULL, 'y'), (3, 3, 'z')
        """)
        before = db.time
        db.sql("UPDATE h SET a = coalesce(a, 0) + 2 WHERE k < 3")
        assert sorted(row["k"] for row in db.query("f1")) == [2]
        assert sorted(row["k"] for row in db.query("f2")) == [1, 3]
        changes = sorted((row["k"], row["a"] or 0, weight) for row, _, weight in db.changes("h", since=before))
        assert changes == [(1, 1, -1), (1, 3, 1), (2, 0, -1), (2, 2, 1)]
        db.sql("CREATE TABLE u (x INT) FRAGMENTED BY UNION (u1 WHERE abs(x) < 2, u2 WHERE abs(x) > 5)")
        with pytest.raises(NoFragment):
            db.sql("INSERT INTO u VALUES (3)")


def test_a_frame_is_a_source_of_the_algebra(spark: Any) -> None:
    frame = spark.createDataFrame([("Ann", 30), ("Bob", 40)], ["name", "pay"])
    rich = relation("staff", data=frame).select("pay > 35").project("name")
    assert evaluate(rich, SubstitutionList({}, {}).old).rows == {("Bob",)}
