"""Waves in this process: what is held in memory, which steps are the engine's, and what becomes of what fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tidings.engine.duckdb import DuckDB
from tidings.waves.in_process import snapshot_reader
from tidings.waves.in_process.lookups import StepLookups
from tidings.waves.in_process.runner import InProcessRunner
from tidings.waves.strategy import Strategy

ROWS = 3_000


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tidings.Database]:
    """Parts and their sales, so many that lookups by another column than the key go through all of them."""
    for name, value in (("WHOLE_LIMIT", 10), ("FEW_ROW_GROUPS", 0), ("MANY_ROW_GROUPS", -1)):
        monkeypatch.setattr(snapshot_reader, name, value)
    clock = tidings.ManualClock(1)
    with tidings.open(tmp_path / "shop", engine="duckdb", execution="auto", clock=clock, retention=None) as db:
        db.sql("""
            CREATE TABLE parts (part BIGINT PRIMARY KEY, name STRING, price DECIMAL(10, 2));
            CREATE TABLE sales (sale BIGINT PRIMARY KEY, part BIGINT, amount INT);
        """)
        numbers = pa.array(range(ROWS), pa.int64())
        prices = pa.repeat(pa.scalar("1.50"), ROWS).cast(pa.decimal128(10, 2))
        db.load("parts", pa.table({"part": numbers, "name": numbers.cast(pa.string()), "price": prices}))
        of = pa.array([n * 7 % 500 for n in range(ROWS)], pa.int64())
        db.load("sales", pa.table({"sale": numbers, "part": of, "amount": pa.repeat(pa.scalar(2, pa.int32()), ROWS)}))
        yield db


def in_process_runner(db: tidings.Database) -> InProcessRunner:
    found = db._parts.scheduler.engines.in_process
    assert found is not None
    return found


JOIN = "SELECT s.sale, p.name, s.amount * p.price AS paid FROM sales s JOIN parts p ON p.part = s.part"


def rise(db: tidings.Database, part: int, query: str = JOIN) -> int:
    """Raise the price of a part; how many rows of a query come."""
    before = db.time
    db.sql(f"UPDATE parts SET price = price + 1 WHERE part = {part}")
    changes = db.changes(query, since=before)
    assert db.waves()[-1].execution == "in-process"
    return len(changes.additions())


def held(db: tidings.Database) -> dict[str, set[str]]:
    """The columns in memory, by table."""
    tables = {db._parts.relations.table(name).id: name for name in ("parts", "sales")}
    found = in_process_runner(db)._snapshot_cache._cached.items()
    return {tables[id]: {c.name for c in cached.columns} for id, cached in found if cached.columns}


def test_what_is_gone_through_twice_is_held(db: tidings.Database) -> None:
    assert rise(db, 3) == 6
    assert held(db) == {}
    assert rise(db, 4) == 6
    assert held(db) == {"sales": {"sale", "part", "amount"}}
    assert rise(db, 5) == 6
    assert rise(db, 600) == 0


def test_only_what_lookups_want_is_held(db: tidings.Database) -> None:
    few = "SELECT p.name FROM parts p JOIN sales s ON s.part = p.part"
    for part in (3, 4):
        rise(db, part, few)
        rise(db, part, "SELECT p.name, s.amount FROM parts p JOIN sales s ON s.part = p.part")
    assert held(db) == {"sales": {"part", "amount"}}


def test_without_room_nothing_is_held(db: tidings.Database) -> None:
    in_process = db._parts.scheduler.engines.in_process
    assert in_process is not None
    in_process.second.held_limit = 100
    assert [rise(db, part) for part in (3, 4, 5)] == [6, 6, 6]
    assert held(db) == {}


def test_what_turns_out_to_be_too_large_is_not_tried_again(
    db: tidings.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def full(_: DuckDB, name: str, *__: object) -> None:
        tried.append(name)
        raise tidings.errors.EngineFailed(engine="duckdb", reason="Out of Memory Error")

    monkeypatch.setattr(DuckDB, "hold", full)
    assert [rise(db, part) for part in (3, 4, 5, 600)] == [6, 6, 6, 0]
    assert (held(db), len(tried)) == ({}, 2)


def test_the_second_engine_has_a_part_of_the_memory() -> None:
    engine = DuckDB(memory=100_000_000)
    with pytest.raises(tidings.errors.EngineFailed, match="failed to allocate"):
        engine.fetch("SELECT array_agg(hash(range)) FROM range(20_000_000)")
    engine.close()


def test_a_new_snapshot_is_gone_through_anew(db: tidings.Database) -> None:
    assert [rise(db, part) for part in (3, 4)] == [6, 6]
    db.sql("INSERT INTO sales VALUES (100000, 3, 1)")
    db.fold()
    assert rise(db, 3) == 7
    assert rise(db, 3) == 7


def test_columns_that_are_added_are_there(db: tidings.Database) -> None:
    assert [rise(db, part) for part in (3, 4)] == [6, 6]
    db.sql("ALTER TABLE sales ADD COLUMN place STRING DEFAULT 'here'")
    by_place = "SELECT s.place, p.price FROM sales s JOIN parts p ON p.part = s.part AND s.place = 'here'"
    assert rise(db, 3, by_place) == 6
    db.sql("UPDATE sales SET place = 'there' WHERE sale = 429")
    assert [rise(db, part, by_place) for part in (3, 3, 4)] == [5, 5, 6]


def test_a_step_that_is_not_agreed_on_is_the_engines(db: tidings.Database) -> None:
    db.function("third", takes=["double"], returns="double", each=True)(lambda whole: whole / 3)
    shares = "SELECT name, third(CAST(SUM(paid) AS DOUBLE)) AS third FROM (SELECT * FROM paid) GROUP BY name"
    db.sql(f"CREATE VIEW paid AS {JOIN}; CREATE MATERIALIZED VIEW thirds WITH (refresh = 'manual') AS {shares}")
    db.sql("UPDATE parts SET price = 7.5 WHERE part = 3")
    db.refresh("thirds")
    assert db.waves()[-1].execution == "in-process"
    *others, last = [s for steps in in_process_runner(db)._prepared.values() for s in steps]
    assert last.disagreement is not None
    assert others
    assert all(s.disagreement is None for s in others)
    assert db.query("SELECT * FROM thirds WHERE name = '3'").rows() == db.query(f"{shares} HAVING name = '3'").rows()


def test_such_a_step_may_read_the_states_of_what_is_made_here(db: tidings.Database) -> None:
    sold = "SELECT part, SUM(amount) AS sold FROM sales GROUP BY part"
    db.function("written", takes=["bigint"], returns="string", each=True)(str)
    query = f"SELECT s.sale, written(g.sold) AS sold FROM ({sold}) g JOIN sales s ON s.part = g.part"
    db.sql(f"CREATE MATERIALIZED VIEW shown WITH (refresh = 'manual') AS {query}")
    db.sql("INSERT INTO sales VALUES (9001, 3, 7), (9002, 3, 8), (9003, 9000, 1); DELETE FROM sales WHERE part = 4")
    db.refresh("shown")
    grouping, last = next(iter(in_process_runner(db)._prepared.values()))
    assert (grouping.disagreement, last.disagreement is None) == (None, False)
    assert sorted(r["sold"] for r in db.query("SELECT * FROM shown WHERE sale > 9000").rows()) == ["1", "27", "27"]
    assert db.query("SELECT * FROM shown EXCEPT ALL " + query).rows() == []
    assert db.query(f"{query} EXCEPT ALL SELECT * FROM shown").rows() == []


def test_what_fails_here_is_the_engines(db: tidings.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> object:
        raise tidings.errors.EngineFailed(engine="duckdb", reason="out of memory")

    monkeypatch.setattr(StepLookups, "fetch", fails)
    before = db.time
    db.sql("UPDATE parts SET price = 7.5 WHERE part = 3")
    assert len(db.changes(JOIN, since=before).additions()) == 6
    record = db.waves()[-1]
    assert (record.execution, "out of memory" in record.why) == ("duckdb", True)


def test_a_recompute_runs_here_too(db: tidings.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW least WITH (refresh = 'manual') AS SELECT MIN(price) AS least FROM parts")
    db.sql("UPDATE parts SET price = 0.5 WHERE part = 3; DELETE FROM parts WHERE part = 9")
    db._parts.scheduler.planner.only = Strategy.RECOMPUTE
    db.refresh("least")
    record = db.waves()[-1]
    assert (record.strategy, record.execution) == ("recompute and diff", "in-process")
    assert [str(r["least"]) for r in db.query("least").rows()] == ["0.50"]
