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
from tidings.waves.on_engine.lookup_rounds import LookupRounds, fetch_together
from tidings.waves.on_engine.recent_lookups import RecentLookups
from tidings.waves.on_engine.small_relations import SmallRelations
from tidings.waves.step_inputs import StepInputs

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
    fetch_together([(made, (BY_PART, BY_SALE))])
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
        fetch_together([(made, (BY_SALE,))])
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
        fetch_together([(made, (BY_SALE,))])
        assert sales(made, "sales?1") == keys
    assert len(queries) == asked


def test_without_keys_nothing_is_asked(db: Database, queries: list[list[BaseLookup]]) -> None:
    made = rounds(db, [])
    fetch_together([(made, (BY_SALE, BY_PART))])
    assert sales(made, "sales?2") == []
    assert not queries


def test_computed_keys_are_a_query_of_their_own(
    db: Database, queries: list[list[BaseLookup]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    delta = Scan("changed", "changed", (SALE,), Version.DELTA)
    plan = Project(delta, "keys", (Item("key", "bigint", read("COALESCE(changed.sale, 7) + 1")),))
    made = rounds(db, [3, 5])
    fetch_together([(made, (replace(BY_SALE, keys=(), plan=plan),))])
    assert sales(made, "sales?1") == [4, 6]
    assert len(queries) == 1


def test_of_a_small_relation_computed_keys_take_all_rows(db: Database, queries: list[list[BaseLookup]]) -> None:
    made = rounds(db, [3])
    fetch_together([(made, (replace(BY_SALE, keys=(), plan=Scan("changed", "changed", (SALE,), Version.DELTA)),))])
    assert sales(made, "sales?1") == list(range(1000))
    assert len(queries) == 1


def test_a_large_relation_is_not_read_whole(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    made = rounds(db, [3])
    fetch_together([(made, (replace(BY_SALE, keys=(), column=None),))])
    assert made.too_large == "sales is read whole"


@pytest.mark.parametrize(
    ("limit", "message"), [("KEYS_LIMIT", "2 keys are looked up"), ("ROWS_LIMIT", "about 2 rows are looked up")]
)
def test_too_much_is_refused(db: Database, limit: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    monkeypatch.setattr(lookup_rounds, limit, 1)
    made, other = rounds(db, [3, 4]), rounds(db, [5])
    fetch_together([(made, (BY_SALE,)), (other, (BY_SALE,))])
    assert made.too_large is not None
    assert made.too_large.startswith(message)
    assert other.too_large is None
    assert sales(other, "sales?1") == [5]


def test_the_lookups_of_several_steps_are_one_query_per_round(
    db: Database, queries: list[list[BaseLookup]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    first, second = rounds(db, [3]), rounds(db, [3])
    fetch_together([(first, (BY_SALE,)), (second, (BY_PART, BY_SALE))])
    assert sales(first, "sales?1") == sales(second, "sales?1") == [3]
    assert sales(second, "sales?2") == list(range(3, 1000, 100))
    assert [len(lookups) for lookups in queries] == [1, 1]
