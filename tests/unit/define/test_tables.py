"""ALTER TABLE and DROP: what was written before is read as the table is now, and views stay what they were."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import (
    BreaksViews,
    CheckViolated,
    DependentObjects,
    DuplicateColumn,
    DuplicateKey,
    DuplicateRelation,
    InvalidExpression,
    TidingsError,
    UnknownColumn,
    UnknownRelation,
    UnsupportedStatement,
)


class Shop:
    """A database that can be closed and opened again, if it is in a folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.clock = ManualClock(1000)
        self.db = self._open()

    def _open(self) -> Database:
        return tidings.open(self.folder, engine="duckdb", clock=self.clock)

    def twice(self) -> Iterator[Database]:
        """As it is, and opened again."""
        yield self.db
        yield self.again()

    def again(self) -> Database:
        if self.folder is not None:
            self.db.close()
            self.db = self._open()
        return self.db


@pytest.fixture(params=["memory", "loaded", "log", "base"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    found = Shop(tmp_path / "shop" if request.param in ("log", "base") else None)
    found.db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, b STRING CHECK (b <> 'bad'), CHECK (a > 0 AND t.a < 100))")
    if request.param == "loaded":
        found.db.load("t", pa.table({"a": pa.array([1, 2], pa.int64()), "b": ["x", None]}))
    else:
        found.db.sql("INSERT INTO t VALUES (1, 'x'), (2, NULL)")
    if request.param == "base":
        found.db.fold()
    yield found
    found.db.close()


def rows(db: Database, query: str = "t", **named: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in db.query(query, **named).rows()), key=repr)


def test_added_columns_have_their_default_in_rows_that_were_there(shop: Shop) -> None:
    before = shop.db.time
    shop.db.sql("ALTER TABLE t ADD COLUMN c INT DEFAULT 7")
    shop.db.sql("ALTER TABLE t ADD COLUMNS (d STRING, e DECIMAL(6,2) NOT NULL DEFAULT 1.5)")
    whole = [(1, "x", 7, None, Decimal("1.50")), (2, None, 7, None, Decimal("1.50"))]
    for db in shop.twice():
        assert rows(db) == whole
        assert rows(db, as_of=before) == whole
    shop.db.sql("INSERT INTO t (a, d) VALUES (3, 'd')")
    shop.db.sql("UPDATE t SET c = c + 1 WHERE a = 1; DELETE FROM t WHERE a = 2")
    changed = [(1, "x", 8, None, Decimal("1.50")), (3, None, 7, "d", Decimal("1.50"))]
    assert rows(shop.db) == changed
    shop.db.fold()
    assert rows(shop.again()) == changed
    net = shop.db.changes("t", since=before)
    assert sorted((c.row["a"], c.row["c"], c.weight) for c in net.rows()) == [
        (1, 7, -1), (1, 8, 1), (2, 7, -1), (3, 7, 1)
    ]  # fmt: skip
    with pytest.raises(DuplicateKey):
        shop.db.sql("INSERT INTO t (a) VALUES (1)")


@pytest.mark.parametrize(
    ("type", "default", "value"),
    [
        ("BOOLEAN", "TRUE", True),
        ("DOUBLE", "0.5", 0.5),
        ("STRING", "'it''s \\\\ a \"text\"'", 'it\'s \\ a "text"'),
        ("DATE", "DATE '2026-02-03'", "2026-02-03"),
        ("TIMESTAMP", "TIMESTAMP '2026-02-03 04:05:06.789'", "2026-02-03 04:05:06.789000+00:00"),
        ("DATE", "current_date()", "1970-01-01"),
        ("BIGINT", "-5", -5),
        ("INT", "NULL", None),
        ("ARRAY<INT>", "NULL", None),
    ],
)
def test_defaults_of_every_type(shop: Shop, type: str, default: str, value: object) -> None:
    shop.db.sql(f"ALTER TABLE t ADD COLUMN c {type} DEFAULT {default}")
    shop.clock.set(200_000_000_000)
    for db in shop.twice():
        found = [r["c"] for r in db.query("t").rows()]
        assert [str(f) if isinstance(value, str) else f for f in found] == [value] * 2
    shop.db.sql("UPDATE t SET b = 'y' WHERE a = 1")
    assert len({repr(r["c"]) for r in shop.db.query("t").rows()}) == 1


def test_renamed_columns(shop: Shop) -> None:
    shop.db.sql("ALTER TABLE t RENAME COLUMN A TO k; ALTER TABLE t ADD COLUMN c INT DEFAULT 1")
    shop.db.sql("ALTER TABLE t RENAME COLUMN c TO d; ALTER TABLE t RENAME COLUMN b TO `some text`")
    for db in shop.twice():
        assert db.query("SELECT k, `some text`, d FROM t WHERE k = 1").rows() == [{"k": 1, "some text": "x", "d": 1}]
        for text, error in (
            ("INSERT INTO t VALUES (1, 'y', 2)", DuplicateKey),
            ("INSERT INTO t VALUES (101, 'y', 2)", CheckViolated),
            ("INSERT INTO t VALUES (11, 'bad', 2)", CheckViolated),
        ):
            with pytest.raises(error):
                db.sql(text)
    shop.db.sql("UPDATE t SET d = 5 WHERE k = 2")
    shop.db.fold()
    assert rows(shop.again()) == [(1, "x", 1), (2, None, 5)]


