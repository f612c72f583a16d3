"""Whether keys are unique, by a pass over files in their order."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tidings.errors import DuplicateKey
from tidings.store.relation.unique_keys import are_unique


def files(*parts: list[tuple[int | None, str]]) -> list[pa.Table]:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    return [pa.Table.from_pylist([{"a": a, "b": b} for a, b in part], schema=schema) for part in parts]


def test_a_key_is_repeated_in_one_file_or_across_files() -> None:
    assert are_unique(files([(1, "x"), (1, "y"), (2, "x")], [], [(2, "y"), (3, "x")])) is True
    assert are_unique(files([(1, "x"), (1, "x")])) is False
    assert are_unique(files([(1, "x"), (2, "x")], [(2, "y")], [(2, "z")], [(2, "x"), (3, "x")])) is False
    assert are_unique([]) is True


def test_files_that_are_not_in_order_say_nothing() -> None:
    assert are_unique(files([(2, "x")], [(1, "x")])) is None
    assert are_unique(files([(None, "x")], [(1, "x")])) is None


@pytest.mark.parametrize("sorted_by", ["a", "b"])
def test_a_load_with_a_repeated_key_is_refused(tmp_path: Path, sorted_by: str) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("CREATE TABLE t (a BIGINT, b STRING, c INT, PRIMARY KEY (a, b))")
        rows = {"a": [1, 2, 1], "b": ["x", "x", "x"], "c": pa.array([1, 2, 3], pa.int32())}
        with pytest.raises(DuplicateKey):
            db.load("t", pa.table(rows), sorted_by=sorted_by)
        assert not list((tmp_path / "db").rglob("*.parquet"))
        db.load("t", pa.table(rows).slice(0, 2), sorted_by=sorted_by)
        assert len(db.query("t").rows()) == 2
