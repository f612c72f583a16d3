"""Silences as the catalog holds them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

import tidings
from tidings.engine.duckdb import DuckDB
from tidings.store.open import open_in_memory
from tidings.store.rules.silences import SilenceStore


@pytest.fixture
def silences() -> SilenceStore:
    return SilenceStore(open_in_memory(DuckDB()))


def test_a_database_without_rules_makes_no_tables(silences: SilenceStore) -> None:
    assert silences.silences() == []
    assert not silences.storage.has_rule_tables


def test_a_silence_covers_from_its_beginning_and_not_its_end(silences: SilenceStore) -> None:
    made = silences.add(10, 20, rule="r", comment="maintenance")
    assert silences.silences() == [made]
    assert [made.covers(n) for n in (9, 10, 19, 20)] == [False, True, True, False]


def test_ended_silences_stay_known_until_they_are_forgotten(silences: SilenceStore) -> None:
    first, second = silences.add(10, 20, rule="R"), silences.add(10, 20, rule="other", condition="x > 1")
    silences.end(12, [first.id])
    assert [(s.id, s.until) for s in silences.silences()] == [(first.id, 12), (second.id, 20)]
    silences.end(15, [first.id, second.id])
    assert [s.until for s in silences.silences()] == [12, 15]
    silences.forget(100)
    assert [s.id for s in silences.silences()] == [second.id]
    assert silences.add(1, 2, rule="r").id == second.id + 1


def test_a_silence_is_of_a_rule_or_of_a_group(silences: SilenceStore) -> None:
    of_rule, of_group = silences.add(10, 20, rule="Down"), silences.add(10, 20, group="Links")
    silences.reload()
    assert silences.silences() == [of_rule, of_group]
    assert [of_rule.is_of("DOWN", None), of_rule.is_of("up", "down")] == [True, False]
    assert [of_group.is_of("down", "LINKS"), of_group.is_of("links", None), of_group.is_of("a", "b")] == [
        True,
        False,
        False,
    ]


def test_silences_of_an_older_catalog_are_kept(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT); CREATE RULE r WHEN SELECT a FROM t DO NOTIFY 'x' WITH (group = 'g')")
        db.sql("SILENCE RULE r WHERE a > 1 FOR INTERVAL 1 HOUR COMMENT 'why'")
        before = db.query("SELECT * FROM tidings.silences").rows()
    engine = create_engine(f"sqlite:///{tmp_path / 'd' / 'catalog.sqlite'}")
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE silence RENAME TO later"))
        connection.execute(
            text(
                'CREATE TABLE silence (id INTEGER NOT NULL PRIMARY KEY, rule TEXT NOT NULL, "condition" TEXT,'
                ' since BIGINT NOT NULL, "until" BIGINT NOT NULL, "comment" TEXT)'
            )
        )
        columns = 'id, rule, "condition", since, "until", "comment"'
        connection.execute(text(f"INSERT INTO silence SELECT {columns} FROM later"))
        connection.execute(text("DROP TABLE later"))
        connection.execute(text("UPDATE meta SET value = '2' WHERE key = 'version'"))
    engine.dispose()
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        assert db.query("SELECT * FROM tidings.silences").rows() == before
        db.sql("SILENCE GROUP g FOR INTERVAL 1 HOUR")
        assert [(s.rule, s.group) for s in db._parts.rules.silences.store.silences()] == [("r", None), (None, "g")]
