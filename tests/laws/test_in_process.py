"""The law of execution: a wave that looks its rows up and finishes in this process says what a wave of the engine says.

On DuckDB both engines are the same, so every program may run so, whatever it computes; on Spark those may on whose
expressions the engines agree, and enough of them do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tests.laws.replay import replayed
from tests.laws.seeds import chunks
from tests.laws.test_keyed_operators import check, recomputed
from tidings.engine.agreed.plan import Disagreement, agreed_plan
from tidings.engine.recursion.fixpoint import has_fixpoint
from tidings.ir.relation import Relation
from tidings.store.relation import row_groups
from tidings.waves.in_process import runner as in_process
from tidings.waves.in_process import small_steps, snapshot_reader


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every program be one on which the engines agree, but for recursions, which go round by round."""

    def trusted(plan: Relation) -> Relation | Disagreement:
        return agreed_plan(plan) if has_fixpoint(plan) else plan

    monkeypatch.setattr(in_process, "agreed_plan", trusted)


QUERIES = {(small_steps, "INTERPRETED_LIMIT"): -1}
FINISHES = {
    "interpreted": {(small_steps, "INTERPRETED_LIMIT"): 100_000},
    "lists": QUERIES,
    "tables": QUERIES | {(small_steps, "LISTED_LIMIT"): -1},
    "large tables": QUERIES | {(small_steps, "LISTED_LIMIT"): -1, (small_steps, "UNORDERED_LIMIT"): -1},
    "planned each time": {(small_steps, "SMALL_LIMIT"): -1},
}
"""Ways to finish a step, and the limits at which each is the only one."""


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize("seeds", chunks(60, quick=3, size=10))
def test_waves_in_process_are_right(seeds: range, finish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for (module, name), value in FINISHES[finish].items():
        monkeypatch.setattr(module, name, value)
    for seed in seeds:
        it, answers = recomputed(seed)
        with replayed(it, execution="auto", strategy="differential") as db:
            for view in it.views:
                check(it, db, view.name, answers[view.name])
            assert "RECURSIVE" in str(it) or all(w.execution == "in-process" for w in db.waves())


WAYS = {
    "row groups": {},
    "row groups at once": {(row_groups, "MANY"): 0, (row_groups, "LARGE"): 1 << 60},
    "all rows": {
        (snapshot_reader, "FEW_ROW_GROUPS"): 0,
        (snapshot_reader, "MANY_ROW_GROUPS"): -1,
        (snapshot_reader, "WHOLE_LIMIT"): 0,
    },
}
"""Ways to look rows up in files, and the limits at which each is the only one."""


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seeds", chunks(15, quick=2, size=5))
def test_rows_are_looked_up_in_files(seeds: range, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where bases are snapshots in a folder."""
    for (module, name), value in WAYS[way].items():
        monkeypatch.setattr(module, name, value)
    for seed in seeds:
        it, answers = recomputed(seed)
        with replayed(it, path=tmp_path / str(seed), execution="auto", strategy="differential") as db:
            for view in it.views:
                check(it, db, view.name, answers[view.name])


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seeds", chunks(3, quick=0, size=3))
def test_rows_are_looked_up_on_an_object_store(
    seeds: range, way: str, object_store: Callable[[], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same where the files of snapshots are read through Arrow."""
    for (module, name), value in WAYS[way].items():
        monkeypatch.setattr(module, name, value)
    for seed in seeds:
        it, answers = recomputed(seed)
        with replayed(it, **object_store(), execution="auto", strategy="differential") as db:
            for view in it.views:
                check(it, db, view.name, answers[view.name])


AGREED = [
    "SELECT t.k, u.y, t.n + u.y AS s FROM t JOIN u ON u.x = t.k WHERE t.n < u.y",
    "SELECT k, COUNT(*) AS c, SUM(n) AS s, MIN(at) AS a, MAX(day) AS d, COUNT(DISTINCT w) AS w FROM t GROUP BY k",
    "SELECT k, SUM(p) AS s, SUM(p) FILTER (WHERE n > 1) AS f FROM t GROUP BY k HAVING COUNT(*) > 1",
    "SELECT k, AVG(p) AS a, SUM(p * (1 - p)) AS s, SUM(p * (1 - p) * (1 + p)) AS l FROM t GROUP BY k",
    "SELECT YEAR(day) AS y, MONTH(at) AS m, SUBSTRING(w, 1, 1) AS c, COUNT(*) AS n FROM t GROUP BY 1, 2, 3",
    "SELECT DISTINCT w, b FROM t",
    "SELECT k, w FROM t UNION SELECT x, z FROM u",
    "SELECT k FROM t EXCEPT ALL SELECT x FROM u",
    "SELECT k, w FROM t INTERSECT SELECT x, z FROM u",
    "SELECT t.k, u.z, f FROM t LEFT JOIN u ON u.x = t.k AND u.y > t.n",
    "SELECT t.w, u.z FROM t FULL JOIN u ON u.z = t.w",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.x = t.k)",
    "SELECT k, n FROM t WHERE n NOT IN (SELECT y FROM u)",
    "SELECT k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n) AS r, LAG(n) OVER (PARTITION BY k ORDER BY n) l FROM t",
    "SELECT k, RANK() OVER (PARTITION BY k ORDER BY w DESC) AS r, SUM(n) OVER (PARTITION BY k) AS s FROM t",
    "SELECT k, n FROM t WHERE n > (SELECT MAX(y) FROM u WHERE u.x = t.k)",
    "SELECT CASE WHEN n > 2 THEN w ELSE 'few' END AS x, COALESCE(p, 0.00) AS p FROM t WHERE w LIKE 'a%' OR b",
    "SELECT k, n FROM t WHERE at < now() + INTERVAL 28 DAYS AND NOT EXISTS (SELECT 1 FROM u WHERE u.x = t.k)",
    "SELECT t.k, t.n / u.y AS q, t.p / u.y AS r, t.n % u.y AS m FROM t JOIN u ON u.x = t.k WHERE u.y <> 0",
    "SELECT k, AVG(n) AS a, AVG(k) AS b, SUM(n) / COUNT(*) AS c, SUM(p) / SUM(p * p + 1) AS q FROM t GROUP BY k",
    "SELECT w, AVG(p * n) AS a, AVG(DISTINCT p) AS d, SUM(DISTINCT n) s, COUNT(DISTINCT k, n) c FROM t GROUP BY w",
    "SELECT k, SUM(f) AS s, AVG(f) AS a, STDDEV(n) AS d, VAR_POP(k) AS v FROM t WHERE f < 2 GROUP BY k",
    "SELECT k, MAX_BY(w, n) AS x, MIN_BY(n, at) AS y, BOOL_AND(b) AS a, COUNT_IF(n > 0) AS c FROM t GROUP BY k",
    "SELECT k, COUNT(*) FILTER (WHERE b) c, AVG(p) FILTER (WHERE n > 0) a, SUM(IF(b, n, 0)) s FROM t GROUP BY k",
    "SELECT k, n, AVG(p) OVER (PARTITION BY k) AS a, SUM(n) OVER (PARTITION BY k ORDER BY n, w, p, at, day, b, f "
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t",
    "SELECT k, n, LAG(n, 1, CAST(0 AS BIGINT)) OVER (PARTITION BY k ORDER BY n NULLS LAST) AS l, FIRST_VALUE(w) OVER "
    "(PARTITION BY k ORDER BY w DESC NULLS LAST) AS x, PERCENT_RANK() OVER (PARTITION BY k ORDER BY n) AS r FROM t",
    "SELECT UPPER(COALESCE(NULLIF(w, 'é'), '')) || '-' || CAST(n AS STRING) AS x, CAST(p AS STRING) AS y FROM t",
    "SELECT DATE_TRUNC('MONTH', at) AS m, DATE_ADD(day, k) AS d, COUNT(*) AS c FROM t GROUP BY 1, 2",
    "SELECT k, f + 1 AS x, f * f AS y, f / 2 AS z, -f AS v FROM t WHERE f <> 0.5",
    "SELECT k, f FROM t WHERE f >= f AND at < TIMESTAMP '2024-06-01 00:00:00' AND day > DATE '2024-01-01'",
]
"""Views on whose every expression the engines agree."""

NAMES = ["k", "n", "w", "b", "p", "day", "at", "f"]
COLUMNS = "k INT, n BIGINT, w STRING, b BOOLEAN, p DECIMAL(10, 2), day DATE, at TIMESTAMP, f DOUBLE"


def random_row(rng: Random) -> tuple[Any, ...]:
    values: tuple[list[Any], ...] = (
        [1, 2, 3, None],
        [0, 1, 5, -7, None],
        ["a", "ab", "", "é", "B", None],
        [True, False, None],
        [Decimal("1.50"), Decimal("-0.01"), None],
        [date(2024, 2, 29), date(1969, 12, 31), None],
        [datetime(2024, 2, 29, 1, 2, 3, 4, UTC), datetime(1969, 12, 31, 23, tzinfo=UTC), None],
        [0.0, -0.0, 1.5, math.nan, math.inf, None],
    )
    return tuple(map(rng.choice, values))


@pytest.fixture(scope="module")
def twins(spark: Any) -> Iterator[tuple[tidings.Database, tidings.Database]]:
    """Two databases on Spark with the same history, one of which runs tiny waves in this process."""
    options: dict[str, Any] = {"engine": "spark", "spark": spark, "strategy": "differential"}
    both = [tidings.open(**options, execution=e, clock=tidings.ManualClock()) for e in ("spark", "auto")]
    for db in both:
        rng = Random(5)
        db.sql(f"CREATE TABLE t ({COLUMNS}); CREATE TABLE u (x INT, y BIGINT, z STRING)")
        held = [random_row(rng) for _ in range(30)]
        rows = [dict(zip(NAMES, row, strict=True)) for row in held]
        db.load("t", pa.Table.from_pylist(rows, db._parts.relations.table("t").schema))
        for _ in range(4):
            with db.transaction() as tx:
                tx.delete("t", [held.pop(rng.randrange(len(held)))])
                tx.insert("t", [random_row(rng) for _ in range(3)])
                tx.insert("u", [random_row(rng)[:3] for _ in range(3)])
    yield both[0], both[1]
    for db in both:
        db.close()


def shown(change: Any) -> str:
    """A change as text; the two zeros are one value."""
    values = [0.0 if isinstance(v, float) and v == 0 else v for v in change.row.values()]
    return f"{values} at {change.time}: {change.weight}"


def shown_rows(db: tidings.Database, query: str, at: int) -> list[str]:
    """The rows of a query at an instant as texts."""
    rows = db.query(query, as_of=at).rows()
    return sorted(str([0.0 if isinstance(v, float) and v == 0 else v for v in row.values()]) for row in rows)


@pytest.mark.spark
@pytest.mark.parametrize("query", AGREED)
def test_what_is_agreed_is_the_same(query: str, twins: tuple[tidings.Database, tidings.Database]) -> None:
    on_spark, in_process = (sorted(map(shown, db.changes(query, per_commit=True).rows())) for db in twins)
    assert in_process == on_spark
    assert [w.execution for w in (twins[0].waves()[-1], twins[1].waves()[-1])] == ["spark", "in-process"]
    assert on_spark
    for at in {twins[0].time, twins[0].time - 1} if "now()" not in query else {twins[0].time}:
        assert shown_rows(twins[1], query, at) == shown_rows(twins[0], query, at)
