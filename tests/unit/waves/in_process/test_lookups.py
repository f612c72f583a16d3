"""The lookups of a step: which rows they fetch, what the log adds, and what is asked of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.inside import in_process_of, scheduler_of
from tests.unit.schema import plan
from tests.unit.waves.in_process.snapshots import shop
from tidings import Database
from tidings.delta.lookups import Lookup
from tidings.engine.backend import Backend
from tidings.engine.changes import versioned
from tidings.engine.source import Source
from tidings.ir.relation import Column, Version
from tidings.waves.in_process import lookups as step_lookups
from tidings.waves.in_process import snapshot_reader
from tidings.waves.in_process.lookups import StepLookups
from tidings.waves.step_inputs import LookupTooLarge, StepInputs

KEY = Column("sale", "bigint")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with shop(tmp_path / "shop") as database:
        yield database


def lookup(db: Database, name: str = "sales?1") -> Lookup:
    columns = scheduler_of(db).relations.table("sales").columns
    return Lookup(name, "sales", Version.OLD, columns, KEY, (("changed", "sale"),))


def lookups(db: Database, keys: list[int], step_deltas: Mapping[str, Source] | None = None) -> StepLookups:
    """The lookups of a step that reads the delta of ``changed``, which has some keys."""
    delta = Source((KEY,), None, versioned(pa.table({"sale": pa.array(keys, pa.int64())}), db.time))
    committed = scheduler_of(db).executor.sources(db.time, db.time + 1)

    def sources(relation: str, version: Version) -> Source:
        return delta if relation == "changed" else committed(relation, version)

    inputs, runner = StepInputs(sources, step_deltas or {}, db.time, db.time + 1), in_process_of(db)
    storage = scheduler_of(db).storage
    return StepLookups(
        storage, runner.second_runner, runner._small_steps, runner._snapshots, runner._lookup_cache, inputs
    )


def fetched(work: StepLookups, name: str = "sales?1") -> list[tuple[int, int]]:
    """The numbers of the rows of a lookup, with their weights."""
    rows = work.inputs.source(name, Version.OLD).changes
    assert isinstance(rows, pa.Table)
    return sorted((row["sale"], row["__w"]) for row in rows.to_pylist())


def test_the_rows_of_the_keys(db: Database) -> None:
    work = lookups(db, [3, 999, 3, 5000])
    work.fetch((lookup(db),))
    assert fetched(work) == [(3, 1), (999, 1)]
    assert work.rows_read == 2


def test_the_log_is_on_top_of_the_base(db: Database) -> None:
    db.sql("DELETE FROM sales WHERE sale IN (3, 4); INSERT INTO sales VALUES (5000, 1, 1)")
    work = lookups(db, [3, 999, 5000])
    work.fetch((lookup(db),))
    assert fetched(work) == [(3, -1), (3, 1), (999, 1), (5000, 1)]


def test_without_keys_nothing_is_read(db: Database) -> None:
    work = lookups(db, [])
    work.fetch((lookup(db),))
    assert (fetched(work), work.rows_read) == ([], 0)


def test_what_is_in_no_file_is_asked_of_the_engine_in_one_query(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_of(db).storage.snapshots, "files", {})
    asked: list[int] = []
    look_up = type(scheduler_of(db).storage.backend).look_up

    def counted(backend: Backend, wanted: list[object]) -> object:
        asked.append(len(wanted))
        return look_up(backend, wanted)  # type: ignore[arg-type]

    monkeypatch.setattr(type(scheduler_of(db).storage.backend), "look_up", counted)
    work = lookups(db, [3, 999])
    work.fetch((lookup(db), lookup(db, "sales?2")))
    assert asked == [2]
    assert fetched(work) == fetched(work, "sales?2") == [(3, 1), (999, 1)]


def test_not_with_too_many_keys(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_of(db).storage.snapshots, "files", {})
    monkeypatch.setattr(step_lookups, "KEYS_LIMIT", 1)
    with pytest.raises(LookupTooLarge, match="2 keys are looked up in sales"):
        lookups(db, [3, 999]).fetch((lookup(db),))


def test_a_lookup_is_made_once_per_batch(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    work = lookups(db, [3])
    work.fetch((lookup(db),))
    other = StepLookups(
        work.storage,
        work.second_runner,
        work.small_steps,
        work.snapshots,
        work.cache,
        StepInputs(work.inputs.sources, {}, 0, 1),
    )
    monkeypatch.setattr(snapshot_reader.SnapshotReader, "rows", None)
    other.fetch((lookup(db),))
    assert (fetched(other), other.rows_read) == ([(3, 1)], 0)


def test_keys_from_a_lower_step(db: Database) -> None:
    """They belong to one program, so the rows are not shared."""
    delta = Source((KEY,), None, versioned(pa.table({"sale": pa.array([8], pa.int64())}), db.time))
    work = lookups(db, [3], {"changed": delta})
    work.fetch((lookup(db),))
    assert fetched(work) == [(8, 1)]
    assert not work.cache._rows


def test_keys_that_a_plan_finds(db: Database) -> None:
    """The rows are shared by programs whose plans read the same changes, unless these are of a lower step."""
    keys = plan("""
        project keys [sale bigint := changed.sale + 1]
          scan delta changed changed [sale bigint]
        """)
    wanted = replace(lookup(db), keys=(), plan=keys)
    work = lookups(db, [3])
    work.fetch((wanted,))
    again = lookups(db, [3])
    again.inputs.sources = work.inputs.sources
    again.fetch((wanted,))
    assert fetched(work) == fetched(again) == [(4, 1)]
    assert (work.rows_read, again.rows_read) == (1, 0)
    delta = work.inputs.source("changed", Version.DELTA)
    own = lookups(db, [], {"changed": delta})
    own.fetch((wanted,))
    assert (fetched(own), own.rows_read) == ([(4, 1)], 1)
