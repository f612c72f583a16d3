"""Rows that were looked up a short while ago."""

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
from tidings.ir.relation import Column, Version
from tidings.store.relation.table import Table
from tidings.waves.on_engine.recent_lookups import RecentLookups

ENOUGH = 1 << 20
SALE, PART = Column("sale", "bigint"), Column("part", "bigint")
BY_SALE = Lookup("sales?1", "sales", Version.OLD, (SALE,), SALE, (("changed", "sale"),))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with shop(tmp_path / "shop") as database:
        yield database


def sales(db: Database) -> Table:
    return scheduler_of(db).relations.table("sales")


def keys(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


def look_up(db: Database, recent: RecentLookups, lookup: Lookup, wanted: pa.Array) -> tuple[str, ...]:
    """Make a lookup; the columns that were fetched."""
    asked = recent.lookup(sales(db), lookup, wanted)
    (rows,) = scheduler_of(db).storage.backend.look_up([asked])
    recent.add(sales(db), lookup, wanted, rows)
    return tuple(rows.column_names)


def found(db: Database, recent: RecentLookups, lookup: Lookup, wanted: pa.Array) -> list[int] | None:
    rows = recent.rows(sales(db), lookup, wanted)
    return None if rows is None else sorted(rows.column("sale").to_pylist())


def test_the_same_keys_and_fewer_are_there(db: Database) -> None:
    recent = RecentLookups(ENOUGH)
    assert found(db, recent, BY_SALE, keys(1, 2)) is None
    look_up(db, recent, BY_SALE, keys(1, 2, 3))
    assert found(db, recent, BY_SALE, keys(3, 2, 1)) == [1, 2, 3]
    assert found(db, recent, BY_SALE, keys(2, None)) == [2]
    assert found(db, recent, BY_SALE, keys()) == []


@pytest.mark.parametrize(
    "other",
    [
        replace(BY_SALE, columns=(SALE, PART)),
        replace(BY_SALE, column=PART, columns=(SALE, PART)),
        replace(BY_SALE, nulls=True),
    ],
)
def test_other_lookups_are_not_there(db: Database, other: Lookup) -> None:
    recent = RecentLookups(ENOUGH)
    look_up(db, recent, BY_SALE, keys(1, 2))
    assert found(db, recent, other, keys(1)) is None
    assert found(db, recent, BY_SALE, keys(1, 3)) is None


def test_columns_that_were_asked_for_are_fetched_again(db: Database) -> None:
    recent = RecentLookups(ENOUGH)
    assert look_up(db, recent, replace(BY_SALE, columns=(PART,)), keys(1)) == ("sale", "part")
    assert look_up(db, recent, BY_SALE, keys(2)) == ("sale", "part")


def test_another_base_is_asked_anew(db: Database) -> None:
    recent = RecentLookups(ENOUGH)
    look_up(db, recent, BY_SALE, keys(1, 2))
    db.sql("DELETE FROM sales WHERE sale = 1")
    db.fold()
    assert found(db, recent, BY_SALE, keys(1, 2)) is None


def test_what_was_used_longest_ago_gives_way(db: Database) -> None:
    recent = RecentLookups(limit=2 * 16)  # two answers of one key and one row
    look_up(db, recent, BY_SALE, keys(1))
    look_up(db, recent, BY_SALE, keys(2))
    assert found(db, recent, BY_SALE, keys(1)) == [1]
    look_up(db, recent, BY_SALE, keys(3))
    assert [found(db, recent, BY_SALE, keys(n)) for n in (1, 2, 3)] == [[1], None, [3]]
    recent.forget()
    assert found(db, recent, BY_SALE, keys(3)) is None
