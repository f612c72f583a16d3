"""``db.load`` and ``tx.insert`` take the same things, into empty tables and into filled ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidings
from tidings import Database
from tidings.errors import InvalidRow
from tidings.store.relation import rows as rows_module

ROWS = pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["a", "b"]})
BOTH = [(1, "a"), (2, "b")]
DEFAULTS = [(1, "dflt"), (2, "dflt")]


def polars(_: Path) -> Any:
    return pytest.importorskip("polars").from_arrow(ROWS)


def written(name: str, text: str) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    return make


def parquet(folder: Path) -> str:
    pq.write_table(ROWS, folder / "rows.parquet")
    return str(folder / "rows.parquet")


def several(folder: Path) -> None:
    (folder / "a.csv").write_text("v,k\na,1\n", encoding="utf-8")
    pq.write_table(pa.table({"k": pa.array([2], pa.int64()), "V": ["b"]}), folder / "b.parquet")
    (folder / "_SUCCESS").write_text("", encoding="utf-8")


def pattern(folder: Path) -> str:
    several(folder)
    return str(folder / "[ab].*")


def folder_of_files(folder: Path) -> Path:
    several(folder)
    return folder


KINDS: dict[str, tuple[Callable[[Path], Any], list[tuple[Any, ...]]]] = {
    "a lazy frame": (lambda folder: polars(folder).lazy(), BOTH),
    "columns": (lambda _: {"v": ("a", "b"), "K": [1, 2]}, BOTH),
    "arrow": (lambda _: ROWS, BOTH),
    "arrow in another order": (lambda _: ROWS.select(["v", "k"]), BOTH),
    "arrow of a wider type": (lambda _: ROWS.set_column(0, "K", pa.array([1, 2], pa.int64())), BOTH),
    "arrow without a column": (lambda _: ROWS.select(["k"]), DEFAULTS),
    "batch": (lambda _: ROWS.to_batches()[0], BOTH),
    "reader": (lambda _: ROWS.to_reader(), BOTH),
    "pandas": (lambda _: ROWS.to_pandas(), BOTH),
    "pandas without a column": (lambda _: ROWS.to_pandas()[["k"]], DEFAULTS),
    "polars": (polars, BOTH),
    "dictionaries": (lambda _: ROWS.to_pylist(), BOTH),
    "one dictionary": (lambda _: {"k": 1}, DEFAULTS[:1]),
    "tuples": (lambda _: BOTH, BOTH),
    "generator": (lambda _: (row for row in BOTH), BOTH),
    "iterator": (lambda _: iter([{"k": 1}, {"k": 2}]), DEFAULTS),
    "parquet": (parquet, BOTH),
    "csv": (written("r.csv", "k,v\n1,a\n2,b\n"), BOTH),
    "json": (written("r.jsonl", '{"k": 1, "v": "a"}\n{"k": 2, "v": "b"}\n'), BOTH),
    "pattern": (pattern, BOTH),
    "folder": (folder_of_files, BOTH),
    "nothing": (lambda _: [], []),
}


@pytest.fixture(params=["memory", "files"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    folder = None if request.param == "memory" else tmp_path / "database"
    with tidings.open(folder, engine="duckdb") as database:
        database.sql("CREATE TABLE t (k INT, v STRING DEFAULT 'dflt')")
        yield database


@pytest.mark.parametrize("way", ["load", "load more", "insert"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_by_all_ways(db: Database, kind: str, way: str, tmp_path: Path) -> None:
    make, expected = KINDS[kind]
    (tmp_path / "rows").mkdir()
    data, before = make(tmp_path / "rows"), []
    if way == "load more":
        before = [(0, "before")]
        db.load("t", before)
    if way == "insert":
        with db.transaction() as tx:
            affected = tx.insert("t", data)
    else:
        affected = db.load("t", data)
    assert affected.inserted == affected.count == len(expected)
    assert sorted(tuple(row.values()) for row in db.query("t")) == sorted([*before, *expected])


@pytest.mark.parametrize("data", ["hello", b"k", None, 5, [5], "nothing/*.csv", "nothing.parquet", {"no": 1}])
def test_what_holds_no_rows_is_refused_alike(db: Database, data: Any) -> None:
    for first in (True, False):
        if not first:
            db.load("t", BOTH)
        with pytest.raises(InvalidRow):
            db.load("t", data)
        with pytest.raises(InvalidRow), db.transaction() as tx:
            tx.insert("t", data)


def test_rows_of_an_iterator_are_numbered_through(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "BATCH", 2)
    with pytest.raises(InvalidRow) as refused:
        db.load("t", iter([(1, "a"), (2, "b"), (3, "c"), ("four", "d")]))
    assert refused.value.parameters["row"] == 4
    db.load("t", ((n, str(n)) for n in range(5)))
    assert len(db.query("t")) == 5


def test_a_refused_row_is_named_with_its_file(db: Database, tmp_path: Path) -> None:
    written("good.csv", "k\n1\n")(tmp_path)
    written("wrong.csv", "k,w\n1,2\n")(tmp_path)
    with pytest.raises(InvalidRow, match=r"no column named w, in .*wrong\.csv"):
        db.load("t", str(tmp_path / "*.csv"))


class TestCopy:
    """``COPY table FROM 'files'``."""

    def test_files_are_inserted(self, db: Database, tmp_path: Path) -> None:
        (tmp_path / "rows").mkdir()
        affected = db.sql(f"COPY t FROM '{pattern(tmp_path / 'rows')}'")
        assert isinstance(affected, tidings.AffectedRows)
        assert affected.inserted == 2
        assert sorted(tuple(row.values()) for row in db.query("t")) == BOTH
        assert len(db.changes("t")) == 2

    @pytest.mark.parametrize("option", ["FORMAT csv", "(FORMAT csv)", "FILEFORMAT = CSV", "WITH (FORMAT 'csv')"])
    def test_a_format_may_be_given(self, db: Database, tmp_path: Path, option: str) -> None:
        (tmp_path / "rows.txt").write_text("k\n1\n", encoding="utf-8")
        db.sql(f"COPY INTO t FROM '{tmp_path / 'rows.txt'}' {option}")
        assert db.query("t").rows() == [{"k": 1, "v": "dflt"}]

    def test_in_a_transaction(self, db: Database, tmp_path: Path) -> None:
        files = written("r.csv", "k\n1\n")(tmp_path), written("s.csv", "k\n2\n")(tmp_path)
        with db.transaction() as tx:
            tx.sql(f"COPY t FROM '{files[0]}', '{files[1]}'")
            assert len(tx.query("t")) == 2
            tx.rollback()
        assert len(db.query("t")) == 0

    @pytest.mark.parametrize("text", ["COPY t FROM 'no.csv'", "COPY t FROM 'no*.csv'", "COPY t FROM 'no'"])
    def test_files_that_are_not_there(self, db: Database, text: str) -> None:
        with pytest.raises(InvalidRow):
            db.sql(text)


@pytest.mark.parametrize(
    ("name", "text", "row", "reason"),
    [
        ("a.csv", "k,v\n1,x\n2,y\nq,z\n", 3, "'q' is no value for k, which is int"),
        ("a.csv", "k,v\n1,x\n2,y,3\n", 1, "no CSV"),
        ("a.parquet", "nothing", 1, "no Parquet"),
        ("a.jsonl", "nothing", 1, "no JSON"),
        ("a.jsonl", '{"k": 1}\n{"k": "x"}\n', 1, "no JSON"),
    ],
)
def test_files_that_cannot_be_read(db: Database, tmp_path: Path, name: str, text: str, row: int, reason: str) -> None:
    with pytest.raises(InvalidRow) as refused:
        db.load("t", written(name, text)(tmp_path))
    assert refused.value.parameters["row"] == row
    assert reason in str(refused.value.parameters["reason"])
    assert "Arrow" not in str(refused.value)


def test_lists_are_columns_unless_the_columns_are_of_arrays() -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (a ARRAY<INT>); CREATE TABLE u (a INT, b ARRAY<INT>)")
        db.load("t", {"a": [1, 2]})
        db.load("u", {"a": [1, 2], "b": [[1], None]})
        db.load("u", {"a": 3, "b": [3, 4]})
        assert db.query("t").rows() == [{"a": [1, 2]}]
        assert [row["b"] for row in db.query("SELECT b FROM u ORDER BY a")] == [[1], None, [3, 4]]
        with pytest.raises(InvalidRow, match="different lengths"):
            db.load("u", {"a": [4, 5], "b": [[1]]})
