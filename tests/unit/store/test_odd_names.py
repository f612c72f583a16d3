"""Databases whose folders, tables and columns have odd names."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tidings.errors import InvalidName

NAMES = ['a"b', "a'b", "a\nb", "a;b--", "a`b", "禪豫柧澭畉鑶", "a@b/../c", "__x"[1:], "select"]

FOLDERS = [
    "a b",
    "a%20b",
    "a%b",
    "a?b",
    "a?mode=memory",
    "a#b",
    "a[1]",
    "a*b",
    "a{x}",
    "a\\b",
    "a'b",
    'a"b',
    "id=7",
    "~x",
    "é",
]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.parametrize("name", NAMES)
def test_a_table_of_any_name_survives_its_folds(tmp_path: Path, name: str) -> None:
    with tidings.open(tmp_path, engine="duckdb") as db:
        db.sql(f"CREATE TABLE {quoted(name)} ({quoted(name)} BIGINT PRIMARY KEY, x INT)")
        db.sql(f"CREATE MATERIALIZED VIEW {quoted(name + ' view')} AS SELECT sum(x) AS s FROM {quoted(name)}")
        db.sql(f"INSERT INTO {quoted(name)} VALUES (1, 2), (2, 3)")
        db.fold()
        db.sql(f"UPDATE {quoted(name)} SET x = 7 WHERE {quoted(name)} = 2")
    for read_only in (False, True):
        with tidings.open(tmp_path, engine="duckdb", read_only=read_only) as db:
            assert sorted(r["x"] for r in db.query(f"SELECT * FROM {quoted(name)}").rows()) == [2, 7]
            assert db.query(f"SELECT * FROM {quoted(name + ' view')}").rows() == [{"s": 9}]


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_names_that_nothing_can_hold_are_refused(tmp_path: Path, name: str) -> None:
    with tidings.open(tmp_path, engine="duckdb") as db:
        for text in (
            f"CREATE TABLE `{name}` (a INT)",
            f"CREATE TABLE t (`{name}` INT)",
            f"CREATE RULE `{name}` WHEN SELECT 1 AS a DO NOTIFY 'c'",
        ):
            with pytest.raises(InvalidName):
                db.sql(text)


def test_names_that_share_a_checksum_are_two_relations() -> None:
    one, other = "禪豫柧澭畉鑶", "粦髫鼨试卺峼"
    with tidings.open(engine="duckdb") as db:
        db.sql(f"CREATE TABLE `{one}` (x INT); CREATE TABLE `{other}` (x INT)")
        db.sql(f"INSERT INTO `{one}` VALUES (1); INSERT INTO `{other}` VALUES (2)")
        both = db.query(f"SELECT a.x AS a, b.x AS b FROM `{one}` a CROSS JOIN `{other}` b")
        assert both.rows() == [{"a": 1, "b": 2}]


def test_every_folder_has_a_database_of_its_own(tmp_path: Path) -> None:
    for number, name in enumerate(FOLDERS):
        with tidings.open(tmp_path / name, engine="duckdb") as db:
            db.sql("CREATE TABLE t (id BIGINT, s STRING)")
            db.load("t", pa.table({"id": [number], "s": [name]}))
    for number, name in enumerate(FOLDERS):
        with tidings.open(tmp_path / name, engine="duckdb") as db:
            db.sql("INSERT INTO t VALUES (99, 'x')")
            db.fold()
        with tidings.open(tmp_path / name, engine="duckdb", read_only=True) as db:
            assert sorted(tuple(r.values()) for r in db.query("t").rows()) == [(number, name), (99, "x")]
    assert sorted(os.listdir(tmp_path)) == sorted(FOLDERS)


def test_a_url_of_a_file_is_decoded(tmp_path: Path) -> None:
    with tidings.open(f"file://{tmp_path}/my%20shop", engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT)")
    assert (tmp_path / "my shop" / "catalog.sqlite").is_file()


def test_a_database_stays_where_it_is_when_the_process_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with tidings.open("shop", engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        monkeypatch.chdir(tmp_path / "elsewhere")
        db.fold()
        assert db.query("t").rows() == [{"a": 1}]
    assert os.listdir(tmp_path / "elsewhere") == []
