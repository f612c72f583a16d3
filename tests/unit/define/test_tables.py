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
    ColumnInUse,
    DependentObjects,
    DuplicateColumn,
    DuplicateKey,
    DuplicateRelation,
    InvalidExpression,
    TidingsError,
    UnknownColumn,
    UnknownRelation,
    UnsupportedStatement,
    WrongKind,
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
        ("DROP COLUMN c", UnknownColumn),
        ("DROP COLUMN A", ColumnInUse),
        ("DROP COLUMN b", ColumnInUse),
        ("DROP COLUMN b CASCADE", UnsupportedStatement),
        ("DROP CONSTRAINT b", UnsupportedStatement),
    ],
)
def test_what_cannot_be_altered(shop: Shop, change: str, error: type[TidingsError]) -> None:
    shop.db.sql("CREATE VIEW other AS SELECT 1 AS x")
    with pytest.raises(error):
        shop.db.sql(f"ALTER TABLE t {change}")
    assert rows(shop.again()) == [(1, "x"), (2, None)]


@pytest.fixture
def wide(shop: Shop) -> Shop:
    """Two more columns: rows of the table have been written without and with them."""
    shop.db.sql("ALTER TABLE t ADD COLUMNS (c INT DEFAULT 3, d STRING)")
    shop.db.sql("INSERT INTO t VALUES (3, 'z', 30, 'dd'); UPDATE t SET c = 31 WHERE a = 3")
    return shop


def test_dropped_columns_are_gone_now_and_before(wide: Shop) -> None:
    before = wide.db.time
    wide.db.sql("ALTER TABLE t DROP COLUMN C")
    left = [(1, "x", None), (2, None, None), (3, "z", "dd")]
    for db in wide.twice():
        assert rows(db) == left
        assert rows(db, as_of=before) == left
        assert [c.row for c in db.changes("t", since=before - 1, per_commit=True).rows()] == []
        with pytest.raises(UnknownColumn):
            db.query("SELECT c FROM t")
        with pytest.raises(DuplicateKey):
            db.sql("INSERT INTO t VALUES (3, 'y', 'e')")
    wide.db.sql("UPDATE t SET d = 'new' WHERE a = 2; INSERT INTO t (a) VALUES (4)")
    wide.db.fold()
    for db in wide.twice():
        assert rows(db) == [(1, "x", None), (2, None, "new"), (3, "z", "dd"), (4, None, None)]
        assert rows(db, as_of=before) == left


def test_a_dropped_name_may_be_given_to_another_column(wide: Shop) -> None:
    before = wide.db.time
    wide.db.sql("ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN c INT DEFAULT 7")
    wide.db.sql("INSERT INTO t VALUES (4, 'v', 'd4', 44)")
    there = [(1, "x", None, 7), (2, None, None, 7), (3, "z", "dd", 7)]
    for db in wide.twice():
        assert rows(db) == [*there, (4, "v", "d4", 44)]
        assert rows(db, as_of=before) == there
        assert rows(db, "SELECT c FROM t WHERE a = 3") == [(7,)]
    wide.db.fold()
    wide.db.sql("ALTER TABLE t DROP COLUMN d; ALTER TABLE t RENAME COLUMN c TO d")
    for db in wide.twice():
        assert rows(db) == [(1, "x", 7), (2, None, 7), (3, "z", 7), (4, "v", 44)]
        assert rows(db, as_of=before) == [(1, "x", 7), (2, None, 7), (3, "z", 7)]


def test_a_row_that_was_looked_up_before_is_looked_up_anew(wide: Shop) -> None:
    wide.db.sql("UPDATE t SET b = 'y' WHERE a = 1")
    wide.db.sql("ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN e INT DEFAULT 4")
    wide.db.sql("UPDATE t SET d = 'dd' WHERE a = 1")
    assert rows(wide.db)[0] == (1, "y", "dd", 4)


def test_several_columns_are_dropped_at_once(wide: Shop) -> None:
    wide.db.sql("ALTER TABLE t DROP COLUMNS (d, c)")
    for db in wide.twice():
        assert rows(db) == [(1, "x"), (2, None), (3, "z")]
    wide.db.sql("ALTER TABLE t DROP COLUMN IF EXISTS c")
    wide.db.sql("CREATE TABLE u (a INT, b INT, c INT); ALTER TABLE u DROP COLUMN a, DROP COLUMN c")
    assert wide.again().schema("u").rows()[0]["column"] == "b"
    with pytest.raises(UnsupportedStatement):
        wide.db.sql("ALTER TABLE u DROP COLUMN b")


