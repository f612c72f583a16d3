"""Silences as the catalog holds them."""

from __future__ import annotations

import pytest

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
    made = silences.add("r", None, 10, 20, "maintenance")
    assert silences.silences() == [made]
    assert [made.covers(n) for n in (9, 10, 19, 20)] == [False, True, True, False]


def test_ended_silences_stay_known_until_they_are_forgotten(silences: SilenceStore) -> None:
    first, second = silences.add("R", None, 10, 20, None), silences.add("other", "x > 1", 10, 20, None)
    silences.end(12, rule="r")
    assert [(s.id, s.until) for s in silences.silences()] == [(first.id, 12), (second.id, 20)]
    silences.end(15, id=second.id)
    assert [s.until for s in silences.silences()] == [12, 15]
    silences.forget(100)
    assert [s.id for s in silences.silences()] == [second.id]
    assert silences.add("r", None, 1, 2, None).id == second.id + 1
