"""Definitions: a name begins anew by an alteration or a drop that is made, not by one that is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock, errors
from tidings.store.catalog import catalog_journal


@pytest.fixture(params=["memory", "folder"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "db" if request.param == "folder" else None
    with opened(path) as database:
        database.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE other (k INT); INSERT INTO t VALUES (1, 1)")
        database.sql("CREATE VIEW v AS SELECT k FROM t; CREATE MATERIALIZED VIEW m AS SELECT k FROM v")
        yield database


def opened(path: Path | None) -> Database:
    return tidings.open(path, engine="duckdb", clock=ManualClock(1))


def position(db: Database, text: str) -> int:
    """That of somebody who has everything."""
    (first,) = db.subscribe(text)
    return first.time


def goes_on(db: Database, text: str, since: int) -> bool:
    """Whether the changes after a position can be told."""
    try:
        list(db.subscribe(text, since=since))
    except errors.MustRefetch:
        return False
    return True


REFUSED = {
    "a column twice": ("ALTER TABLE t ADD COLUMN x INT", errors.DuplicateColumn),
    "no such column": ("ALTER TABLE t RENAME COLUMN y TO z", errors.UnknownColumn),
    "a name that is taken": ("ALTER TABLE t RENAME TO other", errors.DuplicateRelation),
    "a view that breaks": ("ALTER TABLE t RENAME COLUMN k TO z", errors.BreaksViews),
    "no value": ("ALTER TABLE t ADD COLUMN y INT NOT NULL", errors.InvalidExpression),
    "a table that is read": ("DROP TABLE t", errors.DependentObjects),
    "a view of a table's name": ("DROP VIEW t", errors.WrongKind),
}


@pytest.mark.parametrize(("text", "error"), REFUSED.values(), ids=REFUSED)
def test_a_refused_statement_leaves_positions_valid(db: Database, text: str, error: type[errors.TidingsError]) -> None:
    held = {name: position(db, name) for name in ("t", "v", "m", "other")}
    with pytest.raises(error):
        db.sql(text)
    assert all(goes_on(db, name, since) for name, since in held.items())
    assert db._parts.storage.defined_since == {}
    db.sql("INSERT INTO t VALUES (2, 2)")
    assert [b.time for b in db.subscribe("t", since=held["t"])] == [db.time]


def test_an_unknown_table_does_not_begin(db: Database) -> None:
    with pytest.raises(errors.UnknownRelation):
        db.sql("ALTER TABLE later ADD COLUMN y INT")
    db.sql("CREATE TABLE later (k INT)")
    assert goes_on(db, "later", position(db, "later"))
    assert db._parts.storage.defined_since == {}


ACCEPTED = {
    "ALTER TABLE t ADD COLUMN y INT": {"t"},
    "ALTER TABLE t RENAME COLUMN x TO y": {"t"},
    "ALTER TABLE other RENAME TO another": {"other", "another"},
    "ALTER TABLE other RENAME TO OTHER": {"other"},
    "DROP VIEW m": {"m"},
    "DROP TABLE t CASCADE": {"t", "v", "m"},
}


@pytest.mark.parametrize(("text", "names"), ACCEPTED.items(), ids=ACCEPTED)
def test_an_accepted_statement_begins_anew(db: Database, text: str, names: set[str]) -> None:
    held = {name: position(db, name) for name in ("t", "v", "m", "other")}
    db.sql(text)
    assert set(db._parts.storage.defined_since) == names
    assert len(set(db._parts.storage.defined_since.values())) == 1
    assert all(db._parts.storage.defined_since[name] > max(held.values()) for name in names)
    present = {name for name in held if db._parts.relations.find(name) is not None}
    touched = {"t", "v", "m"} if "t" in names else names
    assert {name for name in present if not goes_on(db, name, held[name])} == touched & present
    if isinstance(db._parts.storage.journal, catalog_journal.CatalogJournal):
        assert db._parts.storage.journal.contents.defined_since() == db._parts.storage.defined_since


@pytest.mark.parametrize(("text", "at"), [("ALTER TABLE t ADD COLUMN y INT", "redefine"), ("DROP VIEW m", "undefine")])
@pytest.mark.parametrize("moment", ["written", "done"])
def test_the_name_begins_with_the_definition_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, at: str, moment: str
) -> None:
    """Cut off before the transaction of the catalog ends nothing has happened, after it everything."""

    def cut(name: str) -> None:
        if name == f"{at}.{moment}":
            raise KeyboardInterrupt

    path, done = tmp_path / "db", moment == "done"
    name = "t" if at == "redefine" else "m"
    with opened(path) as db:
        db.sql("CREATE TABLE t (k INT); CREATE MATERIALIZED VIEW m AS SELECT k FROM t; INSERT INTO t VALUES (1)")
        since = position(db, name)
        with monkeypatch.context() as patch:
            patch.setattr(catalog_journal, "point", cut)
            with pytest.raises(KeyboardInterrupt):
                db.sql(text)
        assert set(db._parts.storage.defined_since) == ({name} if done else set())
    with opened(path) as db:
        assert set(db._parts.storage.defined_since) == ({name} if done else set())
        assert len(db._parts.relations.table("t").columns) == 1 + (done and at == "redefine")
        assert (db._parts.relations.find("m") is None) == (done and at == "undefine")
        if db._parts.relations.find(name) is not None:
            assert goes_on(db, name, since) is not done


def test_a_reader_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "db") as db:
        db.sql("CREATE TABLE t (k INT)")
    with tidings.open(tmp_path / "db", engine="duckdb", read_only=True) as reader:
        for text in ("ALTER TABLE t ADD COLUMN y INT", "DROP TABLE t"):
            with pytest.raises(errors.ReadOnly):
                reader.sql(text)


def test_a_load_begins_anew_if_it_is_made(db: Database) -> None:
    held = position(db, "other")
    with pytest.raises(errors.TidingsError):
        db.load("other", pa.table({"nosuch": [1]}))
    assert goes_on(db, "other", held)
    db.load("other", pa.table({"k": pa.array([1], pa.int32())}))
    assert not goes_on(db, "other", held)
