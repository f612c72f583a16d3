"""The law of lookups on the engine: a wave over rows that were looked up first says what a wave over the states says.

DuckDB stands in for Spark here, which looks rows up first by itself; the laws on Spark cover it there.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.laws import oracle
from tests.laws.grouped_views import grouped_case
from tests.laws.replay import replayed
from tests.laws.seeds import chunks
from tests.laws.test_history import live
from tests.laws.test_keyed_operators import check, recomputed
from tests.laws.test_rules import life
from tidings.engine import run
from tidings.engine.duckdb import DuckDB
from tidings.front.choices import StrategyChoice
from tidings.store.storage import Storage
from tidings.waves.on_engine import lookup_rounds, small_relations


def _any_fanout(_storage: Storage, relation: str, column: str) -> float:
    return float(zlib.crc32(f"{relation}.{column}".encode()))


WAYS: dict[str, dict[tuple[Any, str], object]] = {
    "by keys": {(small_relations, "SMALL_RELATION"): 0},
    "small relations whole": {},
    "by other columns": {(small_relations, "SMALL_RELATION"): 0, (Storage, "fanout_of"): _any_fanout},
    "too large": {(small_relations, "SMALL_RELATION"): 0, (lookup_rounds, "ROWS_LIMIT"): 8},
}
"""Ways to look rows up, and the limits at which each is the only one; what is too large is read as it is."""


@pytest.fixture(autouse=True)
def looking_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let DuckDB look rows up first, and nothing be small without that."""
    monkeypatch.setattr(DuckDB, "looks_up_first", True)
    monkeypatch.setattr(run, "LIST_LIMIT", 0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seeds", chunks(40, quick=10, size=10))
def test_waves_over_rows_looked_up_are_right(seeds: range, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for (module, name), value in WAYS[way].items():
        monkeypatch.setattr(module, name, value)
    looked_up = 0
    for seed in seeds:
        it, answers = recomputed(seed)
        with replayed(it, strategy="differential") as db:
            for view in it.views:
                check(it, db, view.name, answers[view.name])
            looked_up += sum("look up" in wave.seconds for wave in db.waves())
    assert looked_up


@pytest.mark.parametrize("strategy", ["differential", "recompute"])
@pytest.mark.parametrize("limit", [0, 20_000])
@pytest.mark.parametrize("seeds", chunks(30, quick=5, size=10))
def test_stored_groups_are_right(
    seeds: range, limit: int, strategy: StrategyChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are looked up by keys such as ``COALESCE(s, 'none')``, too; small ones are compared in this process."""
    monkeypatch.setattr(small_relations, "SMALL_RELATION", limit)
    for seed in seeds:
        it = grouped_case(seed)
        answers = oracle.recompute_on_duckdb(it)[it.view]
        live(it, answers, tmp_path / f"{seed}.tidings", engine="duckdb", execution="spark", strategy=strategy)


@pytest.mark.parametrize("seeds", chunks(20, quick=5, size=5))
def test_rules_over_rows_looked_up_are_right(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conditions inside of transactions, too; odd seeds would run them in this process."""
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    for seed in seeds:
        life(2 * seed)