def test_renamed_tables(shop: Shop) -> None:
    shop.db.sql("ALTER TABLE t RENAME TO u; CREATE TABLE t (z INT)")
    for db in shop.twice():
        assert rows(db, "u") == [(1, "x"), (2, None)]
        assert rows(db, "t") == []
        with pytest.raises(CheckViolated):
            db.sql("INSERT INTO u VALUES (0, 'z')")
    shop.db.sql("UPDATE u SET b = 'v' WHERE a = 2")
    shop.db.fold()
    assert rows(shop.again(), "u") == [(1, "x"), (2, "v")]


def test_views_that_stay_the_same(shop: Shop) -> None:
    shop.db.sql("""
        CREATE VIEW plain AS SELECT a FROM t;
        CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n, max(a) AS a FROM t;
        CREATE VIEW above AS SELECT n + 1 AS n FROM counted;
        ALTER TABLE t ADD COLUMN c INT DEFAULT 1;
        ALTER TABLE t RENAME COLUMN b TO e;
    """)
    for db in shop.twice():
        assert rows(db, "plain") == [(1,), (2,)]
        assert (rows(db, "counted"), rows(db, "above")) == ([(2, 2)], [(3,)])
    shop.db.sql("INSERT INTO t (a) VALUES (9)")
    assert (rows(shop.db, "counted"), rows(shop.db, "above")) == ([(3, 9)], [(4,)])


@pytest.mark.parametrize(
    ("view", "change", "broken"),
    [
        ("CREATE VIEW v AS SELECT * FROM t", "ADD COLUMN c INT", "v"),
        ("CREATE VIEW v AS SELECT a FROM t", "RENAME TO u", "v"),
        ("CREATE VIEW v AS SELECT b FROM t", "RENAME COLUMN b TO c", "v"),
        ("CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b", "RENAME COLUMN b TO c", "v"),
        ("CREATE VIEW v AS SELECT a AS c FROM t; CREATE VIEW w AS SELECT * FROM t", "ADD COLUMN c INT", "w"),
    ],
)
def test_views_that_would_break(shop: Shop, view: str, change: str, broken: str) -> None:
    shop.db.sql(view)
    with pytest.raises(BreaksViews) as refused:
        shop.db.sql(f"ALTER TABLE t {change}")
    assert refused.value.parameters["dependents"] == broken
    assert rows(shop.again(), "SELECT a, b FROM t") == [(1, "x"), (2, None)]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("ADD COLUMN A INT", DuplicateColumn),
        ("ADD COLUMN c INT NOT NULL", InvalidExpression),
        ("ADD COLUMN c INT DEFAULT 'x'", TidingsError),
        ("ADD COLUMN c ARRAY<INT> DEFAULT array(1)", TidingsError),
        ("ADD COLUMN c INT PRIMARY KEY", UnsupportedStatement),
        ("RENAME COLUMN c TO d", UnknownColumn),
        ("RENAME COLUMN a TO b", DuplicateColumn),
        ("RENAME TO other", DuplicateRelation),
        ("DROP COLUMN b", UnsupportedStatement),
    ],
)
def test_what_cannot_be_altered(shop: Shop, change: str, error: type[TidingsError]) -> None:
    shop.db.sql("CREATE VIEW other AS SELECT 1 AS x")
    with pytest.raises(error):
        shop.db.sql(f"ALTER TABLE t {change}")
    assert rows(shop.again()) == [(1, "x"), (2, None)]


def test_unknown_tables(shop: Shop) -> None:
    with pytest.raises(UnknownRelation) as refused:
        shop.db.sql("ALTER TABLE nosuch ADD COLUMN c INT")
    assert refused.value.place is not None


def test_drop_with_what_reads_it(shop: Shop) -> None:
    shop.db.sql("""
        CREATE VIEW v AS SELECT a FROM t;
        CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM v;
        CREATE VIEW w AS SELECT n FROM m;
        CREATE VIEW apart AS SELECT 1 AS x;
    """)
    with pytest.raises(DependentObjects):
        shop.db.sql("DROP TABLE t")
    with pytest.raises(UnknownRelation):
        shop.db.sql("DROP VIEW t CASCADE")
    shop.db.sql("DROP VIEW m CASCADE")
    for name in ("m", "w"):
        with pytest.raises(TidingsError):
            shop.db.query(name)
    assert rows(shop.again(), "v") == [(1,), (2,)]
    shop.db.sql("DROP TABLE t CASCADE; DROP TABLE IF EXISTS t CASCADE")
    assert [name for name in ("t", "v", "apart") if shop.again()._parts.relations.find(name)] == ["apart"]
    shop.db.sql("CREATE TABLE t (a STRING); INSERT INTO t VALUES ('new')")
    assert rows(shop.again()) == [("new",)]
