"""Wider types and lengths of texts: what was written before is read as the new type, by every way to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import (
    BreaksViews,
    CheckViolated,
    ColumnInUse,
    InvalidExpression,
    TidingsError,
    UnknownColumn,
    UnsupportedStatement,
)

LARGE = 1 << 40


@pytest.fixture(params=["memory", "memory base", "log", "files", "reopened"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A table with rows in a log or a base, of which some columns become wider."""
    folder = None if request.param.startswith("memory") else tmp_path / "shop"
    options = {"engine": "duckdb", "clock": ManualClock(1_000_000)}
    with tidings.open(folder, **options) as database:  # type: ignore[arg-type]
        database.sql("""
            CREATE TABLE t (id INT PRIMARY KEY, n SMALLINT, f FLOAT, d DECIMAL(6,2), s VARCHAR(3));
            CREATE MATERIALIZED VIEW large AS SELECT count(*) AS c FROM t WHERE s IS NOT NULL;
            INSERT INTO t VALUES (1, 1, 0.5, 1.25, 'abc'), (2, 2, 1.5, NULL, NULL), (3, NULL, NULL, 3, 'x')
        """)
        database.advance()
        if request.param in ("memory base", "files", "reopened"):
            database.fold()
        if request.param != "reopened":
            yield database
    if request.param == "reopened":
        with tidings.open(folder, **options) as database:  # type: ignore[arg-type]
            database.sql("ALTER TABLE t ALTER COLUMN id TYPE BIGINT")
        with tidings.open(folder, **options) as database:  # type: ignore[arg-type]
            yield database


def test_rows_are_read_as_the_new_types(db: Database) -> None:
    before = db.time
    db.sql("""
        ALTER TABLE t ALTER COLUMN id TYPE BIGINT;
        ALTER TABLE t ALTER COLUMN n SET DATA TYPE INT;
        ALTER TABLE t ALTER COLUMN f TYPE DOUBLE;
        ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(10,4);
        ALTER TABLE t ALTER COLUMN s TYPE VARCHAR(5)
    """)
    types = [row["type"] for row in db.schema("t")]
    assert types == ["bigint", "int", "double", "decimal(10,4)", "string"]
    rows = [(1, 1, 0.5, Decimal("1.2500"), "abc"), (2, 2, 1.5, None, None), (3, None, None, Decimal(3), "x")]
    assert sorted(tuple(row.values()) for row in db.query("t")) == rows
    assert sorted(tuple(row.values()) for row in db.query("t", as_of=before)) == rows
    db.sql(f"INSERT INTO t VALUES ({LARGE}, 70000, 0.1, 123456.7891, 'abcde')")
    db.sql("UPDATE t SET n = 80000 WHERE id = 1; DELETE FROM t WHERE id = 2")
    after = {1: 80000, 3: None, LARGE: 70000}
    assert {row["id"]: row["n"] for row in db.query("t")} == after
    assert db.query("large").rows() == [{"c": 3}]
    with db.transaction() as tx:
        tx.upsert("t", [{"id": 3, "n": 5}, {"id": 4, "n": 6}])
    db.fold()
    assert {row["id"]: row["n"] for row in db.query("t")} == after | {3: 5, 4: 6}
    assert db.query("large").rows() == [{"c": 3}]
    assert sum(change.weight for change in db.changes("t", since=before)) == 1


