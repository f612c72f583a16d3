"""Every construct of the SQL front end: its delta is the difference of its recomputes, at every instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidings
from tests.laws.constructs import BASE, COMMITS, OURS, QUANTIFIED, SCHEMA, SPARK, Commit
from tidings.engine.row_values import row_keys
from tidings.ir.expression import TIME, WEIGHT


@pytest.fixture(scope="module")
def past() -> Iterator[tuple[tidings.Database, list[int]]]:
    """A database with the whole history behind it, and the time of each commit."""
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1000)) as db:
        yield db, replay(db)


def replay(db: tidings.Database) -> list[int]:
    """The history, committed; the time after each transaction."""
    for name, columns in SCHEMA.items():
        db.sql(f"CREATE TABLE {name} ({columns})")
    times = [db.time]
    first: Commit = [(name, [], rows) for name, rows in BASE.items()]
    for commit in (first, *COMMITS):
        with db.transaction() as tx:
            for table, gone, come in commit:
                if gone:
                    tx.delete(table, gone)
                if come:
                    tx.insert(table, come)
        times.append(db.time)
    return times


def bag(table: pa.Table) -> Counter[Any]:
    return Counter(row_keys(table))


@pytest.mark.parametrize("query", [*SPARK, *OURS])
def test_delta_is_difference_of_recomputes(past: tuple[tidings.Database, list[int]], query: str) -> None:
    db, (start, *times) = past
    state = bag(db.query(query, as_of=start).to_arrow())
    delta = db.changes(query, start, per_commit=True).to_arrow()
    instants, weights = delta[TIME].to_pylist(), delta[WEIGHT].to_pylist()
    keys = row_keys(delta.drop_columns([TIME, WEIGHT]))
    changed = list(zip(keys, instants, weights, strict=True))
    assert len({(k, t) for k, t, _ in changed}) == len(changed), "the delta is not consolidated"
    for at in times:
        for key, _, weight in (c for c in changed if c[1] == at):
            state[key] += weight
        expected = bag(db.query(query, as_of=at).to_arrow())
        assert state == expected, f"at {at}"


@pytest.mark.parametrize("query", QUANTIFIED)
def test_any_and_all_are_those_of_duckdb(past: tuple[tidings.Database, list[int]], query: str) -> None:
    db, times = past
    for at in times:
        with duckdb.connect(":memory:") as connection:
            for table in ("t", "u"):
                connection.register(table, db.query(f"SELECT * FROM {table}", as_of=at).to_arrow())
            expected = connection.execute(query).to_arrow_table()
        assert bag(db.query(query, as_of=at).to_arrow()) == bag(expected), f"at {at}"
