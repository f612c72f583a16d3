"""What statements ask for, and which are not known."""

from __future__ import annotations

import pytest

from tidings.errors import DuplicateColumn, InvalidSyntax, ReservedName, UnsupportedStatement
from tidings.ir.relation import Column
from tidings.lang.sql.statement import (
    AddColumns,
    CreateTable,
    CreateView,
    Delete,
    Drop,
    Insert,
    Merge,
    Query,
    RenameColumn,
    RenameTable,
    Update,
    read,
)


def test_create_table() -> None:
    (found,) = read("CREATE TABLE Stock (Item BIGINT, `two words` ARRAY<STRUCT<x: INT>> COMMENT 'why')")
    assert isinstance(found, CreateTable)
    assert found.name == "Stock"
    assert found.columns == (Column("Item", "bigint"), Column("two words", "array<struct<x:int>>"))


def test_what_a_table_demands() -> None:
    (found,) = read("""CREATE TABLE t (
        a INT CHECK (a > 0) DEFAULT 1 NOT NULL, b STRING NULL, c DATE, CONSTRAINT k PRIMARY KEY (C, A), CHECK (b <> '')
    ) WITH (append_only, time = C)""")
    assert isinstance(found, CreateTable)
    assert (found.key, found.required, found.append_only, found.time_column) == (("c", "a"), ("c", "a"), True, "c")
    assert [c.sql() for c in found.checks] == ["a > 0", "b <> ''"]
    assert [(name, value.sql()) for name, value in found.defaults] == [("a", "1")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADD COLUMN b INT", ("b",)),
        ("ADD COLUMNS (b INT, c STRING DEFAULT 'x')", ("b", "c")),
        ("ADD COLUMNS b INT NOT NULL, c STRING", ("b", "c")),
    ],
)
def test_added_columns(text: str, expected: tuple[str, ...]) -> None:
    (found,) = read(f"ALTER TABLE t {text}")
    assert isinstance(found, AddColumns)
    assert tuple(c.name for c in found.columns) == expected


def test_renames() -> None:
    column, table = read("ALTER TABLE t RENAME COLUMN a TO `b c`; ALTER TABLE t RENAME TO u")
    assert isinstance(column, RenameColumn)
    assert (column.table, column.old, column.new) == ("t", "a", "b c")
    assert isinstance(table, RenameTable)
    assert (table.table, table.new) == ("t", "u")
    for text in ("RENAME COLUMN a TO __b", "RENAME TO __u", "ADD COLUMN __b INT"):
        with pytest.raises(ReservedName):
            read(f"ALTER TABLE t {text}")


def test_changes_of_rows() -> None:
    update, delete, merge = read("""
        UPDATE t AS x SET x.a = a + 1, b = DEFAULT WHERE c;
        DELETE FROM t;
        MERGE INTO t USING u AS s ON t.a = s.a
        WHEN MATCHED AND s.b THEN DELETE WHEN MATCHED THEN UPDATE SET *
        WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1, 2) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET b = 1
    """)
    assert isinstance(update, Update)
    assert (update.table, update.alias, len(update.settings), update.where is None) == ("t", "x", 2, False)
    assert isinstance(delete, Delete)
    assert (delete.table, delete.alias, delete.where) == ("t", "t", None)
    assert isinstance(merge, Merge)
    assert [(c.when, c.action, c.every, len(c.settings)) for c in merge.clauses] == [
        ("matched", "delete", False, 0),
        ("matched", "update", True, 0),
        ("unmatched", "insert", False, 2),
        ("unmatched by source", "update", False, 1),
    ]


def test_if_not_exists() -> None:
    found = read("CREATE TABLE IF NOT EXISTS t (a INT); CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS a")
    assert [s.if_absent for s in found if isinstance(s, CreateTable | CreateView)] == [True, True]


def test_create_view() -> None:
    (found,) = read("CREATE VIEW v (k, l) AS SELECT 1, 2")
    assert isinstance(found, CreateView)
    assert (found.name, found.columns, found.query.sql("spark")) == ("v", ("k", "l"), "SELECT 1, 2")


@pytest.mark.parametrize(
    ("words", "is_stored", "strict"),
    [
        ("VIEW v", False, False),
        ("MATERIALIZED VIEW v", True, False),
        ("MATERIALIZED VIEW v WITH (refresh = 'incremental')", True, False),
        ("MATERIALIZED VIEW v WITH (refresh = 'incremental strict')", True, True),
        ("MATERIALIZED VIEW v WITH (REFRESH = 'Incremental Strict')", True, True),
        ("MATERIALIZED VIEW IF NOT EXISTS v (a) WITH (refresh = 'incremental strict')", True, True),
    ],
)
def test_stored_view(words: str, is_stored: bool, strict: bool) -> None:
    (found,) = read(f"CREATE {words} AS SELECT 1 AS a")
    assert isinstance(found, CreateView)
    assert (found.name, found.stored, found.strict) == ("v", is_stored, strict)
    assert found.query_text == "SELECT 1 AS a"


