"""Rows written before a table got the columns it has now."""

from __future__ import annotations

import pyarrow as pa

from tidings.ir.relation import Column
from tidings.store.relation.schema_evolution import added_values, places_kept, value_text, with_current_columns

COLUMNS = [Column("a", "bigint"), Column("b", "boolean"), Column("c", "string")]


def test_added_columns_have_their_value_or_null() -> None:
    added = added_values(COLUMNS, [("b", value_text(True))])
    assert with_current_columns(pa.table({"a": [1, 2]}), COLUMNS, added).to_pylist() == [
        {"a": 1, "b": True, "c": None},
        {"a": 2, "b": True, "c": None},
    ]


def test_renamed_columns_keep_their_places_and_versions_stay_last() -> None:
    rows = pa.table({"old": [1], "b": [False], "c": ["x"], "__t": [5], "__w": [-1]})
    current = with_current_columns(rows, COLUMNS, {})
    assert current.column_names == ["a", "b", "c", "__t", "__w"]
    assert current.to_pylist() == [{"a": 1, "b": False, "c": "x", "__t": 5, "__w": -1}]


def test_rows_that_need_nothing_are_not_copied() -> None:
    rows = pa.table({"a": [1], "b": [True], "c": ["x"]})
    assert with_current_columns(rows, COLUMNS, {}) is rows


def test_dropped_columns_are_left_out_by_their_places() -> None:
    rows = pa.table({"a": [1], "gone": [2], "b": [True], "__t": [5], "__w": [-1]})
    assert with_current_columns(rows, COLUMNS, {}, [1]).to_pylist() == [
        {"a": 1, "b": True, "c": None, "__t": 5, "__w": -1}
    ]


def test_a_name_that_was_dropped_and_given_again() -> None:
    rows = pa.table({"a": [1], "b": [True], "c": ["old"]})
    added = added_values(COLUMNS, [("c", "new")])
    assert with_current_columns(rows, COLUMNS, added, [2]).to_pylist() == [{"a": 1, "b": True, "c": "new"}]


def test_columns_that_came_and_went_after_the_rows_were_written() -> None:
    assert places_kept(2, [2, 2, 0]) == [1]
