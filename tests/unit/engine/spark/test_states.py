"""States on Spark: a base less what went and with what came, as bags, by key or by the rows themselves."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidings.engine.arrow import arrow_schema
from tidings.engine.plain_rows import plain_rows
from tidings.engine.row_values import row_keys
from tidings.engine.source import Source
from tidings.engine.spark import Spark, states
from tidings.ir.relation import Column

pytestmark = pytest.mark.spark

Row = tuple[Any, ...]
NAN = float("nan")

PLAIN = (Column("x", "int"), Column("odd `name", "string"))
KEYED = (Column("a", "bigint"), Column("b", "string"), Column("v", "double"))
MAPS = (Column("x", "int"), Column("m", "map<string,int>"))
NESTED = (Column("m", "map<string,int>"), Column("s", "struct<a:int,b:array<int>>"), Column("t", "boolean"))


@pytest.fixture(scope="module")
def engine(spark: Any) -> Iterator[Spark]:
    engine = Spark(spark)
    yield engine
    engine.close()


def state(
    engine: Spark, columns: tuple[Column, ...], base: list[Row], changes: list[tuple[Row, int]], *key: str
) -> Counter[Any]:
    """The rows that Spark reads, with how often; checked against adding up."""
    rows = pa.Table.from_pylist([_named(columns, row) for row in base], schema=arrow_schema(columns))
    entries = [{**_named(columns, row), "__t": 1, "__w": weight} for row, weight in changes]
    engine.load("b", columns, rows, columns[0].name)
    log = pa.Table.from_pylist(entries, schema=arrow_schema(columns, versioned=True))
    engine.plain("s", Source(columns, "b", log, key))
    expected = Counter(row_keys(rows))
    for row, weight in zip(row_keys(log.drop_columns(["__t", "__w"])), log.column("__w").to_pylist(), strict=True):
        expected[row] += weight
    assert min(expected.values(), default=0) >= 0, "a row may only go if it is there"
    found = Counter(row_keys(engine.fetch("SELECT * FROM s", columns)))
    assert found == +expected
    return found


def _named(columns: tuple[Column, ...], row: Row) -> dict[str, Any]:
    return dict(zip((c.name for c in columns), row, strict=True))


def test_rows_go_by_key(engine: Spark) -> None:
    base = [(1, "x", 0.5), (1, "y", 0.5), (2, "x", NAN), (3, "x", -0.0)]
    changes = [((1, "x", 0.5), -1), ((1, "x", 1.5), 1), ((2, "x", NAN), -1), ((3, "x", 0.0), -1), ((4, "z", 0.0), 1)]
    assert sum(state(engine, KEYED, base, changes, "a", "b").values()) == 3


def test_a_row_that_went_and_came_again_is_there(engine: Spark) -> None:
    changes = [((1, "x", 0.5), -1), ((1, "x", 0.7), 1), ((1, "x", 0.7), -1), ((1, "x", 0.5), 1)]
    assert state(engine, KEYED, [(1, "x", 0.5)], changes, "a", "b") == Counter({(1, "x", 0.5): 1})


def test_null_is_a_value_of_keys(engine: Spark) -> None:
    base = [(None, "x", 1.0), (None, None, 2.0), (1, None, 3.0)]
    assert sum(state(engine, KEYED, base, [((None, None, 2.0), -1), ((1, None, 3.0), -1)], "a", "b").values()) == 1


def test_equal_rows_go_one_by_one(engine: Spark) -> None:
    base = [(1, "a")] * 3 + [(1, "b"), (None, "a"), (None, None)]
    changes = [((1, "a"), -2), ((None, "a"), -1), ((2, "c"), 2)]
    assert state(engine, PLAIN, base, changes) == Counter({(1, "a"): 1, (1, "b"): 1, (None, None): 1, (2, "c"): 2})


def test_maps_and_other_nested_values(engine: Spark) -> None:
    state(engine, MAPS, [(1, {"a": 1}), (1, {"a": 2}), (2, None)], [((1, {"a": 1}), -1), ((2, None), -1)])
    state(engine, MAPS, [(1, {"a": 1}), (2, {"a": 1})], [((1, {"a": 1}), -1), ((3, {"a": 1}), 1)], "m")
    rows = [({"a": 1}, {"a": 1, "b": [1]}, True), ({"a": 1}, {"a": 1, "b": None}, True), (None, None, None)]
    state(engine, NESTED, [*rows, *rows], [(rows[0], -1), (rows[1], -2), (rows[2], -1)])


@pytest.mark.parametrize("seed", range(6))
def test_random_bags(engine: Spark, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(states, "_BROADCAST", rng.choice([0, 1_000_000]))
    domain = [(x, name) for x in (None, 1, 2, 3) for name in (None, "a", "b")]
    base = rng.choices(domain, k=30)
    there, changes = Counter(base), []
    for _ in range(20):
        row, weight = rng.choice(domain), rng.choice([-2, -1, 1, 2])
        if there[row] + weight >= 0:
            there[row] += weight
            changes.append((row, weight))
    state(engine, PLAIN, base, changes)


def test_a_state_is_prepared_once(engine: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = []

    def counted(changes: pa.Table, *, has_base: bool) -> tuple[pa.Table, pa.Table]:
        prepared.append(changes)
        return plain_rows(changes, has_base=has_base)

    monkeypatch.setattr(states, "plain_rows", counted)
    log = arrow_schema(PLAIN, versioned=True).empty_table()
    engine.load("c", PLAIN, arrow_schema(PLAIN).empty_table(), "x")
    source = Source(PLAIN, "c", log)
    engine.plain("once", source)
    engine.plain("once", source)
    assert len(prepared) == 1
    engine.plain("once", Source(PLAIN, "c", log))
    assert len(prepared) == 2


def test_what_a_state_is_made_of_goes_with_it(engine: Spark) -> None:
    size = 60_000
    keys = pa.array(range(size), pa.int64())
    rows = pa.table({"k": keys}, schema=arrow_schema([Column("k", "bigint")]))
    columns = (Column("k", "bigint"),)
    engine.load("d", columns, rows, "k")
    assert engine.base("d").count() == size  # rows of this process are brought to Spark when they are asked for
    gone = rows.append_column("__t", pa.repeat(pa.scalar(1, pa.int64()), size))
    log = gone.append_column("__w", pa.repeat(pa.scalar(-1, pa.int64()), size))
    assert engine.scratch is not None
    assert engine.scratch._folder is not None
    folder = Path(engine.scratch._folder.path)
    before = set(folder.iterdir())
    engine.plain("all_gone", Source(columns, "d", log, ("k",)))
    assert set(folder.iterdir()) > before
    assert engine.fetch("SELECT * FROM all_gone").num_rows == 0
    engine.unload("d")
    assert not set(folder.iterdir()) - before
