"""The strategy for a batch, its reason, and strict mode."""

from __future__ import annotations

import pytest

import tidings
from tests.unit.inside import scheduler_of
from tidings import errors
from tidings.delta.cost import Speeds
from tidings.waves.strategy import MARGIN, NO_OP, Choice, Estimate, Strategy, choose

BY_ROWS = Speeds(statement=0.0, operator=0.0, scanned=0.0, found=1000.0, whole=1000.0)
"""A millisecond per row, so that tables of a thousand rows are large."""


@pytest.fixture
def db() -> tidings.Database:
    db = tidings.open(engine="duckdb", clock=tidings.ManualClock(0))
    scheduler_of(db).planner.estimator.calibration.measured["duckdb"] = BY_ROWS
    db.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE u (k INT, y INT)")
    with db.transaction() as tx:
        tx.insert("t", [(n, n) for n in range(1000)])
        tx.insert("u", [(n, n) for n in range(1000)])
    return db


def changed(db: tidings.Database, commits: int = 1) -> int:
    since = db.time
    for n in range(commits):
        db.sql(f"INSERT INTO t VALUES ({n}, 1)")
    return since


def strategy(db: tidings.Database, text: str, since: int | None = None) -> str:
    lines = db.explain(text, since).splitlines()
    return lines[lines.index("Strategy") + 1].strip()


def test_nothing_changed(db: tidings.Database) -> None:
    changed(db)
    assert strategy(db, "SELECT y FROM u") == "no-op: nothing it reads has changed"


def test_a_linear_view_reads_nothing(db: tidings.Database) -> None:
    changed(db)
    chosen = strategy(db, "SELECT x FROM t WHERE k > 1")
    assert chosen == (
        "restricted differential: about 1.0 ms on duckdb, 0 rows; a recompute would take 2.0 s on duckdb, 2,001 rows"
    )


def test_a_join_reads_the_rows_of_its_keys(db: tidings.Database) -> None:
    changed(db)
    chosen = strategy(db, "SELECT x, y FROM t JOIN u USING (k)")
    assert chosen == (
        "restricted differential: about 11 ms on duckdb, 10 rows; a recompute would take 4.0 s on duckdb, 4,001 rows"
    )


def test_an_operator_without_a_key_is_named(db: tidings.Database) -> None:
    changed(db)
    chosen = strategy(db, "SELECT x FROM t ORDER BY x LIMIT 3")
    assert chosen.startswith("restricted differential: about 2.0 s on duckdb, 2,000 rows")
    assert chosen.endswith("read whole because of a window or LIMIT without a common PARTITION BY")


def test_many_instants_without_a_key_are_recomputed(db: tidings.Database) -> None:
    since = changed(db, 5)
    chosen = strategy(db, "SELECT max(x) AS s FROM t", since)
    assert chosen.startswith("recompute and diff: about 2.0 s on duckdb, 2,005 rows; a differential would take 6.0 s")
    assert chosen.endswith("because of an aggregate without GROUP BY")
    delta = db.changes("SELECT max(x) AS s FROM t", since)
    assert [(c.row["s"], c.weight) for c in delta.rows()] == []


def test_a_recompute_per_commit_is_no_better(db: tidings.Database) -> None:
    since = changed(db, 5)
    delta = db.changes("SELECT x FROM t ORDER BY x LIMIT 3", since, per_commit=True, strict=True)
    assert [c.weight for c in delta.rows()] == [-1, 1]


def test_strict_refuses_to_recompute_and_says_why(db: tidings.Database) -> None:
    since = changed(db, 5)
    with pytest.raises(errors.RecomputeRefused) as refused:
        db.changes("SELECT max(x) AS s FROM t", since, strict=True)
    assert refused.value.parameters == {"view": "result", "operator": "an aggregate without GROUP BY"}
    assert refused.value.hint


