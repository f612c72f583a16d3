"""A DuckDB reaches nothing but the folder of its database, and no statement changes that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tidings.engine.duckdb import DuckDB, PreparedQueries
from tidings.engine.location import Location
from tidings.errors import EngineFailed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path


@pytest.fixture
def engine(folder: Path) -> Iterator[DuckDB]:
    duck = DuckDB(folder=Location.local(folder / "own"))
    yield duck
    duck.close()


def test_it_writes_and_reads_its_own_folder(engine: DuckDB, folder: Path) -> None:
    engine.save("SELECT 1 AS x", Location.local(folder / "own" / "rows"), "x", 10)
    assert engine.fetch(f"FROM read_parquet('{folder}/own/rows/*.parquet')").to_pylist() == [{"x": 1}]


OUTSIDE = [
    "FROM read_text('{folder}/secret.txt')",
    "FROM glob('{folder}/*')",
    "FROM read_csv('{folder}/own/../secret.txt')",
    "FROM '{folder}/secret.txt'",
    "ATTACH '{folder}/other.db' AS other",
    "COPY (SELECT 1) TO '{folder}/written.csv'",
    "COPY (SELECT 1) TO '{folder}/own/../written.csv'",
    "LOAD httpfs",
    "INSTALL httpfs",
    "SET enable_external_access = true",
    "SET allowed_directories = ['/']",
    "SET lock_configuration = false",
    "SET allowed_configs = []",
    "RESET allowed_directories",
]


@pytest.mark.parametrize("statement", OUTSIDE)
def test_it_reaches_nothing_else(engine: DuckDB, folder: Path, statement: str) -> None:
    prepared = PreparedQueries()
    for text in (statement.format(folder=folder), f"SELECT 1; {statement.format(folder=folder)}"):
        with pytest.raises(EngineFailed):
            engine.fetch(text)
        with pytest.raises(EngineFailed):
            prepared.fetch(text, {})
    prepared.close()
    assert sorted(p.name for p in folder.iterdir()) == ["own", "secret.txt"]


def test_a_name_is_no_statement(tmp_path: Path) -> None:
    out, secret = tmp_path / "written.csv", tmp_path / "secret.txt"
    secret.write_text("secret")
    copy = f"COPY (SELECT content FROM read_text('{secret}')) TO '{out}'"
    name = f'x" AS SELECT 1; {copy}; CREATE OR REPLACE TEMP TABLE "y'
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        db.sql(f"CREATE MATERIALIZED VIEW `{name}` AS SELECT a FROM t")
        db.sql("INSERT INTO t VALUES (2)")
        assert db.query(f"SELECT sum(a) AS s FROM `{name}`").rows() == [{"s": 3}]
    assert not out.exists()


def test_a_python_variable_is_no_table() -> None:
    with tidings.open(engine="duckdb") as db, pytest.raises(tidings.errors.TidingsError):
        db.query("SELECT * FROM db")
