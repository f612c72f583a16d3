"""Queries inside a transaction: over its changes, and what a slice of it changes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.unit.inside import plan_of, scheduler_of
from tidings import Database
from tidings.read import in_transaction


@pytest.fixture
def filled(db: Database) -> Database:
    db.sql("INSERT INTO quantity VALUES (1, 50), (2, 5); INSERT INTO threshold VALUES (1, 10), (2, 10)")
    return db


def entry(db: Database, table: str, time: int, *rows: tuple[Any, ...], weight: int = 1) -> dict[str, pa.Table]:
    """A log entry of a table, by its name."""
    relation = scheduler_of(db).relations.table(table)
    columns = zip(*rows, strict=True)
    values = pa.table([pa.array(c, t) for c, t in zip(columns, relation.schema.types, strict=True)], relation.schema)
    return {table: relation.entry(time, values, [weight] * len(rows))}


def answer(db: Database, text: str, changes: dict[str, pa.Table]) -> list[tuple[Any, ...]]:
    rows = in_transaction.answer(scheduler_of(db), plan_of(db, text), db.time, changes)
    return sorted(tuple(row.values()) for row in rows.to_pylist())


def test_changes_are_on_top_of_what_is_committed(filled: Database) -> None:
    assert answer(filled, "low", {}) == [(2, 5)]
    assert answer(filled, "low", entry(filled, "quantity", filled.time, (3, 1), (1, 2))) == [(1, 2), (2, 5)]
    assert answer(filled, "low", entry(filled, "quantity", filled.time, (2, 5), weight=-1)) == []


def test_the_query_of_a_stored_view_stands_for_it_where_it_is_touched(filled: Database) -> None:
    filled.sql("CREATE MATERIALIZED VIEW counts AS SELECT count(*) AS n FROM quantity")
    assert answer(filled, "SELECT n FROM counts", {}) == [(2,)]
    assert answer(filled, "SELECT n FROM counts", entry(filled, "quantity", filled.time, (3, 1))) == [(3,)]
    assert answer(filled, "SELECT n FROM counts", entry(filled, "threshold", filled.time, (3, 1))) == [(2,)]


def test_replaced_rows_are_all_there_is_of_a_table(filled: Database) -> None:
    rows = entry(filled, "quantity", 0, (1, 1))
    scheduler, plan = scheduler_of(filled), plan_of(filled, "low")
    assert in_transaction.answer(scheduler, plan, filled.time, replaced=rows).to_pylist() == [{"item": 1, "qty": 1}]


def delta(db: Database, text: str, before: dict[str, pa.Table], changes: dict[str, pa.Table]) -> list[tuple[int, int]]:
    plan = plan_of(db, text)
    rows = in_transaction.delta(scheduler_of(db), "result", plan, db.time, before, changes).to_pylist()
    return sorted((row["item"], row["__w"]) for row in rows)


def test_what_a_slice_changes(filled: Database) -> None:
    at = filled.time + 1
    assert delta(filled, "low", {}, entry(filled, "quantity", at, (1, 3))) == [(1, 1)]
    assert delta(filled, "low", {}, entry(filled, "quantity", at, (2, 5), weight=-1)) == [(2, -1)]
    assert delta(filled, "low", {}, {}) == []


def test_a_slice_sees_those_before_it(filled: Database) -> None:
    at = filled.time + 1
    before = entry(filled, "threshold", filled.time, (7, 10))
    assert delta(filled, "low", before, entry(filled, "quantity", at, (7, 3))) == [(7, 1)]
    assert delta(filled, "low", {}, entry(filled, "quantity", at, (7, 3))) == []


def test_over_a_stored_view(filled: Database) -> None:
    filled.sql("CREATE MATERIALIZED VIEW stored_low AS SELECT item FROM low")
    changes = entry(filled, "quantity", filled.time + 1, (1, 3))
    assert delta(filled, "SELECT item FROM stored_low", {}, changes) == [(1, 1)]
