"""What waves make of stored views is in memory and in the journal, or in neither."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.store.stores import folder, new_stored_view, new_table, rows
from tidings.engine.changes import versioned
from tidings.engine.duckdb import DuckDB
from tidings.store import stored_views
from tidings.store.define import define
from tidings.store.open import open_in_memory
from tidings.store.relation.view import StoredView
from tidings.store.storage import Storage


def of_ints(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int32())})


def inserted(at: int, *values: int) -> pa.Table:
    times, ones = pa.array([at] * len(values), pa.int64()), pa.array([1] * len(values), pa.int64())
    return versioned(of_ints(*values), times, ones)


def with_a_view(storage: Storage) -> StoredView:
    """A stored view with the row 1 at the instant 7."""
    view = new_stored_view("SELECT a FROM u")
    define(storage, new_table())
    stored_views.fill(storage, view, {"v": of_ints(1)}, 7)
    define(storage, view)
    return view


def test_a_wave_adds_rows_and_moves_the_cursor(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        view = with_a_view(storage)
        stored_views.advance(storage, view, {"v": inserted(9, 2, 3)}, 10)
        assert (rows(storage, view.rows), view.since, view.until) == ([(1,), (2,), (3,)], 7, 10)
    with folder(tmp_path) as storage:
        (view,) = storage.relations.stored()
        assert (rows(storage, view.rows), view.since, view.until) == ([(1,), (2,), (3,)], 7, 10)


@pytest.mark.parametrize("fills", [False, True])
def test_what_is_not_recorded_is_taken_back(fills: bool) -> None:
    storage = open_in_memory(DuckDB())
    view = with_a_view(storage)
    before = view.rows

    def change_and_fail() -> None:
        with storage.together():
            if fills:
                stored_views.fill(storage, view, {"v": of_ints(5)}, 11)
            else:
                stored_views.advance(storage, view, {"v": inserted(9, 2)}, 11)
            assert view.until == 11
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_and_fail()
    assert view.rows is before
    assert (rows(storage, view.rows), view.until) == ([(1,)], 7)


def test_a_failed_view_says_why_until_it_goes_on(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        stored_views.fail(storage, with_a_view(storage), "no such function")
    with folder(tmp_path) as storage:
        (view,) = storage.relations.stored()
        assert (view.error, view.until) == ("no such function", 7)
        stored_views.advance(storage, view, {}, 8)
        assert view.error is None


def test_an_outdated_view_is_filled_anew(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        view = with_a_view(storage)
        stored_views.outdate(storage, [view])
        assert view.is_outdated
    with folder(tmp_path) as storage:
        (view,) = storage.relations.stored()
        assert view.is_outdated
        stored_views.fill(storage, view, {"v": of_ints(5)}, 20)
    with folder(tmp_path) as storage:
        (view,) = storage.relations.stored()
        assert not view.is_outdated
        assert (rows(storage, view.rows), view.since) == ([(5,)], 20)
