"""The deltas of stored views: alone or at once they are the same, and what views share is computed once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tests.unit.inside import scheduler_of, stored_view
from tidings import Database, errors
from tidings.store.relation.view import StoredView
from tidings.waves.strategy import Strategy
from tidings.waves.view_deltas import ViewDeltas


@pytest.fixture
def db() -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1)) as database:
        database.sql("""
            CREATE TABLE t (k INT, x INT);
            CREATE VIEW positive AS SELECT k, x FROM t WHERE x > 0;
            CREATE MATERIALIZED VIEW a AS SELECT k FROM positive;
            CREATE MATERIALIZED VIEW b AS SELECT x, count(*) AS n FROM positive GROUP BY x;
            CREATE MATERIALIZED VIEW c WITH (refresh = 'incremental strict') AS SELECT max(x) AS m FROM positive;
            INSERT INTO t VALUES (1, 1), (2, 1), (3, -1);
        """)
        yield database


def view_deltas(db: Database) -> ViewDeltas:
    return scheduler_of(db).upkeep.view_deltas


def views(db: Database) -> list[StoredView]:
    return [stored_view(db, name) for name in "abc"]


def shown(deltas: dict[str, pa.Table]) -> dict[str, list[str]]:
    return {name: sorted(map(str, rows.to_pylist())) for name, rows in deltas.items()}


def test_at_once_as_alone(db: Database) -> None:
    at_once = view_deltas(db).of_views(views(db), db.time)
    alone = {view.name: view_deltas(db).of_view(view, db.time) for view in views(db)}
    assert {name: shown(d) for name, d in at_once.items()} == {name: shown(d) for name, d in alone.items()}
    assert at_once["a"]["a"].num_rows == 2
    assert at_once["b"].keys() == {"b", "b#groups1"}


def test_what_views_share_is_computed_once(db: Database) -> None:
    view_deltas(db).of_views(views(db), db.time)
    names = [wave.view for wave in db.waves()]
    assert names.count("positive") == 1
    assert names[0] == "positive"


NESTED = """
    SELECT n, count(*) AS times, max(total) AS most
    FROM (SELECT k, count(*) AS n, sum(x) AS total FROM t GROUP BY k) AS per_k GROUP BY n