@pytest.mark.parametrize("value", ["'full'", "''", "3", "'strict'", "'incremental  strict'"])
def test_an_unknown_refresh(value: str) -> None:
    with pytest.raises(InvalidSyntax) as refused:
        read(f"CREATE MATERIALIZED VIEW v WITH (refresh = {value}) AS SELECT 1 AS a")
    assert "refresh" in str(refused.value.parameters["reason"])
    assert "immediate" in str(refused.value.hint)
    assert refused.value.place is not None
    assert refused.value.place.start == len("CREATE MATERIALIZED VIEW ")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW v WITH (refresh = 'incremental') AS SELECT 1 AS a",
        "CREATE MATERIALIZED VIEW v WITH (every = 'hour') AS SELECT 1 AS a",
        "CREATE MATERIALIZED VIEW v WITH (strict) AS SELECT 1 AS a",
    ],
)
def test_an_unknown_option_of_a_view(text: str) -> None:
    with pytest.raises(UnsupportedStatement) as refused:
        read(text)
    assert refused.value.hint == "the one option is refresh, of CREATE MATERIALIZED VIEW"
    assert refused.value.place is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DROP TABLE t", Drop(("t",), "TABLE", False)),
        ("DROP VIEW `my view`", Drop(("my view",), "VIEW", False)),
        ("DROP VIEW IF EXISTS v", Drop(("v",), "VIEW", True)),
        ("DROP MATERIALIZED VIEW v", Drop(("v",), "VIEW", False)),
        ("DROP TABLE a, b", Drop(("a", "b"), "TABLE", False)),
        ("DROP TABLE a, b CASCADE", Drop(("a", "b"), "TABLE", False, cascade=True)),
        ("DROP VIEW IF EXISTS v CASCADE", Drop(("v",), "VIEW", True, cascade=True)),
    ],
)
def test_drop(text: str, expected: Drop) -> None:
    assert read(text) == [expected]


def test_insert() -> None:
    (found,) = read("INSERT INTO t (b, a) VALUES (1, 2)")
    assert isinstance(found, Insert)
    assert (found.table, found.columns) == ("t", ("b", "a"))
    (found,) = read("INSERT INTO t SELECT * FROM u")
    assert isinstance(found, Insert)
    assert found.columns == ()


def test_queries() -> None:
    text = "SELECT 1; VALUES (1); (SELECT 2); WITH x AS (SELECT 1) SELECT * FROM x"
    assert [type(s) for s in read(text)] == [Query] * 4


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TEMPORARY VIEW v AS SELECT 1 AS a",
        "CREATE MATERIALIZED VIEW v USING parquet AS SELECT 1 AS a",
        "CREATE FUNCTION f AS 'x'",
        "INSERT OVERWRITE t SELECT 1",
        "CREATE TABLE t (a INT) USING parquet",
        "CREATE OR REPLACE TABLE t (a INT)",
        "CREATE TABLE t (a INT) WITH (compressed = true)",
        "CREATE TABLE t (a INT UNIQUE)",
        "CREATE TABLE t (a INT, UNIQUE (a))",
        "CREATE TABLE t (a INT REFERENCES u (b))",
        "CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u (b))",
        "ALTER TABLE t DROP CONSTRAINT a",
        "ALTER TABLE t DROP COLUMN a CASCADE",
        "ALTER TABLE t ALTER COLUMN a TYPE BIGINT",
        "ALTER TABLE t ADD COLUMN b INT CHECK (b > 0)",
        "ALTER TABLE IF EXISTS t ADD COLUMN b INT",
        "ALTER VIEW v RENAME TO w",
        "UPDATE t SET a = 1 FROM u",
        "UPDATE r.s.t SET a = 1",
        "DELETE FROM t USING u WHERE t.a = u.a",
        "MERGE INTO t USING u ON TRUE WHEN MATCHED THEN INSERT (a) VALUES (1)",
        "MERGE INTO t USING u ON TRUE WHEN NOT MATCHED THEN DELETE",
        "MERGE INTO t USING u ON TRUE WHEN NOT MATCHED BY SOURCE THEN INSERT (a) VALUES (1)",
        "SHOW COLUMNS FROM t",
        "SHOW",
        "SET x = 1",
    ],
)
def test_unsupported_statement(text: str) -> None:
    with pytest.raises(UnsupportedStatement) as refused:
        read(text)
    assert refused.value.parameters["statement"]
    assert refused.value.hint


@pytest.mark.parametrize("text", ["CREATE TABLE t (a)", "CREATE TABLE t (a INT, b)", "CREATE TABLE t ()"])
def test_columns_need_types(text: str) -> None:
    with pytest.raises(InvalidSyntax):
        read(text)


def test_names_of_a_table() -> None:
    with pytest.raises(DuplicateColumn) as refused:
        read("CREATE TABLE t (a INT, A INT)")
    assert refused.value.parameters == {"name": "A"}
    for text in ("CREATE TABLE __t (a INT)", "CREATE TABLE t (__a INT)", "CREATE VIEW __v AS SELECT 1 AS a"):
        with pytest.raises(ReservedName):
            read(text)
