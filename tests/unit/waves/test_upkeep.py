"""Stored views are brought up to date: when, in which transaction, and what happens where one fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.inside import stored_view as view
from tests.unit.reopened import PER_K, Reopened, reopened, rows
from tidings import Database, errors
from tidings.store.catalog.memory_journal import MemoryJournal


@pytest.fixture(params=["memory", "folder"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopened]:
    home = reopened(tmp_path / "db" if request.param == "folder" else None)
    yield home
    home.db.close()


@pytest.fixture
def db(home: Reopened) -> Database:
    return home.db


def told(db: Database, text: str, since: int = 0, until: int | None = None) -> list[tuple[str, int, int]]:
    delta = db.changes(text, since, until, per_commit=True)
    return sorted((str(tuple(c.row.values())), c.time, c.weight) for c in delta.rows())


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


# failures


CAST = "SELECT CAST(s AS INT) AS n FROM texts"


def insert(db: Database, *texts: str) -> int:
    with db.transaction() as tx:
        tx.insert("texts", [(s,) for s in texts])
    return db.time


def remove(db: Database, *texts: str) -> int:
    with db.transaction() as tx:
        tx.delete("texts", [(s,) for s in texts])
    return db.time


def test_a_wave_that_fails_leaves_a_view_where_it_was(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW numbers AS {CAST}")
    good = insert(db, "1")
    db.advance()
    insert(db, "x")
    for _ in range(2):
        with pytest.raises(errors.EngineFailed):
            db.query("numbers")
        assert (view(db, "numbers").since, view(db, "numbers").until) == (0, good)
    assert rows(db, "numbers", as_of=good) == [(1,)]


def test_after_a_repair_a_view_goes_on(db: Database) -> None:
    db.sql(
        f"CREATE MATERIALIZED VIEW numbers AS {CAST}; CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM numbers"
    )
    good = insert(db, "1")
    db.advance()
    insert(db, "x")
    db.advance()
    status = db.status().view("numbers")
    assert (status.failed, status.position, status.pending) == (True, good, 1)
    assert "x" in str(status.error)
    assert db.status().view("total").failed
    repaired = remove(db, "x")
    assert (rows(db, "numbers"), rows(db, "total")) == ([(1,)], [(1,)])
    insert(db, "2")
    assert told(db, "numbers", repaired) == [("(2,)", db.time, 1)]
    assert told(db, "numbers", 0, good) == [("(1,)", good, 1)]
    assert rows(db, "total") == [(3,)]
    assert not any(v.failed for v in db.status().views)
    with pytest.raises(errors.EngineFailed):
        db.changes("numbers", 0)


def test_one_that_fails_does_not_hold_up_others(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW numbers AS {CAST}; CREATE MATERIALIZED VIEW per_k AS {PER_K}")
    insert(db, "x")
    db.advance()
    assert view(db, "per_k").until == db.time
    assert [v.failed for v in db.status().views] == [True, False]


def test_a_strict_view_does_not_begin_anew(db: Database) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW numbers WITH (refresh = 'incremental strict') AS {CAST}")
    insert(db, "x")
    remove(db, "x")
    with pytest.raises(errors.EngineFailed):
        db.query("numbers")
