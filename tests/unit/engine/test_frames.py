"""Answers as frames of other libraries."""

from __future__ import annotations

import sys
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

import tidings
from tidings import Database
from tidings.engine import frames
from tidings.errors import MissingPackage, SessionNeeded

ROWS = pa.table({"a": pa.array([1, 2], pa.int64())})


class Session:
    """Stands for a Spark session."""

    def createDataFrame(self, rows: pa.Table) -> Any:
        return "frame", rows


def test_pandas_and_polars() -> None:
    assert frames.to_pandas(ROWS).equals(pandas.DataFrame({"a": [1, 2]}))
    assert frames.to_polars(ROWS).equals(polars.DataFrame({"a": [1, 2]}))


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_package_that_is_missing_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage) as refused:
        getattr(frames, f"to_{package}")(ROWS)
    assert refused.value.parameters == {"package": package}
    assert refused.value.hint == f"pip install {package}"


def test_a_given_session_makes_the_frame() -> None:
    assert frames.to_spark(ROWS, None, Session()) == ("frame", ROWS)


def test_without_a_session_there_is_no_spark_frame(db: Database) -> None:
    db.sql("CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (1)")
    with pytest.raises(SessionNeeded) as refused:
        db.query("t").to_spark()
    assert refused.value.parameters == {"engine": "duckdb"}
    assert db.query("t").to_spark(Session())[1].to_pylist() == [{"a": 1}]
    assert db.changes("t").to_spark(Session())[1].num_rows == 1


@pytest.mark.spark
def test_the_session_of_the_database(spark: Any) -> None:
    with tidings.open(engine="spark", spark=spark) as db:
        db.sql("CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (1)")
        frame = db.query("t").to_spark()
        assert [row.a for row in frame.collect()] == [1]
        assert frame.sparkSession is spark


@pytest.mark.spark
def test_empty_chunks_are_not_the_end_of_a_table(spark: Any) -> None:
    chunked = pa.concat_tables([ROWS, ROWS.slice(0, 0), ROWS])
    assert [row.a for row in frames.to_spark(chunked, None, spark).collect()] == [1, 2, 1, 2]
    with tidings.open(engine="spark", spark=spark) as db:
        db.sql("CREATE TABLE t (a BIGINT)")
        db.load("t", chunked)
        db.sql("INSERT INTO t VALUES (3)")
        assert sorted(row["a"] for row in db.query("t").rows()) == [1, 1, 2, 2, 3]
