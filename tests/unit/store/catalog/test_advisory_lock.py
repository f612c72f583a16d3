"""One writer per catalog in PostgreSQL, though the folders have locks of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tests.postgresql import schema, server
from tidings import errors

HOLD = """
import sys, tidings
db = tidings.open(sys.argv[1], engine="duckdb", catalog=sys.argv[2])
db.sql("CREATE TABLE IF NOT EXISTS t (k INT)")
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


def test_a_second_writer_without_the_lock_of_the_folder(postgresql: str, tmp_path: Path) -> None:
    catalog = schema(postgresql, "second")
    with tidings.open(tmp_path / "one", engine="duckdb", catalog=catalog) as first:
        first.sql("CREATE TABLE t (k INT)")
        with pytest.raises(errors.DatabaseLocked, match=rf"process {os.getpid()} on "):
            tidings.open(tmp_path / "other", engine="duckdb", catalog=catalog)
        first.sql("INSERT INTO t VALUES (1)")
        with tidings.open(tmp_path / "one", engine="duckdb", catalog=catalog, read_only=True) as reader:
            assert len(reader.query("t")) == 1
    with tidings.open(tmp_path / "other", engine="duckdb", catalog=catalog) as second:
        assert len(second.query("t")) == 1


def test_catalogs_on_one_server_do_not_meet(postgresql: str, tmp_path: Path) -> None:
    names = ("here", "there")
    first, second = (
        tidings.open(tmp_path / n, engine="duckdb", catalog=schema(postgresql, f"meets_{n}")) for n in names
    )
    first.close()
    second.close()


def test_the_lock_of_a_writer_that_was_killed_is_free(postgresql: str, tmp_path: Path) -> None:
    catalog = schema(postgresql, "killed")
    command = [sys.executable, "-c", HOLD, str(tmp_path / "one"), catalog]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(errors.DatabaseLocked, match=rf"process {holder.pid} on "):
            tidings.open(tmp_path / "other", engine="duckdb", catalog=catalog)
        holder.send_signal(signal.SIGKILL)
    with tidings.open(tmp_path / "other", engine="duckdb", catalog=catalog) as db:
        assert len(db.query("t")) == 0


def test_a_writer_whose_lock_was_lost_cannot_commit(postgresql: str, tmp_path: Path) -> None:
    import psycopg

    catalog = schema(postgresql, "lost")
    with tidings.open(tmp_path / "one", engine="duckdb", catalog=catalog) as first:
        first.sql("CREATE TABLE t (k INT)")
        with psycopg.connect(postgresql.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s",
                [f"process {os.getpid()} on %"],
            )
        first.sql("INSERT INTO t VALUES (1)")
        with tidings.open(tmp_path / "other", engine="duckdb", catalog=catalog) as second:
            assert len(second.query("t")) == 1
            with pytest.raises(errors.StaleWriter):
                first.sql("INSERT INTO t VALUES (2)")
