"""Windows of time are expressions, unnested starts, or windows over the rows of a group."""

from __future__ import annotations

import pytest

import tidings
from tests.unit.schema import bound, names, plan, types
from tidings.errors import InvalidExpression, UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Aggregate, Unnest, Window
from tidings.ir.traverse import walk


def test_windows_one_after_the_other_are_an_expression() -> None:
    found = bound(
        "SELECT window, count(*) AS n FROM VALUES (TIMESTAMP '2024-01-01') AS v (ts) GROUP BY window(ts, '1 day')"
    )
    assert types(found) == ["struct<start:timestamp,end:timestamp>", "bigint"]
    assert not any(isinstance(n, Unnest | Window) for n in walk(found))


def test_windows_that_overlap_are_unnested_and_no_part_of_a_star() -> None:
    query = "SELECT *, window(ts, '10 minutes', '4 minutes') FROM VALUES (TIMESTAMP '2024-01-01') AS v (ts)"
    found = bound(query)
    assert names(found) == ["ts", "window"]
    (unnest,) = (n for n in walk(found) if isinstance(n, Unnest))
    assert show(unnest.array) == "SEQUENCE(0, 2)"


def test_sessions_are_windows_over_the_moments_of_each_key() -> None:
    rows = "VALUES (1, TIMESTAMP '2024-01-01') AS v (k, ts)"
    found = bound(f"SELECT k, session_window, count(*) AS n FROM {rows} GROUP BY k, session_window(ts, '1 hour')")
    windows = [n for n in walk(found) if isinstance(n, Window)]
    assert [i.name for w in windows for i in w.items] == ["finish", "begin", "before", "reach"]
    assert sum(isinstance(n, Aggregate) for n in walk(found)) == 2


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT window(ts, '1 month') FROM e", InvalidExpression),
        ("SELECT window(ts, '5 parsecs') FROM e", InvalidExpression),
        ("SELECT window(ts, '') FROM e", InvalidExpression),
        ("SELECT window(ts, INTERVAL 5 MINUTES) FROM e", InvalidExpression),
        ("SELECT window(ts, '5 minutes', '6 minutes') FROM e", InvalidExpression),
        ("SELECT window(ts, '5 minutes', '5 minutes', '5 minutes') FROM e", InvalidExpression),
        ("SELECT window(ts, '-5 minutes') FROM e", InvalidExpression),
        ("SELECT window(ts) FROM e", InvalidExpression),
        ("SELECT session_window(ts) FROM e", InvalidExpression),
        ("SELECT window(ts, '5 minutes'), window(ts, '6 minutes') FROM e", UnsupportedConstruct),
        ("SELECT k, count(*) AS n FROM e GROUP BY ROLLUP (k, session_window(ts, '5 minutes'))", UnsupportedConstruct),
    ],
)
def test_what_is_no_window_is_refused(db: tidings.Database, query: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        db.query(query)


@pytest.fixture
def db() -> tidings.Database:
    opened = tidings.open(engine="duckdb")
    opened.sql("CREATE TABLE e (k INT, ts TIMESTAMP, window INT)")
    opened.sql("INSERT INTO e VALUES (1, TIMESTAMP '2024-01-01 00:07:30', 7)")
    return opened


@pytest.mark.parametrize(
    ("call", "start"),
    [
        ("window(ts, '5 minutes')", "00:05:00"),
        ("window(ts, '1 minute 30 seconds')", "00:07:30"),
        ("window(ts, 'interval 0.5 hours')", "00:00:00"),
        ("window(ts, 60000000)", "00:07:00"),
        ("window(ts, '5 minutes', '5 minutes', -60000000)", "00:04:00"),
        ("session_window(ts, '5 minutes')", "00:07:30"),
    ],
)
def test_durations(db: tidings.Database, call: str, start: str) -> None:
    (row,) = db.query(f"SELECT {call}.start AS s FROM e").rows()
    assert row["s"].strftime("%H:%M:%S") == start


def test_a_column_of_the_name_comes_first(db: tidings.Database) -> None:
    query = "SELECT max(window) AS m, window(ts, '5 minutes').start AS s FROM e GROUP BY window(ts, '5 minutes')"
    assert db.query(query).rows()[0]["m"] == 7


def test_the_last_instant_of_a_window(db: tidings.Database) -> None:
    inner = "SELECT window(ts, '5 minutes') AS w FROM e"
    (row,) = db.query(f"SELECT window_time(w) AS t FROM ({inner}) AS q").rows()
    assert row["t"].strftime("%H:%M:%S.%f") == "00:09:59.999999"


def test_a_plan_without_windows_is_as_it_was() -> None:
    assert bound("SELECT a FROM u") == plan("""
        project result [a int := u.a]
          scan u u [a int, c bigint, d decimal(10,2)]
        """)
