"""What Spark refuses becomes a condition with a place; what fails at run time becomes one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import tidings
from tests.unit.errors.test_errors import check_readable
from tidings import Database
from tidings.errors import EngineFailed, InvalidExpression, TidingsError, UnknownFunction

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def db(spark: Any) -> Iterator[Database]:
    with tidings.open(spark=spark) as database:
        database.sql("CREATE TABLE t (a INT, b STRING, d DATE, arr ARRAY<INT>)")
        with database.transaction() as tx:
            tx.insert("t", [{"a": 0, "b": "x", "arr": [1]}, {"a": 2147483647, "b": "7", "arr": []}])
        yield database


def refused(db: Database, text: str, condition: type[TidingsError], capfd: pytest.CaptureFixture[str]) -> TidingsError:
    with pytest.raises(TidingsError) as caught:
        db.query(text)
    assert type(caught.value) is condition
    check_readable(caught.value)
    assert "org.apache.spark" not in str(caught.value)
    written = capfd.readouterr()
    assert "org.apache.spark" not in written.err + written.out
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column"), [("SELECT nosuch(a) FROM t", 1, 8), ("SELECT a,\n  nosuch(b) FROM t", 2, 3)]
)
def test_unknown_function(db: Database, text: str, line: int, column: int, capfd: pytest.CaptureFixture[str]) -> None:
    error = refused(db, text, UnknownFunction, capfd)
    assert error.place is not None
    assert (error.place.line, error.place.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT a FROM t WHERE a", 1, None),
        ("SELECT a FROM t WHERE upper(b)", 1, None),
        ("SELECT b + d FROM t", 1, 8),
        ("SELECT substring(a) FROM t", 1, None),
        ("SELECT date_add(d, 'x', 3) FROM t", 1, None),
        ("SELECT arr + 1 FROM t", 1, 8),
        ("SELECT a FROM t WHERE arr = 1", 1, 23),
        ("SELECT CAST(d AS ARRAY<INT>) FROM t", 1, None),
        ("SELECT a FROM t JOIN (SELECT arr AS x FROM t) u ON t.a = u.x", 1, 52),
        ("SELECT a FROM t UNION ALL SELECT arr FROM t", 1, None),
        ("SELECT array(1, d) FROM t", 1, 8),
    ],
)
def test_invalid_expression(
    db: Database, text: str, line: int, column: int | None, capfd: pytest.CaptureFixture[str]
) -> None:
    error = refused(db, text, InvalidExpression, capfd)
    assert error.place is not None
    assert error.place.line == line
    assert column is None or error.place.column == column
    assert error.parameters["reason"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT 1 / a AS x FROM t", "DIVIDE_BY_ZERO"),
        ("SELECT CAST(b AS INT) AS x FROM t", "CAST_INVALID_INPUT"),
        ("SELECT a + 1 AS x FROM t", "ARITHMETIC_OVERFLOW"),
        ("SELECT arr[3] AS x FROM t", "INVALID_ARRAY_INDEX"),
        ("SELECT a FROM t WHERE a = b", "CAST_INVALID_INPUT"),
        ("SELECT CASE WHEN a = 0 THEN raise_error('boom') ELSE 1 END AS x FROM t", "boom"),
    ],
)
def test_run_time_failure(db: Database, text: str, reason: str, capfd: pytest.CaptureFixture[str]) -> None:
    error = refused(db, text, EngineFailed, capfd)
    assert error.parameters["engine"] == "spark"
    assert reason in str(error.parameters["reason"])
    assert "\n" not in str(error.parameters["reason"])


def test_a_failing_delta(db: Database) -> None:
    with pytest.raises(EngineFailed) as caught:
        db.changes("SELECT 1 / a AS x FROM t")
    assert "DIVIDE_BY_ZERO" in str(caught.value.parameters["reason"])


def test_errors_of_the_users_own_queries_stay_sparks(spark: Any, db: Database) -> None:
    with pytest.raises(AnalysisException):
        spark.sql("SELECT nosuch(1)")
    assert len(db.query("SELECT a FROM t")) == 2


def test_the_database_still_works_afterwards(db: Database) -> None:
    with pytest.raises(EngineFailed):
        db.query("SELECT 1 / a AS x FROM t")
    assert len(db.query("SELECT a FROM t")) == 2
