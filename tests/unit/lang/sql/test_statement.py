"""What statements ask for, and which are not known."""

from __future__ import annotations

import pytest

from tidings.errors import DuplicateColumn, InvalidSyntax, ReservedName, UnsupportedStatement
from tidings.ir.relation import Column
from tidings.lang.sql.statement import CreateTable, CreateView, Drop, Insert, Query, read


def test_create_table() -> None:
    (found,) = read("CREATE TABLE Stock (Item BIGINT, `two words` ARRAY<STRUCT<x: INT>> COMMENT 'why')")
    assert isinstance(found, CreateTable)
    assert found.name == "Stock"
    assert found.columns == (Column("Item", "bigint"), Column("two words", "array<struct<x:int>>"))


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
    assert found.own == "SELECT 1 AS a"


@pytest.mark.parametrize("value", ["'full'", "''", "3", "'strict'", "'incremental  strict'"])
def test_an_unknown_refresh(value: str) -> None:
    with pytest.raises(InvalidSyntax) as refused:
        read(f"CREATE MATERIALIZED VIEW v WITH (refresh = {value}) AS SELECT 1 AS a")
    assert "refresh" in str(refused.value.parameters["reason"])
    assert refused.value.hint == "it is one of: incremental, incremental strict"
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
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "TRUNCATE TABLE t",
        "ALTER TABLE t ADD COLUMN b INT",
        "CREATE TABLE t AS SELECT 1 AS a",
        "CREATE OR REPLACE VIEW v AS SELECT 1 AS a",
        "CREATE TEMPORARY VIEW v AS SELECT 1 AS a",
        "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 AS a",
        "CREATE MATERIALIZED VIEW v USING parquet AS SELECT 1 AS a",
        "REFRESH MATERIALIZED VIEW v",
        "CREATE FUNCTION f AS 'x'",
        "DROP TABLE t CASCADE",
        "INSERT OVERWRITE t SELECT 1",
        "CREATE TABLE t (a INT) USING parquet",
        "SHOW TABLES",
        "SET x = 1",
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "CREATE TABLE t (a INT NOT NULL)",
        "CREATE TABLE t (a INT, PRIMARY KEY (a))",
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
