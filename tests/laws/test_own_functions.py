"""Functions of users: wherever they stand, they mean what SQL's own function of the same meaning does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.compute as pc
import pytest

import tidings
from tests.laws.constructs import COMMITS
from tests.laws.test_constructs import bag, replay
from tidings.ir.expression import TIME, WEIGHT

MEANINGS: dict[str, Callable[..., str]] = {
    "own_sum": lambda a, b: f"({a} + {b})",
    "own_half": lambda a: f"(CAST({a} AS DOUBLE) / 2)",
    "own_text": lambda s, a: f"(coalesce({s}, '-') || coalesce(CAST({a} AS STRING), '?'))",
    "own_even": lambda a: f"({a} % 2 = 0)",
}

QUERIES = """
SELECT a, own_sum(a, b) AS c FROM t
SELECT own_text(s, a) AS c, own_half(own_sum(a, b)) AS d FROM t WHERE own_even(b)
SELECT t.a, u.y FROM t JOIN u ON own_sum(t.a, 1) = u.x
SELECT t.a, u.y FROM t LEFT JOIN u ON own_sum(t.a, t.b) = u.y AND own_even(u.x)
SELECT own_even(a) AS e, count(*) AS n, sum(own_sum(a, b)) AS total FROM t GROUP BY own_even(a)
SELECT s, max(own_half(b)) AS top FROM t GROUP BY s HAVING max(own_sum(a, b)) > 2
SELECT DISTINCT own_text(s, b) AS c FROM t
SELECT own_sum(a, b) AS c FROM t UNION SELECT own_sum(x, y) FROM u
SELECT own_sum(a, b) AS c FROM t EXCEPT ALL SELECT y FROM u
SELECT a, sum(own_sum(a, b)) OVER (PARTITION BY own_even(a)) AS w FROM t
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE own_sum(u.x, 0) = t.a)
SELECT a FROM t WHERE own_sum(a, 0) NOT IN (SELECT own_sum(x, 1) FROM u WHERE x IS NOT NULL)
SELECT CASE WHEN own_even(a) THEN own_text('e', b) ELSE own_text(s, 0) END AS c FROM t
SELECT a, b, s FROM t ORDER BY own_sum(a, b), a, b, s LIMIT 3
SELECT a, (SELECT count(*) FROM u WHERE own_even(u.y) AND u.x = t.a) AS n FROM t
WITH q AS (SELECT own_sum(a, b) AS c, s FROM t) SELECT p.c, count(*) AS n FROM q p JOIN q r ON p.c = r.c GROUP BY p.c
""".strip().splitlines()


def define(db: tidings.Database) -> None:
    db.function("own_sum", takes=["int", "int"], returns="int")(lambda a, b: pc.add(a, b))
    db.function("own_half", takes=["int"], returns="double")(lambda a: pc.divide(a.cast("double"), 2.0))
    db.function("own_even", takes=["int"], returns="boolean")(lambda a: pc.equal(pc.bit_wise_and(a, 1), 0))

    @db.function("own_text", takes=["string", "int"], returns="string", each=True)
    def own_text(text: str | None, number: int | None) -> str:
        return ("-" if text is None else text) + ("?" if number is None else str(number))


def plain(query: str) -> str:
    """The query in SQL's own functions, from the inside out."""
    while any(name in query for name in MEANINGS):
        name = max(MEANINGS, key=lambda n: query.rfind(f"{n}("))
        start = query.rindex(f"{name}(")
        end = query.index(")", start) if "(" not in query[start + len(name) + 1 : query.index(")", start)] else -1
        if end < 0:
            raise AssertionError(query)
        arguments = [a.strip() for a in query[start + len(name) + 1 : end].split(",")]
        query = query[:start] + MEANINGS[name](*arguments).replace("(", "⟨").replace(")", "⟩") + query[end + 1 :]
    return query.replace("⟨", "(").replace("⟩", ")")


def check(db: tidings.Database, times: list[int], query: str) -> None:
    start, *later = times
    state = bag(db.query(query, as_of=start).to_arrow())
    delta = db.changes(query, start, per_commit=True, strict=True).to_arrow()
    changed: dict[int, Counter[Any]] = {}
    rows = delta.drop_columns([TIME, WEIGHT])
    for number, (time, weight) in enumerate(zip(delta[TIME].to_pylist(), delta[WEIGHT].to_pylist(), strict=True)):
        (key,) = bag(rows.slice(number, 1))
        changed.setdefault(time, Counter())[key] += weight
    for at in later:
        for time in [t for t in changed if t <= at]:
            for key, weight in changed.pop(time).items():
                state[key] += weight
        expected = bag(db.query(plain(query), as_of=at).to_arrow())
        assert +state == expected, f"at {at}"


@pytest.fixture(scope="module")
def past() -> Iterator[tuple[tidings.Database, list[int]]]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1000)) as db:
        define(db)
        yield db, replay(db)


@pytest.mark.parametrize("query", QUERIES)
def test_delta_is_that_of_sql_s_own_functions(past: tuple[tidings.Database, list[int]], query: str) -> None:
    check(*past, query)


@pytest.fixture(scope="module")
def past_on_spark(spark: Any) -> Iterator[tuple[tidings.Database, list[int]]]:
    with tidings.open(engine="spark", spark=spark, clock=tidings.ManualClock(1000), execution="auto") as db:
        define(db)
        yield db, replay(db)


@pytest.mark.spark
@pytest.mark.parametrize("query", QUERIES[:6])
def test_the_same_on_spark(past_on_spark: tuple[tidings.Database, list[int]], query: str) -> None:
    db, times = past_on_spark
    check(db, [times[0], times[-2], times[-1]], query)


def test_histories_change_all_tables() -> None:
    assert {table for commit in COMMITS for table, _, _ in commit} >= {"t", "u"}
