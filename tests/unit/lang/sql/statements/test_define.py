"""Statements that define tables and change their columns."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidSyntax, UnknownColumn, UnsupportedStatement, UnsupportedType
from tidings.ir.relation import Column
from tidings.lang.sql import statement
from tidings.lang.sql.statements.define import AddColumns, CreateTable, DropColumns, RenameColumn, RenameTable


def table(text: str) -> CreateTable:
    (parsed,) = statement.read(text)
    assert isinstance(parsed, CreateTable)
    return parsed


def test_constraints_of_columns_and_of_the_table() -> None:
    created = table("CREATE TABLE t (a INT PRIMARY KEY, b STRING NOT NULL, c INT DEFAULT 1 + 1, CHECK (c > 0))")
    assert created.columns == (Column("a", "int"), Column("b", "string"), Column("c", "int"))
    assert (created.key, created.required) == (("a",), ("a", "b"))
    assert [c.sql() for c in created.checks] == ["c > 0"]
    assert [(n, v.sql()) for n, v in created.defaults] == [("c", "1 + 1")]


def test_a_key_has_the_names_of_its_columns() -> None:
    assert table("CREATE TABLE t (Item INT, n INT, PRIMARY KEY (ITEM, N))").key == ("Item", "n")


def test_options() -> None:
    created = table("CREATE TABLE log (at TIMESTAMP, x INT) WITH (append_only = true, time = at)")
    assert (created.append_only, created.time_column) == (True, "at")


def test_changes_of_columns() -> None:
    added, renamed, moved = statement.read("""
        ALTER TABLE t ADD COLUMN d INT NOT NULL DEFAULT 0;
        ALTER TABLE t RENAME COLUMN a TO b;
        ALTER TABLE t RENAME TO u
    """)
    assert isinstance(added, AddColumns)
    assert (added.columns, added.required) == ((Column("d", "int"),), ("d",))
    assert isinstance(renamed, RenameColumn)
    assert (renamed.old, renamed.new) == ("a", "b")
    assert isinstance(moved, RenameTable)
    assert moved.new == "u"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT PRIMARY KEY)", InvalidSyntax),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", UnknownColumn),
        ("CREATE TABLE t (a DOUBLE PRIMARY KEY)", UnsupportedType),
        ("CREATE TABLE t (a TIMESTAMP) WITH (time = a)", InvalidSyntax),
        ("CREATE TABLE t (a INT) WITH (color = 'red')", UnsupportedStatement),
        ("CREATE TABLE t (a INT REFERENCES u (b))", UnsupportedStatement),
    ],
)
def test_refusals(text: str, condition: type[Exception]) -> None:
    with pytest.raises(condition):
        table(text)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("DROP COLUMN a", [("a", False)]),
        ("DROP COLUMN IF EXISTS a", [("a", True)]),
        ("DROP COLUMN a, DROP COLUMN IF EXISTS b", [("a", False), ("b", True)]),
        ("DROP COLUMNS (a, `b c`)", [("a", False), ("b c", False)]),
    ],
)
def test_columns_that_are_dropped(text: str, columns: list[tuple[str, bool]]) -> None:
    (dropped,) = statement.read(f"ALTER TABLE t {text}")
    assert isinstance(dropped, DropColumns)
    assert (dropped.table, list(dropped.columns)) == ("t", columns)