def test_a_stored_grouping_is_merged_without_reading_its_input(db: tidings.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW totals AS SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k")
    changed(db)
    chosen = strategy(db, "totals")
    assert chosen.startswith("stored-aggregate merge: about 11 ms on duckdb, 10 rows; a recompute would take 4.0 s")


def test_greatest_values_are_merged_only_while_rows_come(db: tidings.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW best AS SELECT k, max(x) AS m FROM t GROUP BY k")
    changed(db)
    assert strategy(db, "best").startswith("stored-aggregate merge")
    db.advance()
    with db.transaction() as tx:
        tx.delete("t", [(7, 7)])
    assert strategy(db, "best").startswith("restricted differential")
    assert [(c.row, c.weight) for c in db.changes("best", db.time - 1).rows()] == [({"k": 7, "m": 7}, -1)]


def test_a_strict_stored_view_stays_where_it_is(db: tidings.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW top WITH (refresh = 'incremental strict') AS SELECT x FROM t ORDER BY x LIMIT 3")
    changed(db)
    assert db.advance() == db.time
    db._parts.scheduler.planner.only = Strategy.RECOMPUTE
    changed(db)
    with pytest.raises(errors.RecomputeRefused):
        db.query("top")


def estimate(seconds: float, rows: int = 0, row_seconds: float | None = None) -> Estimate:
    return Estimate(seconds, "spark", rows, seconds if row_seconds is None else row_seconds)


def chosen(differential: float, recompute: float) -> Strategy:
    return choose(estimate(differential), estimate(recompute), merges=False).strategy


def test_the_faster_one_wins_unless_it_saves_too_little() -> None:
    assert chosen(2.0, 1.0) is Strategy.RECOMPUTE
    assert chosen(1.0, 2.0) is Strategy.DIFFERENTIAL
    assert chosen(1.0, 1.0) is Strategy.DIFFERENTIAL
    assert chosen(1.0 + MARGIN, 1.0) is Strategy.DIFFERENTIAL


def test_strict_counts_rows_alone() -> None:
    few, many = estimate(9.0, rows=10), estimate(1.0, rows=1000)
    assert choose(few, many, merges=False).strategy is Strategy.RECOMPUTE
    assert choose(few, many, merges=False, strict=True).strategy is Strategy.DIFFERENTIAL
    assert choose(many, few, merges=False, strict=True).strategy is Strategy.RECOMPUTE


def test_the_reason_is_the_real_one() -> None:
    """A view that has no key somewhere, but is slow for its many statements, says so."""
    limit = ("a window or LIMIT without a common PARTITION BY",)
    planned = choose(estimate(9.0, row_seconds=0.1), estimate(1.0), merges=False, keyless=limit)
    assert planned.forced_by == "the size of its plan"
    assert choose(estimate(9.0), estimate(1.0), merges=False, keyless=limit).forced_by == limit[0]
    assert choose(estimate(9.0), estimate(1.0), merges=False).forced_by == "the size of the change"


def test_the_other_way() -> None:
    recompute = choose(estimate(9.0), estimate(1.0), merges=False)
    other = recompute.other
    assert other is not None
    assert (other.strategy, other.estimate) == (Strategy.DIFFERENTIAL, recompute.differential)
    back = other.other
    assert back is not None
    assert (back.strategy, back.estimate) == (Strategy.RECOMPUTE, recompute.recompute)
    assert NO_OP.other is None
    assert choose(estimate(1.0), None, merges=True) == Choice(
        Strategy.MERGE, "about 1.0 s on spark, 0 rows", estimate(1.0)
    )
    assert choose(estimate(1.0), None, merges=True).other is None


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(errors.UnknownStrategy):
        tidings.open(engine="duckdb", strategy="fast")  # type: ignore[arg-type]


def test_views_over_a_strict_one_that_stays_are_marked_with_it(db: tidings.Database) -> None:
    db.sql("""
        CREATE MATERIALIZED VIEW top WITH (refresh = 'incremental strict') AS SELECT x FROM t ORDER BY x LIMIT 3;
        CREATE MATERIALIZED VIEW low AS SELECT x FROM top WHERE x < 10;
        CREATE MATERIALIZED VIEW high AS SELECT x FROM top WHERE x >= 10;
        CREATE MATERIALIZED VIEW apart AS SELECT y FROM u;
    """)
    db._parts.scheduler.planner.only = Strategy.RECOMPUTE
    changed(db)
    db.sql("INSERT INTO u VALUES (1, 1)")
    db.advance()
    assert {v.name: v.failed for v in db.status().views} == {"top": True, "low": True, "high": True, "apart": False}
