"""Rows that stay in memory take no more than they need, and logs of many entries are folded."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import tidings
from tests.unit.eventually import eventually
from tidings.store.fold import FoldPolicy
from tidings.store.relation.log import compact


def test_buffers_of_an_engine_are_copied() -> None:
    large = pa.table({"x": list(range(10_000)), "s": ["text"] * 10_000, "l": [[1]] * 10_000})
    few = large.slice(5, 2)
    assert compact(few).equals(few)
    assert compact(few).get_total_buffer_size() < 1000 < few.get_total_buffer_size()
    assert compact(large) is large


def test_entries_of_stored_views_are_small() -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (k INT, x INT)")
        query = "SELECT k, max(x) AS m, min(x) AS n, avg(x) AS a, count(*) AS c FROM t GROUP BY k"
        db.sql(f"CREATE MATERIALIZED VIEW v WITH (refresh = 'immediate') AS {query}")
        for n in range(12):
            db.sql(f"INSERT INTO t VALUES ({n % 3}, {n})")
        held = [rows.get_total_buffer_size() for t in db._parts.storage.tables() for rows in t.entry_log.rows if rows]
        assert max(held) < 5000


def test_a_log_of_many_entries_is_folded(tmp_path: Path) -> None:
    with tidings.open(tmp_path, engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT)")
        db._parts.folding.policy = FoldPolicy(most_entries=20, rows=200)
        for n in range(60):
            db.sql(f"INSERT INTO t VALUES ({n})")
        table = db._parts.relations.table("t")

        def is_short() -> bool:
            db.advance()
            return table.base is not None and table.history.entries() <= 40

        eventually(is_short)
        assert len(db.query("t")) == 60


def test_a_log_of_many_bytes_is_folded(tmp_path: Path) -> None:
    with tidings.open(tmp_path, engine="duckdb") as db:
        db.sql("CREATE TABLE t (a STRING)")
        db._parts.folding.policy = FoldPolicy(most_bytes=10_000)
        for _ in range(20):
            db.sql(f"INSERT INTO t VALUES ('{'x' * 1000}')")
        table = db._parts.relations.table("t")

        def is_folded() -> bool:
            db.advance()
            return table.base is not None

        eventually(is_folded)