def test_views_that_would_have_other_columns_are_named(db: Database) -> None:
    db.sql("CREATE VIEW same AS SELECT n FROM t; CREATE VIEW other AS SELECT s FROM t")
    with pytest.raises(BreaksViews) as refused:
        db.sql("ALTER TABLE t ALTER COLUMN n TYPE BIGINT")
    assert refused.value.parameters["dependents"] == "same"
    db.sql("DROP VIEW same; CREATE MATERIALIZED VIEW sums AS SELECT s, max(n) > 1 AS m FROM t GROUP BY s")
    before = sorted(map(repr, db.query("sums").rows()))
    with pytest.raises(BreaksViews) as refused:
        db.sql("ALTER TABLE t ALTER COLUMN n TYPE BIGINT")
    assert refused.value.parameters["dependents"] == "sums"
    assert sorted(map(repr, db.query("sums").rows())) == before
    db.sql("UPDATE t SET n = 9 WHERE id = 1")
    assert {"s": "abc", "m": True} in db.query("sums").rows()


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("ALTER TABLE t ALTER COLUMN n TYPE TINYINT", UnsupportedStatement),
        ("ALTER TABLE t ALTER COLUMN n TYPE STRING", UnsupportedStatement),
        ("ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(6,3)", UnsupportedStatement),
        ("ALTER TABLE t ALTER COLUMN s TYPE VARCHAR(2)", UnsupportedStatement),
        ("ALTER TABLE t ALTER COLUMN f TYPE INT", UnsupportedStatement),
        ("ALTER TABLE t ALTER COLUMN zz TYPE INT", UnknownColumn),
        ("ALTER TABLE t ALTER COLUMN n TYPE BIGINT USING n + 1", UnsupportedStatement),
        ("ALTER TABLE t ALTER COLUMN n SET DEFAULT 1", UnsupportedStatement),
        ("ALTER TABLE t CHANGE COLUMN n m BIGINT", UnsupportedStatement),
    ],
)
def test_refusals(db: Database, statement: str, condition: type[TidingsError]) -> None:
    before = db.schema("t").rows()
    with pytest.raises(condition):
        db.sql(statement)
    assert db.schema("t").rows() == before


def test_texts_that_are_too_long_are_refused_by_every_way_in(db: Database) -> None:
    ways: list[Callable[[], object]] = [
        lambda: db.sql("INSERT INTO t (id, s) VALUES (9, 'abc'), (10, 'abcd')"),
        lambda: db.sql("INSERT INTO t (id, s) SELECT 10, concat('ab', 'cd')"),
        lambda: db.sql("UPDATE t SET s = 'abcd' WHERE id = 1"),
        lambda: db.load("t", [{"id": 10, "s": "abcd"}]),
    ]
    for way in ways:
        with pytest.raises(CheckViolated) as refused:
            way()
        assert refused.value.parameters["column"] == "s"
        assert "abcd" in str(refused.value.parameters["found"])
    with pytest.raises(CheckViolated), db.transaction() as tx:
        tx.insert("t", [{"id": 10, "s": "äöüß"}])
    db.sql("INSERT INTO t (id, s) VALUES (10, 'äöü')")
    db.sql("ALTER TABLE t ALTER COLUMN s TYPE STRING; UPDATE t SET s = 'much longer' WHERE id = 10")
    assert db.query("SELECT s FROM t WHERE id = 10").rows() == [{"s": "much longer"}]


def test_lengths_of_other_statements(db: Database) -> None:
    db.sql("ALTER TABLE t ADD COLUMN c CHAR(2) DEFAULT 'ab'")
    with pytest.raises(CheckViolated):
        db.sql("UPDATE t SET c = 'abc' WHERE id = 1")
    with pytest.raises(InvalidExpression):
        db.sql("ALTER TABLE t ADD COLUMN e VARCHAR(2) DEFAULT 'abc'")
    db.sql("ALTER TABLE t RENAME COLUMN c TO cc")
    with pytest.raises(CheckViolated):
        db.sql("UPDATE t SET cc = 'abc' WHERE id = 1")
    db.sql("ALTER TABLE t DROP COLUMN cc")
    with pytest.raises(ColumnInUse) as refused:
        db.sql("ALTER TABLE t DROP COLUMN s")
    assert refused.value.parameters["users"] == "view large"
    with pytest.raises(TidingsError):
        db.sql("CREATE TABLE u (x VARCHAR(0))")


def test_first_rows_of_a_load_are_checked(tmp_path: Path) -> None:
    for folder in (None, tmp_path / "db"):
        with tidings.open(folder, engine="duckdb") as db:
            db.sql("CREATE TABLE v (x VARCHAR(3))")
            with pytest.raises(CheckViolated):
                db.load("v", [("abc",), ("abcd",)])
            assert len(db.query("v")) == 0
