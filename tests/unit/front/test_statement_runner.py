"""Each kind of statement goes to the part that knows it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidings
from tidings import AffectedRows, Database, Result
from tidings.errors import ReadOnly, TidingsError
from tidings.lang.sql.statement import read


def run(db: Database, text: str) -> Result | None:
    (statement,) = read(text)
    return db._parts.statements.run(statement)


@pytest.fixture
def shop(db: Database) -> Database:
    """A table with a row, a stored view of it and a rule."""
    db.sql("""
        CREATE TABLE stock (item INT PRIMARY KEY, qty INT);
        CREATE MATERIALIZED VIEW total WITH (refresh = 'manual') AS SELECT sum(qty) AS qty FROM stock;
        CREATE RULE tell WHEN SELECT item FROM stock WHERE qty < 5 DO NOTIFY 'buyers';
        INSERT INTO stock VALUES (1, 10);
    """)
    return db


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("INSERT INTO stock VALUES (2, 20)", [(1, 10), (2, 20)]),
        ("UPDATE stock SET qty = qty + 1", [(1, 11)]),
        ("DELETE FROM stock", []),
        ("MERGE INTO stock USING stock AS s ON stock.item = s.item WHEN MATCHED THEN UPDATE SET qty = 3", [(1, 3)]),
    ],
)
def test_changes_of_rows_are_transactions(shop: Database, text: str, rows: list[tuple[int, int]]) -> None:
    before = shop._parts.timeline.time
    affected = run(shop, text)
    assert isinstance(affected, AffectedRows)
    assert affected.count == 1
    assert [tuple(row.values()) for row in shop.query("SELECT * FROM stock ORDER BY item")] == rows
    assert shop._parts.timeline.time > before


def test_queries_have_rows(shop: Database) -> None:
    result = run(shop, "SELECT qty + 1 AS more FROM stock")
    assert result is not None
    assert result.rows() == [{"more": 11}]


def test_definitions_report_only_what_they_replace(shop: Database) -> None:
    assert run(shop, "CREATE VIEW scarce AS SELECT item FROM stock WHERE qty < 5") is None
    assert run(shop, "CREATE OR REPLACE VIEW scarce AS SELECT item FROM stock WHERE qty < 9") is not None


def test_rules_and_silences(shop: Database) -> None:
    assert run(shop, "DISABLE RULE tell") is None
    assert run(shop, "SILENCE RULE tell FOR INTERVAL '1' HOUR") is None
    assert [rule["enabled"] for rule in shop.rules()] == [False]
    assert len(shop.query("SELECT * FROM tidings.silences")) == 1
    assert run(shop, "DROP RULE tell") is None
    assert len(shop.rules()) == 0


def test_a_table_that_a_rule_reads_is_not_dropped(shop: Database) -> None:
    run(shop, "DROP VIEW total")
    with pytest.raises(TidingsError):
        run(shop, "DROP TABLE stock")


def test_maintenance(shop: Database) -> None:
    assert run(shop, "REFRESH MATERIALIZED VIEW total") is None
    assert shop.status().view("total").position == shop._parts.timeline.time
    report = run(shop, "VACUUM")
    assert report is not None


def test_a_reader_runs_only_what_changes_nothing(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("CREATE TABLE t (x INT)")
    with tidings.open(tmp_path / "db", engine="duckdb", read_only=True) as reader:
        for text in ("SELECT x FROM t", "SHOW TABLES", "SHOW CREATE TABLE t", "DESCRIBE t"):
            assert run(reader, text) is not None
        for text in ("INSERT INTO t VALUES (1)", "CREATE TABLE u (x INT)", "VACUUM"):
            with pytest.raises(ReadOnly):
                run(reader, text)
