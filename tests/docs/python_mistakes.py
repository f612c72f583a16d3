"""Mistakes made in Python, and the condition by which each is refused; the tables are those of the mistakes in SQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import tidings
from tidings import Database


def _insert(table: str, rows: Any) -> Callable[[Database, Path], object]:
    def act(db: Database, _: Path) -> None:
        with db.transaction() as tx:
            tx.insert(table, rows)

    return act


def _nested(db: Database, _: Path) -> None:
    with db.transaction() as tx:
        tx.insert("customer", [(7, "gus", None, None)])
        tx.sql("BEGIN")


def _after_the_end(db: Database, _: Path) -> None:
    with db.transaction() as tx:
        pass
    tx.insert("line", [(1, 1, 1, 1.0)])


def _no_csv(db: Database, folder: Path) -> None:
    (folder / "words.csv").write_text("order_id,sku,qty,price\n1,2,three,4\n", encoding="utf-8")
    db.load("line", folder / "words.csv")


def _no_parquet(db: Database, folder: Path) -> None:
    (folder / "words.parquet").write_text("no parquet at all", encoding="utf-8")
    db.load("line", folder / "words.parquet")


def _folder_of_others(_: Database, folder: Path) -> None:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    tidings.open(folder, engine="duckdb")


def _file_as_folder(_: Database, folder: Path) -> None:
    (folder / "notes.md").write_text("mine", encoding="utf-8")
    tidings.open(folder / "notes.md", engine="duckdb")


PYTHON_MISTAKES: list[tuple[str, Callable[[Database, Path], object]]] = [
    ("UnknownRelation", lambda db, _: db.query("custmer")),
    ("UnknownRelation", lambda db, _: db.load("custmer", [(1,)])),
    ("NotATable", lambda db, _: db.load("spend", [(1, 2)])),
    ("InvalidRow", lambda db, _: db.load("line", [{"order_id": 1, "skew": 2}])),
    ("InvalidRow", lambda db, _: db.load("line", [(1, 2)])),
    ("InvalidRow", lambda db, _: db.load("line", [1, 2])),
    ("InvalidRow", lambda db, _: db.load("line", 5)),
    ("InvalidRow", lambda db, _: db.load("line", [("x", 1, 1, 1.0)])),
    (
        "InvalidRow",
        lambda db, _: db.load("line", pa.table({"order_id": ["x"], "sku": [1], "qty": [1], "price": [1.0]})),
    ),
    ("UnknownColumn", lambda db, _: db.load("line", [(1, 1, 1, 1.0)], sorted_by="nosuch")),
    ("InvalidRow", lambda db, folder: db.load("line", folder / "nosuch.parquet")),
    ("InvalidRow", _no_csv),
    ("InvalidRow", _no_parquet),
    ("UnknownRelation", _insert("custmer", [(1,)])),
    ("NotATable", _insert("big", [(1, 2)])),
    ("InvalidRow", _insert("customer", [(1, 2, 3)])),
    ("InvalidRow", _insert("customer", [("one", "ann", None, None)])),
    ("InvalidRow", _insert("customer", [(1.5, "ann", None, None)])),
    ("InvalidRow", _insert("customer", [(2**40, "ann", None, None)])),
    ("InvalidRow", _insert("customer", [(3, "ann", None, "yesterday")])),
    ("NullNotAllowed", _insert("customer", [(3, None, None, None)])),
    ("DuplicateKey", _insert("customer", [(1, "ann", None, None)])),
    ("CheckViolated", _insert("orders", [(12, 1, None, -1)])),
    ("InvalidRow", _insert("customer", [{"id": 3, "nme": "cy"}])),
    ("InvalidRow", _insert("customer", "nosuch.parquet")),
    ("InvalidRow", _insert("customer", None)),
    ("UnsupportedStatement", _nested),
    ("UnknownTransactionState", _after_the_end),
    ("InvalidParameter", lambda db, _: db.query("SELECT :x AS x", params={})),
    ("InvalidParameter", lambda db, _: db.query("SELECT :x AS x", params={"x": object()})),
    ("InvalidParameter", lambda db, _: db.query("SELECT ? AS x", params=[1, 2])),
    ("InvalidParameter", lambda db, _: db.sql("SELECT 1 AS x", params={"y": 1})),
    ("InvalidInstant", lambda db, _: db.query("customer", as_of="yesterday")),
    ("InvalidInstant", lambda db, _: db.query("customer", as_of=timedelta(days=1))),  # type: ignore[arg-type]
    ("InvalidInstant", lambda db, _: db.changes("customer", since=True)),
    ("InvalidInterval", lambda db, _: db.changes("customer", since="2030-01-01", until="2026-01-01")),
    ("UnknownRelation", lambda db, _: db.subscribe("custmer")),
    ("UnknownRelation", lambda db, _: db.refresh("nosuch")),
    ("WrongKind", lambda db, _: db.refresh("spend")),
    ("UnknownRelation", lambda db, _: db.schema("nosuch")),
    ("UnknownRelation", lambda db, _: db.explain("nosuch")),
    ("UnknownRule", lambda db, _: db.explain_rule("nosuch")),
    ("UnknownRule", lambda db, _: db.backtest("nosuch")),
    ("UnknownEvent", lambda db, _: db.signal("pong", [("a",)])),
    ("UnknownEngine", lambda db, _: tidings.open(engine="sqlite")),  # type: ignore[arg-type]
    ("UnknownExecution", lambda db, _: tidings.open(engine="duckdb", execution="fast")),  # type: ignore[arg-type]
    ("UnknownStrategy", lambda db, _: tidings.open(engine="duckdb", strategy="best")),  # type: ignore[arg-type]
    ("InvalidMemory", lambda db, _: tidings.open(engine="duckdb", memory="lots")),
    ("FolderInUse", _folder_of_others),
    ("NotWritable", _file_as_folder),
    ("InvalidArgument", lambda db, _: db.query(None)),  # type: ignore[arg-type]
    ("InvalidArgument", lambda db, _: db.sql(b"SELECT 1")),  # type: ignore[arg-type]
    ("InvalidArgument", lambda db, _: db.load(None, [])),  # type: ignore[arg-type]
    ("InvalidArgument", lambda db, _: db.changes("customer", per_commit="yes")),  # type: ignore[arg-type]
    ("InvalidArgument", _insert(5, [])),  # type: ignore[arg-type]
    ("InvalidArgument", lambda db, _: tidings.open(5)),  # type: ignore[arg-type]
    ("InvalidArgument", lambda db, _: tidings.open(engine="duckdb", retention=7)),  # type: ignore[arg-type]
    ("InvalidArgument", lambda db, _: tidings.open(engine="duckdb", catalog="postgresql://h/c")),
    ("InvalidArgument", lambda db, folder: tidings.open(folder / "db", engine="duckdb", catalog="no url")),
    ("InvalidInstant", lambda db, _: tidings.ManualClock("yesterday")),
    ("InvalidDatalog", lambda db, _: db.datalog("nosuch.dl")),
    ("InvalidRow", lambda db, _: db.load("line", ({"order_id": 1 // (1 - n)} for n in range(3)))),
]
