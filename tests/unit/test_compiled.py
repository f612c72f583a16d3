"""Compiled things have one owner: keys by identity, sections, and nothing left after a definition changes."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import tidings
from tests.unit.inside import compiled_of
from tests.unit.schema import bound
from tidings.compiled import CompiledPlans, Identity


class Watched:
    """An object that can be watched."""


def test_equal_objects_are_different_keys() -> None:
    plan, twin = bound("SELECT a FROM t"), bound("SELECT a FROM t")
    assert plan == twin
    keys = {Identity(plan): "plan", Identity(twin): "twin"}
    assert (keys[Identity(plan)], keys[Identity(twin)]) == ("plan", "twin")
    assert Identity(plan) != plan


def test_a_key_keeps_its_object_alive() -> None:
    thing = Watched()
    watched, section = weakref.ref(thing), {Identity(thing): 1}
    del thing
    gc.collect()
    assert watched() is not None
    section.clear()
    gc.collect()
    assert watched() is None


def test_forget_empties_every_section_and_calls_back() -> None:
    compiled, calls = CompiledPlans(), list[str]()
    plans, programs = compiled.section(), compiled.section()
    plans["a"], programs["b"] = 1, 2
    compiled.on_forget(lambda: calls.append("released"))
    compiled.forget()
    assert (plans, programs, calls) == ({}, {}, ["released"])


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE TABLE u (k INT)",
        "CREATE OR REPLACE VIEW v AS SELECT k FROM t",
        "ALTER TABLE t ADD COLUMN y INT",
        "DROP VIEW v",
    ],
)
def test_nothing_compiled_outlives_a_definition(tmp_path: Path, definition: str) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb", execution="auto", clock=tidings.ManualClock(1)) as db:
        db.sql("CREATE TABLE t (k INT, x INT); CREATE VIEW v AS SELECT k FROM t WHERE x > 1")
        db.sql("INSERT INTO t VALUES (1, 2)")
        assert len(db.changes("v").rows()) == 1
        assert len(db.changes("SELECT x, count(*) AS n FROM t GROUP BY x").rows()) == 1
        sections = compiled_of(db)._sections
        assert sum(map(len, sections)) > 5
        db.sql(definition)
        assert [section for section in sections if section] == []


def test_a_section_forgets_what_was_used_the_longest_time_ago() -> None:
    compiled = CompiledPlans(definitions=lambda: 1)
    section = compiled.section()
    section["kept"] = 0
    for number in range(3 * compiled.limit()):
        section[number] = number
        assert section.get("kept") == 0
    assert len(section) == compiled.limit()
    assert list(section)[-2:] == [number, "kept"]


def test_queries_with_other_constants_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.compiled.FEW", 20)
    monkeypatch.setattr("tidings.compiled.PER_DEFINITION", 1)
    monkeypatch.setattr("tidings.engine.duckdb.prepared_queries.PREPARED", 20)
    monkeypatch.setattr("tidings.waves.in_process.small_steps.INTERPRETED_LIMIT", -1)
    with tidings.open(engine="duckdb", execution="auto", clock=tidings.ManualClock(1)) as db:
        db.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE u (k INT); INSERT INTO u VALUES (1)")
        for number in range(60):
            db.sql(f"INSERT INTO t VALUES (1, {number})")
            query = f"SELECT t.x FROM t JOIN u ON t.k = u.k WHERE t.x >= {number}"
            assert db.query(query).rows() == [{"x": number}]
            assert [c.row["x"] for c in db.changes(query, since=db.time - 1).rows()] == [number]
        sections = compiled_of(db)._sections
        assert max(map(len, sections)) <= compiled_of(db).limit() < 60
