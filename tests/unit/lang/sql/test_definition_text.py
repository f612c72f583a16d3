"""Definitions as text, such that the text says the same definition."""

from __future__ import annotations

from typing import Any

import pytest

from tidings.ir.column import Column
from tidings.lang.sql.definition_text import create_table_text, create_view_text
from tidings.lang.sql.statement import CreateTable, CreateView, read
from tidings.lang.sql.stored_text import expression_text

COLUMNS = [Column("item", "bigint"), Column("odd `name", "decimal(10,2)"), Column("at", "timestamp")]


def read_table(text: str) -> CreateTable:
    (statement,) = read(text)
    assert isinstance(statement, CreateTable)
    return statement


def read_view(text: str) -> CreateView:
    (statement,) = read(text)
    assert isinstance(statement, CreateView)
    return statement


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"key": ["item", "at"]},
        {"required": ["odd `name"]},
        {"checks": ["item > 0", "item < 9 OR at IS NULL"]},
        {"defaults": {"item": "1 + 1"}, "required": ["item"]},
        {"append_only": True, "time_column": "at"},
    ],
)
def test_tables_are_read_as_they_are_written(options: dict[str, Any]) -> None:
    table = read_table(create_table_text("a table", COLUMNS, **options))
    assert (table.name, list(table.columns)) == ("a table", COLUMNS)
    assert table.key == tuple(options.get("key", ()))
    assert set(table.required) >= set(options.get("required", ()))
    assert [expression_text(check) for check in table.checks] == options.get("checks", [])
    assert {name: expression_text(value) for name, value in table.defaults} == options.get("defaults", {})
    assert (table.append_only, table.time_column) == (options.get("append_only", False), options.get("time_column"))


def test_views_are_read_as_they_are_written() -> None:
    view = read_view(create_view_text("low", "SELECT item FROM stock\n", ["a thing"]))
    assert (view.name, view.columns, view.query_text) == ("low", ("a thing",), "SELECT item FROM stock")
    assert not view.stored


@pytest.mark.parametrize("refresh", ["on advance", "immediate", "immediate strict", "manual"])
def test_stored_views_say_when_they_are_refreshed(refresh: str) -> None:
    view = read_view(create_view_text("n", "SELECT 1 AS x", (), refresh=refresh))
    assert view.stored
    assert f"{view.refresh} strict" == refresh if view.strict else view.refresh == refresh
