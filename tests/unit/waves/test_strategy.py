"""The strategy for a batch, its reason, and strict mode."""

from __future__ import annotations

import pytest

import tidings
from tidings import errors
from tidings.waves.strategy import Strategy


@pytest.fixture
def db() -> tidings.Database:
    db = tidings.open(engine="duckdb", clock=tidings.ManualClock(0))
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
    assert chosen == "restricted differential: about 0 rows to read; a recompute would read 2,001"


def test_a_join_reads_the_rows_of_its_keys(db: tidings.Database) -> None:
    changed(db)
    chosen = strategy(db, "SELECT x, y FROM t JOIN u USING (k)")
    assert chosen == "restricted differential: about 10 rows to read; a recompute would read 4,001"


def test_an_operator_without_a_key_is_named(db: tidings.Database) -> None:
    changed(db)
    chosen = strategy(db, "SELECT x FROM t ORDER BY x LIMIT 3")
    assert chosen.startswith("restricted differential: about 2,000 rows")
    assert chosen.endswith("read whole because of a window or LIMIT without a common PARTITION BY")


def test_many_instants_without_a_key_are_recomputed(db: tidings.Database) -> None:
    since = changed(db, 5)
    assert strategy(db, "SELECT max(x) AS s FROM t", since).startswith("recompute and diff: about 2,005 rows to read")
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
    assert chosen == "stored-aggregate merge: about 10 rows to read; a recompute would read 4,001"


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
