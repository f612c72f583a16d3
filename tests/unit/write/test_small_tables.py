"""UPDATE and DELETE of a small table without a key: in this process, with the same outcome as on the engine."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.write import small_tables
from tidings.write.statement_context import StatementContext


def rows(db: Database) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in db.query("t"))


def opened(folder: Path | None, execution: Any) -> Database:
    db = tidings.open(folder, engine="duckdb", execution=execution, clock=ManualClock(1000))
    db.sql("CREATE TABLE t (x INT, y STRING, z DECIMAL(6,2))")
    return db


def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no query be put to the engine."""

    def refused(*_: object) -> None:
        raise AssertionError("a query")

    monkeypatch.setattr(StatementContext, "answer", refused)


STATEMENTS = [
    "UPDATE t SET x = x + 1 WHERE x < {n}",
    "UPDATE t SET y = upper(y), z = z + 1.5 WHERE y = 'a' OR x IS NULL",
    "UPDATE t SET x = NULL WHERE x BETWEEN {n} AND {n} + 1",
    "UPDATE t SET z = x WHERE z IS NULL",
    "UPDATE t AS u SET x = u.x * 2 WHERE NOT u.x > {n}",
    "UPDATE t SET y = 'all'",
    "DELETE FROM t WHERE x = {n}",
    "DELETE FROM t WHERE y LIKE 'A%' AND x <> {n}",
    "DELETE FROM t WHERE x = {n} AND NULL",
]


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_as_on_the_engine(seed: int, folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    with opened(tmp_path / "a" if folder else None, "auto") as here, opened(None, None) as there:
        for _ in range(10):
            texts = [choose.choice(STATEMENTS).format(n=choose.randint(0, 5)) for _ in range(choose.randint(1, 3))] + [
                "INSERT INTO t VALUES " + ", ".join(value(choose) for _ in range(6))
            ]
            choose.shuffle(texts)
            counts = []
            for db in (here, there):
                with monkeypatch.context() as patch, db.transaction() as tx:
                    if db is here:
                        no_engine(patch)
                    counts.append([tx.sql(text).rows() for text in texts])  # type: ignore[union-attr]
            assert counts[0] == counts[1]
            assert rows(here) == rows(there)
            if folder and choose.random() < 0.4:
                here.fold()


def value(choose: random.Random) -> str:
    x, y, z = (
        choose.choice(["NULL", "1", "2", "3"]),
        choose.choice(["NULL", "'a'", "'b'"]),
        choose.choice(["NULL", "1.25"]),
    )
    return f"({x}, {y}, {z})"


def test_what_the_engines_may_not_agree_on_goes_to_the_engine() -> None:
    with opened(None, "auto") as db:
        db.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
        db.sql("UPDATE t SET x = (SELECT max(x) FROM t) + 1 WHERE x > 1")
        assert rows(db) == Counter([(1, "a", 1), (3, "b", 2)])


def test_large_tables_are_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_tables, "SMALL", 1)
    with opened(None, "auto") as db:
        db.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
        db.sql("UPDATE t SET x = 5 WHERE y = 'a'")
        assert rows(db) == Counter([(5, "a", 1), (2, "b", 2)])
        workspace = db._parts.transactions.begin()
        assert small_tables.current_rows(workspace, workspace.target("t")) is None
        workspace.rollback()


def test_a_base_that_the_engine_alone_has() -> None:
    with opened(None, "auto") as db:
        db.load("t", [(1, "a", 1), (2, "b", 2)])
        db.sql("UPDATE t SET x = 5 WHERE y = 'a'; DELETE FROM t WHERE x < 4")
        assert rows(db) == Counter([(5, "a", 1)])
