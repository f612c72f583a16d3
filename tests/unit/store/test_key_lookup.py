"""Rows by key and by value: in the log, in files, and in an engine's memory."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.engine.duckdb import DuckDB
from tidings.errors import DuplicateKey, MissingRow
from tidings.store.relation.row_groups import RowGroups

KEYS: list[tuple[str, list[Any]]] = [
    ("TINYINT", [-3, 0, 5]),
    ("BIGINT", [-(1 << 62), 0, 1 << 62]),
    ("DECIMAL(6,2)", [Decimal("-1.50"), Decimal(0), Decimal("9999.99")]),
    ("DECIMAL(30,3)", [Decimal("-1.5"), Decimal(0), Decimal("123456789012345678901234567.891")]),
    ("STRING", ["", "a", "ä\U0001f600"]),
    ("BOOLEAN", [False, True]),
    ("DATE", [date(1900, 1, 1), date(1970, 1, 1), date(2400, 2, 29)]),
    ("TIMESTAMP", [datetime(1900, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)]),
    ("TIMESTAMP_NTZ", [datetime(1900, 1, 1), datetime(2026, 1, 2, 3, 4, 5, 678)]),
]


@pytest.mark.parametrize("where", ["memory", "loaded", "log", "base"])
@pytest.mark.parametrize(("type", "keys"), KEYS, ids=[t for t, _ in KEYS])
def test_keys_of_every_type(type: str, keys: list[Any], where: str, tmp_path: Path) -> None:
    folder = tmp_path / "db" if where in ("log", "base") else None
    with tidings.open(folder, engine="duckdb", clock=ManualClock(1000)) as db:
        db.sql(f"CREATE TABLE t (tags ARRAY<INT>, k {type} PRIMARY KEY, v INT)")
        with db.transaction() as tx:
            tx.insert("t", [([1], key, n) for n, key in enumerate(keys)])
        if where in ("loaded", "base"):
            db.fold()
        for key in keys:
            with pytest.raises(DuplicateKey), db.transaction() as tx:
                tx.insert("t", [(None, key, 7)])
        with db.transaction() as tx:
            tx.update("t", [{"k": key, "v": 10 + n} for n, key in enumerate(keys)])
            tx.delete("t", [(keys[0],)])
        assert sorted(r["v"] for r in db.query("t").rows()) == list(range(11, 10 + len(keys)))
        assert all(r["tags"] == [1] for r in db.query("t").rows())
        table, finder = db._parts.relations.table("t"), db._parts.transactions.write_parts.enforcer.finder
        held = finder.held(table, pa.table({"k": pa.array(keys, table.schema.field("k").type)}))
        assert sorted(held.column("k").to_pylist()) == keys[1:]


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize(
    ("type", "values"),
    [
        ("DOUBLE", [float("nan"), 0.0, -1.5, None]),
        ("FLOAT", [float("nan"), float("inf"), 0.5, None]),
        ("BINARY", [b"", b"\x00\xff", None]),
        ("ARRAY<INT>", [[], [1, None], None]),
        ("STRUCT<a: INT, b: STRING>", [{"a": 1, "b": None}, None]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows_by_all_their_values(type: str, values: list[Any], folded: bool, tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(1000)) as db:
        db.sql(f"CREATE TABLE t (x {type})")
        with db.transaction() as tx:
            tx.insert("t", [(v,) for v in values * 2])
        if folded:
            db.fold()
        for value in values:
            with db.transaction() as tx:
                tx.delete("t", [(value,), (value,)])
            with pytest.raises(MissingRow), db.transaction() as tx:
                tx.delete("t", [(value,)])
        assert len(db.query("t")) == 0


def test_few_row_groups_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup in files reads the row groups that may hold the key, and asks the engine nothing."""
    size = 100_000
    rows = pa.table({"k": pa.array(range(size), pa.int64()), "v": pa.array([1] * size, pa.int32())})
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(1000)) as db:
        db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, v INT)")
        db.load("t", rows)
        snapshot = db._parts.storage.snapshots.files[db._parts.relations.table("t").id]
        read: set[int] = set()
        opened = snapshot._opened(snapshot.record.files[0])
        original = RowGroups._read

        def counted(self: RowGroups, group: int, names: list[str]) -> Any:
            read.add(group)
            return original(self, group, names)

        monkeypatch.setattr(RowGroups, "_read", counted)
        with monkeypatch.context() as patch:
            patch.setattr(DuckDB, "plain", lambda *_: pytest.fail("the engine was asked"))
            with db.transaction() as tx:
                tx.update("t", [{"k": 77_777, "v": 2}])
                tx.delete("t", [{"k": 5}])
        assert opened._file.num_row_groups > 2
        assert len(read) == 2
        assert changes(db) == [(5, 1, -1), (77_777, 1, -1), (77_777, 2, 1)]


def changes(db: Database) -> list[tuple[int, int, int]]:
    return sorted((c.row["k"], c.row["v"], c.weight) for c in db.changes("t", since=0).rows())


def test_many_keys_at_once() -> None:
    """More keys than are written into a query, where the engine alone has the base."""
    size = 1000
    rows = pa.table({"k": pa.array(range(size), pa.int64()), "v": pa.array([1] * size, pa.int32())})
    with tidings.open(engine="duckdb", clock=ManualClock(1000)) as db:
        db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, v INT)")
        db.load("t", rows)
        with db.transaction() as tx:
            tx.update("t", [{"k": k, "v": 2} for k in range(0, size, 2)])
        with pytest.raises(DuplicateKey), db.transaction() as tx:
            tx.insert("t", [(k, 3) for k in range(size - 1, size + 500)])
        assert db.query("SELECT sum(v) AS v FROM t").rows() == [{"v": 1500}]
