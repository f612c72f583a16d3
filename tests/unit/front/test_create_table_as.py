"""CREATE TABLE … AS: the table has the columns and rows of a query, or is not made."""

from __future__ import annotations

import pytest

import tidings
from tidings import Database
from tidings.errors import DuplicateKey, DuplicateRelation, InvalidExpression, TidingsError, UnsupportedStatement


@pytest.mark.parametrize(
    ("statement", "columns", "rows"),
    [
        ("t AS SELECT item, qty * 2 AS twice FROM quantity", ["bigint", "int"], [(1, 20), (2, 40)]),
        ("t (a, b) AS SELECT qty, 'x' FROM quantity", ["int", "string"], [(10, "x"), (20, "x")]),
        (
            "t (a INT PRIMARY KEY, b STRING) AS SELECT * FROM quantity",
            ["int", "string"],
            [(1, "10"), (2, "20")],
        ),
        ("t AS WITH q AS (SELECT 1 AS x) SELECT x, x + 1 AS y FROM q", ["int", "int"], [(1, 2)]),
        ("t AS VALUES (1, 'a'), (2, 'b')", ["int", "string"], [(1, "a"), (2, "b")]),
        ("t AS SELECT count(*) AS n FROM low", ["bigint"], [(0,)]),
        ("t AS SELECT item FROM quantity WHERE FALSE", ["bigint"], []),
    ],
)
def test_columns_and_rows(db: Database, statement: str, columns: list[str], rows: list[tuple[object, ...]]) -> None:
    db.sql("INSERT INTO quantity VALUES (1, 10), (2, 20)")
    affected = db.sql(f"CREATE TABLE {statement}")
    assert isinstance(affected, tidings.AffectedRows)
    assert affected.inserted == len(rows)
    assert [row["type"] for row in db.schema("t")] == columns
    assert sorted(tuple(row.values()) for row in db.query("t")) == rows
    db.sql("CREATE VIEW v AS SELECT * FROM t; INSERT INTO t SELECT * FROM t WHERE FALSE")


def test_one_that_is_there_stays(db: Database) -> None:
    db.sql("CREATE TABLE IF NOT EXISTS quantity AS SELECT 1 AS x")
    assert [row["column"] for row in db.schema("quantity")] == ["item", "qty"]
    with pytest.raises(DuplicateRelation):
        db.sql("CREATE TABLE quantity AS SELECT 1 AS x")
    assert len(db.query("quantity")) == 0


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("CREATE TABLE t (a INT PRIMARY KEY) AS SELECT 1 FROM quantity", DuplicateKey),
        ("CREATE TABLE t (a) AS SELECT 1, 2", InvalidExpression),
        ("CREATE TABLE t AS SELECT nothing FROM quantity", TidingsError),
        ("CREATE TABLE t AS SELECT item AS __t FROM quantity", TidingsError),
        ("CREATE OR REPLACE TABLE t AS SELECT 1 AS x", UnsupportedStatement),
        ("CREATE TABLE t USING parquet AS SELECT 1 AS x", UnsupportedStatement),
        ("CREATE TEMPORARY TABLE t AS SELECT 1 AS x", UnsupportedStatement),
    ],
)
def test_refused_whole(db: Database, statement: str, condition: type[TidingsError]) -> None:
    db.sql("INSERT INTO quantity VALUES (1, 10), (2, 20)")
    with pytest.raises(condition):
        db.sql(statement)
    assert "t" not in [row["name"] for row in db.tables()]
    db.sql("CREATE TABLE t (x INT)")


def test_not_inside_a_transaction(db: Database) -> None:
    with pytest.raises(UnsupportedStatement), db.transaction() as tx:
        tx.sql("CREATE TABLE t AS SELECT 1 AS x")
