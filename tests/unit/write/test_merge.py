"""MERGE by key: rows are looked up instead of read, and the outcome is the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.engine.duckdb import DuckDB
from tidings.engine.source import Source
from tidings.errors import AmbiguousMerge, DuplicateKey, EngineFailed, NullNotAllowed, UnknownColumn
from tidings.write import merge

CLAUSES = """
    WHEN MATCHED AND s.v < 0 THEN DELETE
    WHEN MATCHED AND s.v < 5 THEN UPDATE SET v = t.v + s.v
    WHEN NOT MATCHED AND s.v > 2 AND s.a < 1000 AND s.b IS NOT NULL THEN INSERT (a, b, v) VALUES (s.a, s.b, s.v)
"""
ON = "t.a = s.a AND s.b = t.b"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(1000)) as db:
        db.sql("CREATE TABLE t (v INT, b STRING, a INT, PRIMARY KEY (a, b))")
        db.sql("CREATE TABLE s (a BIGINT, b STRING, v INT)")
        with db.transaction() as tx:
            tx.insert("t", [(n, "xyz"[n % 3], n // 3) for n in range(60)])
        db.fold()
        db.sql("UPDATE t SET v = -v WHERE a < 5")
        yield db


def rows(db: Database) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.query("t").rows())


@pytest.mark.parametrize("seed", range(8))
def test_the_same_as_without_looking_up(seed: int, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    pairs = [(a, b) for a in [*range(25), 1 << 40, None] for b in ("x", "y", "w", None)]
    chosen = rng.sample(pairs, 30)
    db.sql("DELETE FROM s")
    with db.transaction() as tx:
        tx.insert("s", [(a, b, rng.randint(-2, 8)) for a, b in chosen])
    found = []
    for looked_up in (True, False):
        if not looked_up:
            monkeypatch.setattr(merge, "_known_rows", lambda *_: None)
        tx = db.transaction()
        tx.sql("DELETE FROM t WHERE a = 3; INSERT INTO t VALUES (100, 'w', 7); UPDATE t SET v = 9 WHERE a = 8")
        tx.sql(f"MERGE INTO t USING s ON {ON} {CLAUSES}")
        found.append(sorted(tuple(row.values()) for row in tx.query("t").rows()))
        tx.rollback()
    assert found[0] == found[1] != rows(db)


def test_the_base_is_not_read(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_base(self: DuckDB, name: str, source: Source) -> None:
        assert source.base is None
        original(self, name, source)

    original = DuckDB.plain
    monkeypatch.setattr(DuckDB, "plain", without_base)
    monkeypatch.setattr(DuckDB, "versioned", lambda *_: pytest.fail("a version was asked for"))
    db.sql(f"MERGE INTO t USING (VALUES (7, 'x', 1), (90, 'x', 3)) AS s (a, b, v) ON {ON} {CLAUSES}")
    monkeypatch.undo()
    assert {(22, "x", 7), (3, "x", 90)} <= set(rows(db))


@pytest.mark.parametrize(
    "text",
    [
        f"MERGE INTO t USING s ON {ON} WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "MERGE INTO t USING s ON t.a = s.a AND t.b = 'x' WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING (SELECT a + 1 AS a, b FROM t) AS s ON t.a = s.a AND t.b = s.b WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING (SELECT CAST(a AS STRING) AS a, b FROM s) AS s ON t.a = s.a AND t.b = s.b "
        "WHEN MATCHED THEN DELETE",
    ],
)
def test_the_engine_looks_where_keys_are_not_enough(text: str, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[object] = []
    original = merge._known_rows
    monkeypatch.setattr(merge, "_known_rows", lambda *given: held.append(original(*given)))
    db.sql("INSERT INTO s VALUES (7, 'x', 1)")
    db.sql(text)
    assert held == [None]
    assert rows(db)[-1:] != [(22, "x", 7)]


def test_two_rows_for_one(db: Database) -> None:
    db.sql("INSERT INTO s VALUES (7, 'x', 1), (7, 'x', 2)")
    with pytest.raises(AmbiguousMerge):
        db.sql(f"MERGE INTO t USING s ON {ON} {CLAUSES}")


def test_many_keys(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "KEYS", 2)
    db.sql("INSERT INTO s SELECT a, b, 1 FROM t WHERE a < 2")
    before = {(a, b): v for v, b, a in rows(db)}
    db.sql(f"MERGE INTO t USING s ON {ON} {CLAUSES}")
    assert {(a, b): v for v, b, a in rows(db)} == {key: v + (key[0] < 2) for key, v in before.items()}


UPSERT = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (a, b, v) VALUES (s.a, s.b, s.v)"
CONSTANTS = [
    ("(VALUES (7, 'x', 1), (90, 'x', 3)) AS s (a, b, v)", UPSERT),
    ("(SELECT 7 AS a, 'x' AS b, -1 AS v) AS s", UPSERT),
    ("(SELECT 7, 'x', 1) AS s (a, b, v)", UPSERT),
    ("(VALUES (7, 'x', NULL)) AS s (a, b, v)", UPSERT),
    ("(VALUES (7, 'X', 1)) AS s (a, b, v)", UPSERT),
    ("(VALUES (90, 'x', 1)) AS s (a, b, v)", "WHEN NOT MATCHED THEN INSERT *"),
    ("(VALUES (7, 'x', 1)) AS s (a, b, v)", "WHEN MATCHED THEN UPDATE SET *"),
    ("(VALUES (7, 'x', 1)) AS s (a, b, v)", "WHEN MATCHED THEN DELETE"),
    ("(VALUES (3, 'x', 1)) AS s (a, b, v)", UPSERT),
    ("(VALUES (100, 'w', 1)) AS s (a, b, v)", UPSERT),
    ("(VALUES (91, 'x')) AS s (a, b)", "WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b)"),
    ("(VALUES (91, 'x')) AS s (a, b)", "WHEN NOT MATCHED THEN INSERT (a, b, v) VALUES (s.a, s.b, DEFAULT)"),
    ("(VALUES (7, 'x')) AS s (a, b)", "WHEN MATCHED THEN UPDATE SET v = 12"),
]


@pytest.mark.parametrize(("source", "clauses"), CONSTANTS)
def test_constants_do_what_the_engine_does(
    source: str, clauses: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, asked = [], list[object]()
    original = merge._known_rows

    def known_rows(*given: Any) -> Any:
        asked.append(given)
        return original(*given)

    monkeypatch.setattr(merge, "_known_rows", known_rows)
    for is_read_off in (True, False):
        if not is_read_off:
            monkeypatch.setattr(merge, "constant_merge", lambda *_: None)
        tx = db.transaction()
        tx.sql("DELETE FROM t WHERE a = 3; INSERT INTO t VALUES (100, 'w', 7); UPDATE t SET v = 9 WHERE a = 7")
        tx.sql(f"MERGE INTO t USING {source} ON {ON} {clauses}")
        found.append(sorted((tuple(row.values()) for row in tx.query("t").rows()), key=repr))
        tx.rollback()
        assert bool(asked) is (not is_read_off or "SELECT 7, 'x'" in source)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("source", "clauses", "error"),
    [
        ("(VALUES (7, 'x', 1), (7, 'x', 2)) AS s (a, b, v)", UPSERT, AmbiguousMerge),
        ("(VALUES (90, 'x', 1), (90, 'x', 2)) AS s (a, b, v)", UPSERT, DuplicateKey),
        ("(VALUES (NULL, 'x', 1)) AS s (a, b, v)", UPSERT, NullNotAllowed),
        ("(VALUES (7, 'x', 3000000000)) AS s (a, b, v)", UPSERT, EngineFailed),
        ("(VALUES (7, 'x', 'much')) AS s (a, b, v)", UPSERT, EngineFailed),
        ("(VALUES (7, 'x', 1)) AS s (a, b, v)", "WHEN MATCHED THEN UPDATE SET v = s.w", UnknownColumn),
        ("(VALUES (7, 'x', 1)) AS s (a, b, v)", "WHEN MATCHED THEN UPDATE SET w = s.v", UnknownColumn),
    ],
)
def test_constants_that_are_refused(source: str, clauses: str, error: type[Exception], db: Database) -> None:
    before = rows(db)
    with pytest.raises(error):
        db.sql(f"MERGE INTO t USING {source} ON {ON} {clauses}")
    assert rows(db) == before


def test_keys_that_are_too_large_match_nothing(db: Database) -> None:
    before = rows(db)
    db.sql(f"MERGE INTO t USING (VALUES (3000000000, 'x', 1)) AS s (a, b, v) ON {ON} WHEN MATCHED THEN DELETE")
    assert rows(db) == before


def test_defaults_of_rows_that_come(db: Database) -> None:
    db.sql("CREATE TABLE d (a INT PRIMARY KEY, b INT DEFAULT 5, c STRING)")
    for a in (1, 1, 2):
        db.sql(
            f"MERGE INTO d USING (SELECT {a} AS a, 'x' AS c) AS s ON d.a = s.a"
            " WHEN MATCHED THEN UPDATE SET b = 6 WHEN NOT MATCHED THEN INSERT (a, c) VALUES (s.a, s.c)"
        )
    assert sorted(tuple(r.values()) for r in db.query("d").rows()) == [(1, 6, "x"), (2, 5, "x")]


def test_subqueries_of_clauses_see_all_rows_of_the_table(db: Database) -> None:
    """Only the rows that match are looked up by key, unless a clause asks for others."""
    db.sql("""MERGE INTO t USING (SELECT 1 AS a, 'x' AS b) AS s ON t.a = s.a AND t.b = s.b
              WHEN MATCHED AND (SELECT count(*) FROM t) > 1 THEN UPDATE SET v = (SELECT max(u.v) FROM t AS u) + 1""")
    assert db.query("SELECT v FROM t WHERE a = 1 AND b = 'x'").rows() == [{"v": 60}]
