"""Floating aggregates give the same digits however often and in whatever order a group is evaluated.

So what ``changes`` reports fits what ``query`` answers before and after, to the last bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from random import Random
from statistics import pstdev, variance
from typing import Any

import pytest

import tidings
from tidings.errors import SparkNeeded

ROWS = 4_000
VIEWS = {
    "groups": "SELECT k, SUM(d) AS s, AVG(d) AS m, AVG(b) AS w FROM t GROUP BY k",
    "spread": "SELECT k, STDDEV(d) AS s, STDDEV_POP(d) AS p, VARIANCE(d) AS v, VAR_POP(d) AS q FROM t GROUP BY k",
    "filtered": "SELECT k, SUM(d) FILTER (WHERE d < 1000) AS s, SUM(DISTINCT ROUND(d, 1)) AS u FROM t GROUP BY k",
    "total": "SELECT SUM(d) AS s, AVG(CAST(d AS FLOAT)) AS m FROM t",
    "pairs": "SELECT k, CORR(d, b) AS c, COVAR_SAMP(d, b) AS v, REGR_SLOPE(b, d) AS s FROM t GROUP BY k",
    "powers": "SELECT k, SKEWNESS(d) AS s, KURTOSIS(d) AS u FROM t GROUP BY k",
    "nested": "SELECT DISTINCT s FROM (SELECT k, SUM(d) AS s FROM t GROUP BY k) WHERE s NOT IN (SELECT d FROM t)",
    "pairs over windows": "SELECT DISTINCT k, CORR(d, b) OVER (PARTITION BY k) AS c, "
    "REGR_SLOPE(b, d) OVER (PARTITION BY k) AS s, COVAR_POP(d, b) OVER (PARTITION BY k) AS v FROM t",
    "window": "SELECT DISTINCT k, SUM(d) OVER (PARTITION BY k) AS s, STDDEV(d) OVER (PARTITION BY k) AS p FROM t",
}
SPARK_ALONE = {"pairs over windows"}
"""What DuckDB refuses."""


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])])
def db(request: pytest.FixtureRequest) -> Iterator[tidings.Database]:
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    with tidings.open(engine=request.param, spark=session, execution="spark", strategy="differential") as opened:
        opened.sql("CREATE TABLE t (k INT, d DOUBLE, b BIGINT)")
        yield opened


def some_rows(rng: Random, number: int) -> list[tuple[int, float | None, int]]:
    """Numbers of very unlike sizes, so that the order of addition shows."""
    return [
        (
            rng.randrange(3),
            None if rng.random() < 0.02 else rng.gauss(0, 1) * 10 ** rng.randrange(9),
            rng.getrandbits(62),
        )
        for _ in range(number)
    ]


def bag(db: tidings.Database, query: str) -> Counter[Any]:
    return Counter(tuple(r.values()) for r in db.query(query).rows())


@pytest.mark.parametrize("view", VIEWS)
def test_digits_do_not_depend_on_the_order_of_rows(db: tidings.Database, view: str) -> None:
    if view in SPARK_ALONE and db._parts.backend.name == "duckdb":
        with pytest.raises(SparkNeeded):
            db.query(VIEWS[view])
        return
    rng = Random(view)
    held = some_rows(rng, ROWS)
    with db.transaction() as tx:
        tx.insert("t", held)
    before = bag(db, VIEWS[view])
    for _ in range(3):
        since = db.time
        with db.transaction() as tx:
            gone = [held.pop(rng.randrange(len(held))) for _ in range(2)]
            tx.delete("t", gone)
            come = some_rows(rng, 2)
            tx.insert("t", come)
            held += come
        after = bag(db, VIEWS[view])
        for row, _, weight in db.changes(VIEWS[view], since).rows():
            before[tuple(row.values())] += weight
        assert +before == after
        assert not -before
        before = after


def test_the_numbers_are_right(db: tidings.Database) -> None:
    held = [(0, d, b) for _, d, b in some_rows(Random(1), 300)]
    with db.transaction() as tx:
        tx.insert("t", held)
    values = [d for _, d, _ in held if d is not None]
    ((_, total, mean, whole),) = bag(db, VIEWS["groups"])
    assert math.isclose(total, math.fsum(values), rel_tol=1e-9)
    assert math.isclose(mean, math.fsum(values) / len(values), rel_tol=1e-9)
    assert math.isclose(whole, sum(b for _, _, b in held) / len(held), rel_tol=1e-9)
    ((_, _, deviation, spread, _),) = bag(db, VIEWS["spread"])
    assert math.isclose(deviation, pstdev(values), rel_tol=1e-9)
    assert math.isclose(spread, variance(values), rel_tol=1e-9)


def test_few_or_no_numbers(db: tidings.Database) -> None:
    with db.transaction() as tx:
        tx.insert("t", [(1, None, 1), (2, 5.0, 1)])
    assert bag(db, "SELECT k, SUM(d), AVG(d), STDDEV(d), VAR_POP(d) FROM t GROUP BY k") == Counter(
        [(1, None, None, None, None), (2, 5.0, 5.0, None, 0.0)]
    )
