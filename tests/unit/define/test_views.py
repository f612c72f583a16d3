"""When stored views are brought up to date, and what replacing one keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database, ManualClock, errors
from tidings.store.catalog.memory_journal import MemoryJournal
from tidings.store.relation.view import StoredView

PER_K = "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k"


class Reopened:
    """A database that can be closed and opened again; one in memory stays as it is."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.clock = path, ManualClock(0)
        self.db = self._open()

    def _open(self) -> Database:
        return tidings.open(self.path, engine="duckdb", clock=self.clock)

    def again(self) -> Database:
        if self.path is not None:
            self.db.close()
            self.db = self._open()
        return self.db


@pytest.fixture(params=["memory", "folder"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopened]:
    home = Reopened(tmp_path / "db" if request.param == "folder" else None)
    home.db.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE texts (s STRING)")
    yield home
    home.db.close()


@pytest.fixture
def db(home: Reopened) -> Database:
    return home.db


def view(db: Database, name: str) -> StoredView:
    return next(v for v in db._parts.relations.stored() if v.name == name)


def rows(db: Database, text: str, as_of: int | None = None) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in db.query(text, as_of).rows()), key=str)


def outcomes(db: Database, statement: str) -> dict[str, str]:
    result = db.sql(statement)
    assert result is not None
    return {r["relation"]: r["outcome"] for r in result.rows()}


# refresh


def test_immediate_views_are_brought_along(home: Reopened) -> None:
    db = home.db
    db.sql(f"""
        CREATE MATERIALIZED VIEW per_k WITH (refresh = 'immediate') AS {PER_K};
        CREATE MATERIALIZED VIEW lazy AS SELECT k FROM t;
        CREATE MATERIALIZED VIEW total WITH (refresh = 'immediate strict') AS SELECT sum(s) AS s FROM per_k;
        INSERT INTO t VALUES (1, 2);
    """)
    assert (view(db, "per_k").until, view(db, "total").until, view(db, "lazy").until) == (1, 1, 0)
    assert view(db, "total").strict
    db = home.again()
    assert (view(db, "per_k").until, view(db, "lazy").until) == (1, 0)
    assert [v.refresh for v in db.status().views] == ["immediate", "on advance", "immediate strict"]
    db.sql("INSERT INTO t VALUES (1, 3)")
    assert view(db, "total").until == 2
    assert (rows(db, "per_k"), rows(db, "total")) == ([(1, 2, 5)], [(5,)])


def test_an_immediate_view_over_others(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}")
    db.sql("CREATE MATERIALIZED VIEW top WITH (refresh = 'immediate') AS SELECT k FROM per_k WHERE s > 3")
    db.sql("INSERT INTO t VALUES (1, 2), (2, 5)")
    assert (view(db, "per_k").until, view(db, "top").until) == (1, 1)
    assert rows(db, "top") == [(2,)]


def test_a_commit_goes_on_where_an_immediate_view_fails(home: Reopened) -> None:
    db = home.db
    db.sql("CREATE MATERIALIZED VIEW n WITH (refresh = 'immediate') AS SELECT CAST(s AS INT) AS n FROM texts")
    db.sql(f"CREATE MATERIALIZED VIEW per_k WITH (refresh = 'immediate') AS {PER_K}")
    db.sql("INSERT INTO texts VALUES ('1')")
    db.sql("INSERT INTO texts VALUES ('x'); INSERT INTO t VALUES (1, 1)")
    db = home.again()
    failed, sound = db.status().views
    assert (failed.position, failed.lag, failed.failed, sound.failed) == (1, 2, True, False)
    assert sound.position == 3
    db.sql("DELETE FROM texts WHERE s = 'x'")
    assert not db.status().view("n").failed
    assert rows(home.again(), "n") == [(1,)]


def test_manual_views_wait_to_be_told_and_answer_for_the_present(home: Reopened) -> None:
    db = home.db
    db.sql(f"CREATE MATERIALIZED VIEW per_k WITH (refresh = 'manual') AS {PER_K}")
    db.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(s) AS s FROM per_k; INSERT INTO t VALUES (1, 2)")
    assert (rows(db, "per_k"), rows(db, "total")) == ([(1, 1, 2)], [(2,)])
    db.advance()
    assert (view(db, "per_k").until, view(db, "total").until) == (0, 1)
    assert db.status().view("per_k").pending == 1
    db.sql("REFRESH MATERIALIZED VIEW per_k")
    assert view(db, "per_k").until == 1
    db.sql("INSERT INTO t VALUES (1, 2)")
    assert len(db.changes("per_k", 1)) == 2
    db = home.again()
    assert view(db, "per_k").until == 1
    assert db.refresh("per_k") == 2
    assert view(db, "per_k").until == 2
    assert rows(db, "total") == [(4,)]


def test_only_stored_views_are_refreshed(db: Database) -> None:
    for name in ("t", "nosuch"):
        with pytest.raises(errors.UnknownRelation):
            db.refresh(name)


def test_options_of_refresh(db: Database) -> None:
    with pytest.raises(errors.InvalidSyntax):
        db.sql("CREATE MATERIALIZED VIEW v WITH (refresh = 'sometimes') AS SELECT k FROM t")
    with pytest.raises(errors.UnsupportedStatement):
        db.sql("CREATE VIEW v WITH (refresh = 'manual') AS SELECT k FROM t")


# one transaction


def test_a_wave_is_recorded_whole_or_not_at_all(home: Reopened, monkeypatch: pytest.MonkeyPatch) -> None:
    db = home.db
    if isinstance(db._parts.storage.journal, MemoryJournal):
        pytest.skip("a database in memory records nothing")
    db.sql(f"CREATE MATERIALIZED VIEW per_k AS {PER_K}; CREATE MATERIALIZED VIEW s AS SELECT sum(s) AS s FROM per_k")
    db.sql("INSERT INTO t VALUES (1, 2)")
    recorded: list[Any] = []
    journal = type(db._parts.storage.journal)
    record = journal.record

    def noted(self: Any, batch: Any) -> None:
        recorded.append(batch)
        record(self, batch)

    monkeypatch.setattr(journal, "record", noted)
    db.advance()
    assert [set(b.cursors.values()) for b in recorded] == [{1}]
    db.sql("INSERT INTO t VALUES (1, 3)")

    def full(self: object, batch: object) -> None:
        raise errors.CatalogFailed(reason="the disk is full")

    monkeypatch.setattr(journal, "record", full)
    with pytest.raises(errors.CatalogFailed):
        db.advance()
    with pytest.raises(errors.CatalogFailed):
        db.sql("INSERT INTO t VALUES (7, 7)")
    assert (view(db, "per_k").until, view(db, "s").until, db.time) == (1, 1, 2)
    monkeypatch.setattr(journal, "record", record)
    assert (rows(db, "t"), rows(db, "s")) == ([(1, 2), (1, 3)], [(5,)])
    db.sql("INSERT INTO t VALUES (2, 1)")
    assert rows(home.again(), "s") == [(6,)]


# OR REPLACE


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
