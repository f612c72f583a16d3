"""Rounds of lookups on the engine: one query each, and none for what is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.inside import scheduler_of
from tests.unit.waves.in_process.snapshots import shop
from tidings import Database
from tidings.delta.lookups import Lookup
from tidings.engine.base_lookup import BaseLookup
from tidings.engine.changes import versioned
from tidings.engine.duckdb import DuckDB
from tidings.engine.run import Runner
from tidings.engine.source import Source
from tidings.ir.expression import read
from tidings.ir.relation import Column, Item, Project, Scan, Version
from tidings.waves.on_engine import lookup_rounds, small_relations
from tidings.waves.on_engine.lookup_rounds import LookupRounds
from tidings.waves.on_engine.recent_lookups import RecentLookups
from tidings.waves.on_engine.small_relations import SmallRelations
from tidings.waves.step_inputs import LookupTooLarge, StepInputs

ENOUGH = 1 << 20
"""Bytes for small relations."""
SALE, PART = Column("sale", "bigint"), Column("part", "bigint")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with shop(tmp_path / "shop") as database:
        yield database


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[list[BaseLookup]]:
    """The lookups of each query that the engine is asked, from here on."""
    asked: list[list[BaseLookup]] = []
    look_up = DuckDB.look_up

    def recorded(engine: DuckDB, lookups: list[BaseLookup]) -> list[pa.Table]:
        asked.append(lookups)
        return look_up(engine, lookups)

    monkeypatch.setattr(DuckDB, "look_up", recorded)
    return asked


def lookup(name: str, by: Column, keys: tuple[tuple[str, str], ...]) -> Lookup:
    return Lookup(name, "sales", Version.OLD, (SALE, PART), by, keys)


def rounds(
    db: Database, keys: list[int], relations: SmallRelations | None = None, recent: RecentLookups | None = None
) -> LookupRounds:
    """The lookups of a step that reads the delta of ``changed``, which has some keys."""
    delta = Source((SALE,), None, versioned(pa.table({"sale": pa.array(keys, pa.int64())}), db.time))
    committed = scheduler_of(db).executor.sources(db.time, db.time + 1)

    def sources(relation: str, version: Version) -> Source:
        return delta if relation == "changed" else committed(relation, version)

    inputs = StepInputs(sources, {}, db.time, db.time + 1)
    storage = scheduler_of(db).storage
    relations, recent = relations or SmallRelations(ENOUGH), recent or RecentLookups(ENOUGH)
    return LookupRounds(storage, Runner(storage.backend), relations, recent, inputs)


def sales(made: LookupRounds, name: str) -> list[int]:
    rows = made.inputs.source(name, Version.OLD).changes
    assert isinstance(rows, pa.Table)
    return sorted(rows.column("sale").to_pylist())


BY_SALE = lookup("sales?1", SALE, (("changed", "sale"),))
BY_PART = lookup("sales?2", PART, (("sales?1", "part"),))


@pytest.mark.parametrize("limit", [0, 20_000])
def test_a_lookup_waits_for_the_one_whose_rows_have_its_keys(
    db: Database, queries: list[list[BaseLookup]], limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", limit)
    made = rounds(db, [3, 5000])
    made.fetch((BY_PART, BY_SALE))
    assert sales(made, "sales?1") == [3]
    assert sales(made, "sales?2") == [n for n in range(1000) if n % 10 and n * 7 % 100 == 21]
    assert len(queries) == (1 if limit else 2)


@pytest.mark.parametrize(("limit", "read"), [(ENOUGH, 1), (0, 2)])
def test_small_relations_are_read_once_if_they_fit(
    db: Database, queries: list[list[BaseLookup]], limit: int, read: int
) -> None:
    relations = SmallRelations(limit)
    for key in (3, 4):
        made = rounds(db, [key], relations)
        made.fetch((BY_SALE,))
        assert sales(made, "sales?1") == [key]
    assert len(queries) == read


@pytest.mark.parametrize(("limit", "asked"), [(ENOUGH, 1), (0, 2)])
def test_what_was_looked_up_is_not_looked_up_again_if_it_fits(
    db: Database, queries: list[list[BaseLookup]], limit: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    recent = RecentLookups(limit)
    for keys in ([3, 4], [4]):
        made = rounds(db, keys, recent=recent)
        made.fetch((BY_SALE,))
        assert sales(made, "sales?1") == keys
    assert len(queries) == asked


def test_without_keys_nothing_is_asked(db: Database, queries: list[list[BaseLookup]]) -> None:
    made = rounds(db, [])
    made.fetch((BY_SALE, BY_PART))
    assert sales(made, "sales?2") == []
    assert not queries


def test_computed_keys_are_a_query_of_their_own(
    db: Database, queries: list[list[BaseLookup]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    delta = Scan("changed", "changed", (SALE,), Version.DELTA)
    plan = Project(delta, "keys", (Item("key", "bigint", read("COALESCE(changed.sale, 7) + 1")),))
    made = rounds(db, [3, 5])
    made.fetch((replace(BY_SALE, keys=(), plan=plan),))
    assert sales(made, "sales?1") == [4, 6]
    assert len(queries) == 1


def test_of_a_small_relation_computed_keys_take_all_rows(db: Database, queries: list[list[BaseLookup]]) -> None:
    made = rounds(db, [3])
    made.fetch((replace(BY_SALE, keys=(), plan=Scan("changed", "changed", (SALE,), Version.DELTA)),))
    assert sales(made, "sales?1") == list(range(1000))
    assert len(queries) == 1


def test_a_large_relation_is_not_read_whole(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    with pytest.raises(LookupTooLarge, match="sales is read whole"):
        rounds(db, [3]).fetch((replace(BY_SALE, keys=(), column=None),))


@pytest.mark.parametrize(
    ("limit", "message"), [("KEYS_LIMIT", "2 keys are looked up"), ("ROWS_LIMIT", "about 2 rows are looked up")]
)
def test_too_much_is_refused(db: Database, limit: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    monkeypatch.setattr(lookup_rounds, limit, 1)
    with pytest.raises(LookupTooLarge, match=message):
        rounds(db, [3, 4]).fetch((BY_SALE,))