def test_rows_that_differ_in_a_dropped_column_stay_two(shop: Shop) -> None:
    shop.db.sql("CREATE TABLE bag (a INT, b INT); INSERT INTO bag VALUES (1, 1), (1, 2), (2, 1)")
    shop.db.sql("ALTER TABLE bag DROP COLUMN b")
    for db in shop.twice():
        assert rows(db, "bag") == [(1,), (1,), (2,)]
    shop.db.fold()
    assert rows(shop.again(), "bag") == [(1,), (1,), (2,)]


def test_views_of_other_columns_go_on(wide: Shop) -> None:
    wide.db.sql("""
        CREATE VIEW plain AS SELECT a, d FROM (SELECT * FROM t) AS q;
        CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n, max(a) AS a FROM t;
        CREATE MATERIALIZED VIEW grouped AS SELECT d, count(*) AS n FROM plain GROUP BY d;
    """)
    list(wide.db.subscribe("SELECT a, d FROM t", name="follower"))
    wide.db.sql("ALTER TABLE t DROP COLUMN c")
    for db in wide.twice():
        assert rows(db, "plain") == [(1, None), (2, None), (3, "dd")]
        assert rows(db, "counted") == [(3, 3)]
        assert rows(db, "grouped") == [("dd", 1), (None, 2)]
    wide.db.sql("INSERT INTO t VALUES (4, 'v', 'dd')")
    wide.db.advance()
    for db in wide.twice():
        assert rows(db, "counted") == [(4, 4)]
        assert rows(db, "grouped") == [("dd", 2), (None, 2)]


@pytest.mark.parametrize(
    ("user", "named"),
    [
        ("CREATE VIEW v AS SELECT a, c FROM t", "view v"),
        ("CREATE VIEW v AS SELECT * FROM t", "view v"),
        ("CREATE VIEW v AS SELECT a FROM t WHERE c > 1", "view v"),
        ("CREATE VIEW v AS SELECT count(*) AS n FROM t GROUP BY c", "view v"),
        ("CREATE MATERIALIZED VIEW v AS SELECT max(c) AS c FROM t", "view v"),
        ("CREATE VIEW v AS SELECT a FROM o WHERE EXISTS (SELECT 1 FROM t WHERE c = 31)", "view v"),
        ("CREATE VIEW v AS SELECT DISTINCT t.a FROM t NATURAL JOIN o", "view v"),
        ("CREATE TABLE p (c INT CHECK (c > 0), x INT)", "CHECK (c > 0)"),
        ("CREATE TABLE p (x INT, c TIMESTAMP) WITH (append_only, time = c)", "time = column"),
        ("CREATE TABLE p (x INT, c INT, PRIMARY KEY (x, c))", "the primary key"),
    ],
)
def test_columns_in_use_stay(wide: Shop, user: str, named: str) -> None:
    wide.db.sql(f"CREATE TABLE o (a BIGINT, c INT); {user}")
    table = "p" if "TABLE p" in user else "t"
    for db in wide.twice():
        with pytest.raises(ColumnInUse) as refused:
            db.sql(f"ALTER TABLE {table} DROP COLUMN c")
        assert refused.value.parameters == {"column": "c", "table": table, "users": named}
        assert refused.value.place is not None
        assert len(rows(db, "t")) == 3


@pytest.mark.parametrize("text", ["t", "SELECT * FROM t", "SELECT a FROM t WHERE c > 1"])
def test_columns_that_subscriptions_read_stay(wide: Shop, text: str) -> None:
    list(wide.db.subscribe(text, name="follower"))
    with pytest.raises(ColumnInUse) as refused:
        wide.db.sql("ALTER TABLE t DROP COLUMN c")
    assert refused.value.parameters["users"] == "subscription follower"
    wide.db.unsubscribe("follower")
    wide.db.sql("ALTER TABLE t DROP COLUMN c")


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
    with pytest.raises(WrongKind):
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