"""


@pytest.mark.parametrize("commits", [1, 4])
def test_a_recomputed_view_is_made_from_its_groupings(db: Database, commits: int) -> None:
    """Grouping over grouping, at one instant and at several."""
    db.sql(f"CREATE MATERIALIZED VIEW nested WITH (refresh = 'manual') AS {NESTED}")
    for n in range(commits):
        db.sql(f"INSERT INTO t VALUES ({n}, {n}), (1, 5); DELETE FROM t WHERE k = {3 - n}")
    for name in ("b", "nested"):
        scheduler_of(db).planner.only = Strategy.DIFFERENTIAL
        merged = view_deltas(db).of_view(stored_view(db, name), db.time)
        scheduler_of(db).planner.only = Strategy.RECOMPUTE
        recomputed = view_deltas(db).of_view(stored_view(db, name), db.time)
        assert recomputed.keys() == {name, *stored_view(db, name).groupings}
        assert shown(recomputed) == shown(merged)


def test_a_strict_view_is_not_recomputed(db: Database) -> None:
    scheduler_of(db).planner.only = Strategy.RECOMPUTE
    assert view_deltas(db).of_views(views(db), db.time).keys() == {"a", "b"}
    with pytest.raises(errors.RecomputeRefused):
        view_deltas(db).of_view(stored_view(db, "c"), db.time)


ONE_SHAPE = {
    "few": "SELECT k FROM positive WHERE x < 2",
    "some": "SELECT k FROM positive WHERE x < 3",
    "lonely": "SELECT k FROM positive WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = positive.k AND t.x > 1)",
    "lonelier": "SELECT k FROM positive WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = positive.k AND t.x > 4)",
    "other": "SELECT k FROM positive WHERE x > 3",
}


def test_views_of_one_shape_are_as_alone(db: Database) -> None:
    for name, query in ONE_SHAPE.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    db.sql("INSERT INTO t VALUES (4, 2), (4, 5), (5, 9); DELETE FROM t WHERE k = 1")
    shaped = [stored_view(db, name) for name in ONE_SHAPE]
    at_once = view_deltas(db).of_views(shaped, db.time)
    assert {wave.view: wave.together for wave in db.waves() if wave.view in ONE_SHAPE} == dict.fromkeys(ONE_SHAPE, 5)
    assert [wave.rows for wave in db.waves() if wave.view == "some"] == [at_once["some"]["some"].num_rows] == [2]
    assert {n: shown(d) for n, d in at_once.items()} == {
        v.name: shown(view_deltas(db).of_view(v, db.time)) for v in shaped
    }


GROUPED = {
    "per_k": "SELECT k, count(*) AS n, sum(x) AS s FROM t WHERE x < 3 GROUP BY k",
    "per_k_too": "SELECT k, count(*) AS n, sum(x) AS s FROM t WHERE x < 6 GROUP BY k",
    "least": "SELECT k, min(x) AS m FROM positive WHERE k < 9 GROUP BY k HAVING count(*) > 1",
    "lesser": "SELECT k, min(x) AS m FROM positive WHERE k < 5 GROUP BY k HAVING count(*) > 0",
    "other": "SELECT k, max(x) AS m FROM t WHERE x < 7 GROUP BY k",
}
MORE = "INSERT INTO t VALUES (1, 2), (1, 2), (4, 5), (5, 9), (NULL, 1); DELETE FROM t WHERE k = 2"


@pytest.fixture
def grouped(tmp_path: Path) -> Iterator[Database]:
    with tidings.open(tmp_path / "db", engine="duckdb", execution="auto", clock=tidings.ManualClock(1)) as database:
        database.sql("CREATE TABLE t (k INT, x INT); CREATE VIEW positive AS SELECT k, x FROM t WHERE x > 0")
        database.sql("INSERT INTO t VALUES (1, 1), (2, 1), (2, 5), (3, -1)")
        for name, query in GROUPED.items():
            database.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        yield database


def together(db: Database) -> dict[str, int]:
    return {wave.view: wave.together for wave in db.waves() if wave.view in GROUPED and wave.until == db.time}


def test_views_of_one_shape_that_keep_groupings_have_one_wave(grouped: Database) -> None:
    for statement in (MORE, "INSERT INTO t VALUES (2, 2); DELETE FROM t WHERE x = 2", "DELETE FROM t WHERE k > 3"):
        grouped.sql(statement)
        shaped = [stored_view(grouped, name) for name in GROUPED]
        at_once = view_deltas(grouped).of_views(shaped, grouped.time)
        assert together(grouped) == {"per_k": 2, "per_k_too": 2, "least": 2, "lesser": 2, "other": 1}
        assert {n: shown(d) for n, d in at_once.items()} == {
            v.name: shown(view_deltas(grouped).of_view(v, grouped.time)) for v in shaped
        }
        assert at_once["per_k"].keys() == {"per_k", "per_k#groups1"}
        grouped.advance()


def test_their_groupings_are_read_where_they_were_folded_to(grouped: Database, tmp_path: Path) -> None:
    grouped.sql(MORE)
    grouped.advance()
    grouped.fold()
    grouped.close()
    with tidings.open(tmp_path / "db", engine="duckdb", execution="auto", clock=tidings.ManualClock(9)) as db:
        db.sql("INSERT INTO t VALUES (1, 2), (2, 2), (4, 4); DELETE FROM t WHERE k = 5")
        db.advance()
        assert together(db)["per_k"] == 2
        for name, query in GROUPED.items():
            key = lambda row: str(row)  # noqa: E731
            kept, anew = (db.query(text).rows() for text in (f"SELECT * FROM {name}", query))
            assert sorted(kept, key=key) == sorted(anew, key=key)


def test_not_where_they_have_too_many_rows(grouped: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.waves.in_process.shape_states.ROWS_LIMIT", 3)
    grouped.sql(MORE)
    grouped.advance()
    assert set(together(grouped).values()) == {1}


def test_not_where_a_table_has_the_name_they_would_have_in_common(grouped: Database) -> None:
    grouped.sql("CREATE TABLE `per_k and 1 more#shared1` (k INT)")
    grouped.sql(MORE)
    grouped.advance()
    assert together(grouped) == {"per_k": 1, "per_k_too": 1, "least": 2, "lesser": 2, "other": 1}


def test_views_of_one_shape_are_recomputed_alone(db: Database) -> None:
    for name, query in ONE_SHAPE.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    db.sql("INSERT INTO t VALUES (4, 2)")
    scheduler_of(db).planner.only = Strategy.RECOMPUTE
    view_deltas(db).of_views([stored_view(db, name) for name in ONE_SHAPE], db.time)
    assert {wave.together for wave in db.waves()} == {1}
