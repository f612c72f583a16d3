"""What replacing a view keeps and computes, and which replacements are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.inside import stored_view as view
from tests.unit.reopened import PER_K, Reopened, reopened, rows
from tidings import Database, errors
from tidings.store.relation.view import StoredView


@pytest.fixture(params=["memory", "folder"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopened]:
    home = reopened(tmp_path / "db" if request.param == "folder" else None)
    yield home
    home.db.close()


@pytest.fixture
def db(home: Reopened) -> Database:
    return home.db


def outcomes(db: Database, statement: str) -> dict[str, str]:
    result = db.sql(statement)
    assert result is not None
    return {r["relation"]: r["outcome"] for r in result.rows()}


def test_the_same_query_keeps_everything(home: Reopened) -> None:
    db = home.db
    db.sql(f"CREATE MATERIALIZED VIEW v AS {PER_K}; INSERT INTO t VALUES (1, 2)")
    before = view(db, "v").rows
    same = f"CREATE OR REPLACE MATERIALIZED VIEW v WITH (refresh = 'manual') AS {PER_K.lower()} -- again"
    assert outcomes(db, same) == {"v": "kept"}
    assert view(db, "v").rows is before
    assert db.status().view("v").refresh == "manual"
    db = home.again()
    assert (db.status().view("v").refresh, rows(db, "v")) == ("manual", [(1, 1, 2)])


def test_equal_groupings_are_kept(home: Reopened) -> None:
    db = home.db
    db.sql(f"CREATE MATERIALIZED VIEW v AS {PER_K}; INSERT INTO t VALUES (1, 2), (2, 3)")
    (name,) = view(db, "v").groupings
    groups = view(db, "v").tables[name]
    replaced = outcomes(
        db, "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, s FROM (" + PER_K + ") AS g WHERE s > 2"
    )
    assert replaced == {"v": "recomputed", name: "kept"}
    assert view(db, "v").tables[name] is groups
    for _ in range(2):
        assert rows(db, "v") == [(2, 3)]
        assert view(db, "v").since == 1
        db.sql("INSERT INTO t VALUES (1, 2)")
        assert rows(db, "v") == [(1, 4), (2, 3)]
        db.sql("DELETE FROM t WHERE k = 1; INSERT INTO t VALUES (1, 2)")
        db = home.again()


def test_other_groupings_are_computed(home: Reopened) -> None:
    db = home.db
    db.sql(f"CREATE MATERIALIZED VIEW v AS {PER_K}; INSERT INTO t VALUES (1, 2), (2, 3)")
    replaced = outcomes(db, "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT x, count(*) AS n FROM t GROUP BY x")
    assert set(replaced.values()) == {"recomputed", "computed"}
    db.sql("INSERT INTO t VALUES (5, 3)")
    assert rows(db, "v") == [(2, 1), (3, 2)]
    db = home.again()
    assert rows(db, "v") == [(2, 1), (3, 2)]
    assert view(db, "v").since == 1


@pytest.mark.parametrize("old", ["VIEW", "MATERIALIZED VIEW"])
@pytest.mark.parametrize("new", ["VIEW", "MATERIALIZED VIEW"])
def test_stored_or_not(home: Reopened, old: str, new: str) -> None:
    db = home.db
    db.sql(f"CREATE {old} v AS {PER_K}; CREATE MATERIALIZED VIEW w AS SELECT k, n FROM v; INSERT INTO t VALUES (1, 2)")
    assert rows(db, "w") == [(1, 1)]
    db.sql(f"CREATE OR REPLACE {new} v AS SELECT k, count(*) + 1 AS n, sum(x) AS s FROM t GROUP BY k")
    for _ in range(2):
        assert (rows(db, "v"), rows(db, "w")) == ([(1, 2, 2)], [(1, 2)])
        assert isinstance(db._parts.relations.find("v"), StoredView) == (new != "VIEW")
        db = home.again()
    db.sql("INSERT INTO t VALUES (1, 3)")
    assert (rows(db, "v"), rows(db, "w")) == ([(1, 3, 5)], [(1, 3)])


def test_readers_are_recomputed_though_nobody_reads_them_before_the_end(home: Reopened) -> None:
    db = home.db
    db.sql("CREATE VIEW v AS SELECT k FROM t; CREATE MATERIALIZED VIEW w AS SELECT count(k) AS n FROM v WHERE k > 1")
    db.sql("INSERT INTO t VALUES (1, 2)")
    db.advance()
    assert outcomes(db, "CREATE OR REPLACE VIEW v AS SELECT x AS k FROM t")["w"] == "to be recomputed"
    db = home.again()
    assert db.status().view("w").position is None
    assert rows(db, "w") == [(1,)]


def test_a_replaced_view_may_read_what_is_younger(home: Reopened) -> None:
    db = home.db
    db.sql("CREATE VIEW v AS SELECT k FROM t; CREATE MATERIALIZED VIEW w AS SELECT k FROM v")
    db.sql("CREATE TABLE u (k INT); CREATE MATERIALIZED VIEW young AS SELECT k FROM u")
    db.sql("CREATE OR REPLACE VIEW v AS SELECT k FROM young; INSERT INTO u VALUES (7)")
    assert rows(db, "w") == [(7,)]
    db = home.again()
    assert [v.name for v in db._parts.relations.stored()] == ["young", "w"]
    db.sql("INSERT INTO u VALUES (8)")
    assert rows(db, "w") == [(7,), (8,)]


def test_a_replacement_that_breaks_readers_is_refused(db: Database) -> None:
    db.sql("CREATE VIEW v AS SELECT k, x FROM t; CREATE VIEW a AS SELECT x FROM v; CREATE VIEW b AS SELECT x FROM a")
    db.sql("CREATE VIEW other AS SELECT k FROM v")
    for query in ("SELECT k FROM t", "SELECT k, CAST(x AS STRING) AS x FROM t"):
        with pytest.raises(errors.BreaksViews) as refused:
            db.sql(f"CREATE OR REPLACE VIEW v AS {query}")
        assert "a" in str(refused.value.parameters["dependents"]).split(", ")
        assert "other" not in str(refused.value.parameters["dependents"]).split(", ")
    db.sql("CREATE OR REPLACE VIEW v AS SELECT k, x, 1 AS more FROM t; INSERT INTO t VALUES (1, 2)")
    assert rows(db, "b") == [(2,)]


def test_a_star_is_no_reason_to_change_a_reader(db: Database) -> None:
    db.sql("CREATE VIEW v AS SELECT k FROM t; CREATE VIEW a AS SELECT * FROM v")
    with pytest.raises(errors.BreaksViews):
        db.sql("CREATE OR REPLACE VIEW v AS SELECT k, x FROM t")


def test_a_view_that_would_read_itself(db: Database) -> None:
    db.sql("CREATE VIEW v AS SELECT k FROM t; CREATE VIEW w AS SELECT k FROM v")
    for query in ("SELECT k FROM w", "SELECT k FROM v"):
        with pytest.raises(errors.CircularView):
            db.sql(f"CREATE OR REPLACE VIEW v AS {query}")


def test_tables_are_not_replaced(db: Database) -> None:
    with pytest.raises(errors.DuplicateRelation):
        db.sql("CREATE OR REPLACE VIEW t AS SELECT 1 AS a")
    with pytest.raises(errors.InvalidSyntax):
        db.sql("CREATE OR REPLACE VIEW IF NOT EXISTS v AS SELECT 1 AS a")
    assert db.sql("CREATE OR REPLACE VIEW fresh AS SELECT k FROM t") is None


def test_a_replacement_without_an_answer_changes_nothing(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT s FROM texts; INSERT INTO texts VALUES ('x')")
    with pytest.raises(errors.EngineFailed):
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT CAST(s AS INT) AS s FROM texts")
    assert rows(db, "v") == [("x",)]
