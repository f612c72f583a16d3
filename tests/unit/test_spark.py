"""What the format ``tidings`` reads, without Spark: parts of tables, answers and changes, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings.engine.arrow import arrow_schema
from tidings.engine.row_values import row_keys
from tidings.errors import InvalidReadOption
from tidings.spark import TidingsSource, source_of


@pytest.fixture
def db(tmp_path: Path) -> tidings.Database:
    return tidings.open(tmp_path / "shop", engine="duckdb", clock=tidings.ManualClock(1_000))


def source(tmp_path: Path, streams: bool = False, **options: str) -> TidingsSource:
    return source_of({"path": str(tmp_path / "shop"), **options}, streams=streams)


def rows(source: TidingsSource) -> pa.Table:
    batches = [batch for part in source.parts() for batch in source.read(part)]
    return pa.Table.from_batches(batches, schema=arrow_schema(source.columns()))


def same(one: pa.Table, other: pa.Table) -> bool:
    return Counter(row_keys(one)) == Counter(row_keys(other))


@pytest.mark.parametrize("key", ["", "PRIMARY KEY"])
def test_a_table_is_read_in_parts(
    db: tidings.Database, tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(3)
    db.sql(f"CREATE TABLE t (k INT {key}, a ARRAY<STRING>); CREATE VIEW big AS SELECT k FROM t WHERE k > 50")
    assert rows(source(tmp_path, table="t")).num_rows == 0
    held = [(k, [str(k)] if k % 3 else None) for k in range(60)]
    db.load("t", held)
    for step in range(4):
        with db.transaction() as tx:
            for row in rng.sample(held, 5):
                tx.delete("t", [row])
                held.remove(row)
            fresh = [(100 * (step + 1) + n, None) for n in range(3)]
            tx.insert("t", fresh)
            held += fresh
        if step == 1:
            db.fold()
        assert same(rows(source(tmp_path, table="T")), db.query("t").to_arrow())
    db.sql("ALTER TABLE t ADD COLUMN n INT DEFAULT 7")
    assert same(rows(source(tmp_path, table="t")), db.query("t").to_arrow())
    assert same(rows(source(tmp_path, table="big")), db.query("big").to_arrow())
    if not key:
        with db.transaction() as tx:
            tx.insert("t", [(1, ["1"], 7)] * 2)
            tx.delete("t", [(1, ["1"], 7)])
        assert same(rows(source(tmp_path, table="t")), db.query("t").to_arrow())


def test_parts_are_of_one_instant(db: tidings.Database, tmp_path: Path) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY)")
    db.load("t", [(k,) for k in range(9)])
    db.sql("DELETE FROM t WHERE k = 1; INSERT INTO t VALUES (20)")
    reading = source(tmp_path, table="t")
    parts = reading.parts()
    db.sql("DELETE FROM t WHERE k < 8; INSERT INTO t VALUES (21)")
    db.fold()
    read = [row["k"] for part in parts for batch in reading.read(part) for row in batch.to_pylist()]
    assert sorted(read) == [0, 2, 3, 4, 5, 6, 7, 8, 20]


def test_answers_and_changes_are_read(db: tidings.Database, tmp_path: Path) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY, x INT); INSERT INTO t VALUES (1, 5), (2, 6)")
    then = db.time
    db.sql("UPDATE t SET x = 7 WHERE k = 1")
    total = "SELECT sum(x) AS s FROM t"
    assert rows(source(tmp_path, query=total)).to_pylist() == [{"s": 13}]
    assert rows(source(tmp_path, query=total, as_of=str(then))).to_pylist() == [{"s": 11}]
    assert rows(source(tmp_path, table="t", as_of=str(then))).num_rows == 2
    changes = rows(source(tmp_path, changes=total, since=str(then)))
    assert changes.to_pylist() == [{"s": 11, "__t": db.time, "__w": -1}, {"s": 13, "__t": db.time, "__w": 1}]
    stream = source(tmp_path, streams=True, changes="t")
    assert stream.start() == stream.present() == db.time
    assert source(tmp_path, streams=True, changes="t", since="0").start() == 0
    batches = list(stream.between(then, db.time))
    assert sum(batch.num_rows for batch in batches) == 2


@pytest.mark.parametrize(
    ("options", "streams", "reason"),
    [
        ({"table": "t"}, False, "needs the path"),
        ({"path": "p"}, False, "one of table, query and changes"),
        ({"path": "p", "table": "t", "query": "q"}, False, "one of table, query and changes"),
        ({"path": "p", "tabel": "t"}, False, "no option named tabel"),
        ({"path": "p", "table": "t", "since": "1"}, False, "since does not go with table"),
        ({"path": "p", "changes": "t", "as_of": "1"}, False, "as_of does not go with changes"),
        ({"path": "p", "table": "t"}, True, "a stream is of changes"),
    ],
)
def test_unclear_options_are_refused(options: dict[str, Any], streams: bool, reason: str) -> None:
    with pytest.raises(InvalidReadOption) as refused:
        source_of(options, streams=streams)
    assert reason in str(refused.value.parameters["reason"])
