"""What the database knows of itself is read by every way to query, and near names are offered everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidings
from tidings.errors import TidingsError, UnsupportedStatement


@pytest.fixture
def db() -> tidings.Database:
    db = tidings.open(engine="duckdb")
    db.sql("""
        CREATE TABLE stock (sku INT PRIMARY KEY, qty INT);
        CREATE VIEW low AS SELECT sku FROM stock WHERE qty < 5;
        CREATE EVENT ping (host STRING);
        CREATE RULE short WHEN SELECT sku FROM low DO NOTIFY 'buyers';
    """)
    return db


@pytest.mark.parametrize("table", ["tables", "views", "columns", "rules"])
def test_they_are_read_every_way(db: tidings.Database, table: str) -> None:
    name = f"tidings.{table}"
    rows = db.query(name).rows()
    assert rows
    assert [*(db.sql(f"SELECT * FROM {name}") or ())] == rows
    with db.transaction() as tx:
        assert tx.query(name).rows() == rows
        inside = tx.sql(f"SELECT count(*) AS n FROM {name}")
        assert inside is not None
        assert inside.rows() == [{"n": len(rows)}]
    assert [row["column"] for row in db.schema(name)] == db.query(name).columns
    for ask in (db.changes, db.explain):
        with pytest.raises(UnsupportedStatement, match=name):
            ask(name)


def test_their_rows_are_inserted(db: tidings.Database) -> None:
    db.sql("CREATE TABLE seen (name STRING); INSERT INTO seen SELECT name FROM tidings.tables")
    assert sorted(row["name"] for row in db.query("seen")) == ["seen", "stock"]


NEAR: list[tuple[Callable[[tidings.Database], object], str]] = [
    (lambda db: db.query("stok"), "stock"),
    (lambda db: db.changes("stok"), "stock"),
    (lambda db: db.load("stok", []), "stock"),
    (lambda db: db.sql("DROP TABLE stok"), "stock"),
    (lambda db: db.sql("DROP VIEW lo"), "low"),
    (lambda db: db.refresh("lo"), "low"),
    (lambda db: db.query("SELECT skuu FROM stock"), "sku"),
    (lambda db: db.query("SELECT uper('a')"), "upper"),
    (lambda db: db.sql("SIGNAL pin VALUES ('a')"), "ping"),
    (lambda db: db.signal("pingg", [("a",)]), "ping"),
    (lambda db: db.sql("DROP EVENT pin"), "ping"),
    (lambda db: db.sql("CREATE RULE r ON SIGNAL pimg DO NOTIFY 'x'"), "ping"),
    (lambda db: db.sql("DROP RULE shrt"), "short"),
    (lambda db: db.explain_rule("shrt"), "short"),
]


@pytest.mark.parametrize(("act", "near"), NEAR, ids=[str(n) for n in range(len(NEAR))])
def test_the_nearest_name_is_offered(db: tidings.Database, act: Callable[[Any], object], near: str) -> None:
    with pytest.raises(TidingsError) as refused:
        act(db)
    assert refused.value.hint == f"did you mean {near}?"
