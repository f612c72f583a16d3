"""Views as they are created: their columns, their options, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.inside import stored_view as view
from tests.unit.reopened import PER_K, Reopened, reopened, rows
from tidings import Database, errors


@pytest.fixture(params=["memory", "folder"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopened]:
    home = reopened(tmp_path / "db" if request.param == "folder" else None)
    yield home
    home.db.close()


@pytest.fixture
def db(home: Reopened) -> Database:
    return home.db


def test_only_stored_views_are_refreshed(db: Database) -> None:
    with pytest.raises(errors.WrongKind):
        db.refresh("t")
    with pytest.raises(errors.UnknownRelation):
        db.refresh("nosuch")


def test_options_of_refresh(db: Database) -> None:
    with pytest.raises(errors.InvalidSyntax):
        db.sql("CREATE MATERIALIZED VIEW v WITH (refresh = 'sometimes') AS SELECT k FROM t")
    with pytest.raises(errors.UnsupportedStatement):
        db.sql("CREATE VIEW v WITH (refresh = 'manual') AS SELECT k FROM t")


def test_a_name_is_free_again_after_drop(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}; INSERT INTO t VALUES (1, 2)")
    db.advance()
    db.sql("DROP VIEW per_k; CREATE MATERIALIZED VIEW per_k AS SELECT k FROM t")
    assert rows(db, "per_k") == [(1,)]
    db.sql("DROP MATERIALIZED VIEW per_k")
    with pytest.raises(errors.TidingsError):
        db.query("SELECT * FROM per_k")


def test_what_is_read_cannot_be_dropped(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW a AS SELECT k FROM t; CREATE MATERIALIZED VIEW b AS SELECT k FROM a")
    for statement in ("DROP TABLE t", "DROP VIEW a"):
        with pytest.raises(errors.DependentObjects):
            db.sql(statement)


def test_if_not_exists(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW a AS SELECT k FROM t")
    db.sql("CREATE MATERIALIZED VIEW IF NOT EXISTS a AS SELECT x FROM t")
    assert [c.name for c in view(db, "a").columns] == ["k"]
    with pytest.raises(errors.DuplicateRelation):
        db.sql("CREATE MATERIALIZED VIEW a AS SELECT x FROM t")


def test_a_list_of_columns(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k (place, pieces, total) AS {PER_K}; INSERT INTO t VALUES (1, 2)")
    assert db.query("per_k").rows()[0].keys() == {"place", "pieces", "total"}
    assert view(db, "per_k").groupings


def test_a_view_without_an_answer_is_not_stored(db: Database) -> None:
    db.sql("INSERT INTO texts VALUES ('x')")
    with pytest.raises(errors.EngineFailed):
        db.sql("CREATE MATERIALIZED VIEW numbers AS SELECT CAST(s AS INT) AS n FROM texts")
    db.sql("DELETE FROM texts")
    db.sql("CREATE MATERIALIZED VIEW numbers AS SELECT CAST(s AS INT) AS n FROM texts")
    assert rows(db, "numbers") == []


def test_a_name_with_a_number_sign_is_a_name(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}; CREATE TABLE `per_k#` (a INT); INSERT INTO `per_k#` VALUES (1)")
    assert rows(db, "SELECT a FROM `per_k#`") == [(1,)]
