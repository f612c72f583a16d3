"""Killed anywhere around a commit and sent again, a transaction with an id counts once.

A process sends three batches, each under its id, and adds what is in them to a total.  Whoever comes after a crash
sends all of them again, as a stream does that does not know which of its batches arrived.
"""

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

CODE = """
import sys
import tidings

folder, catalog = sys.argv[1:]
with tidings.open(folder, engine="duckdb", catalog=catalog or None) as db:
    db.sql("CREATE TABLE IF NOT EXISTS sale (id BIGINT, amount INT)")
    db.sql("CREATE MATERIALIZED VIEW IF NOT EXISTS total AS SELECT sum(amount) AS amount FROM sale")
    for batch in (1, 2, 3):
        with db.transaction(id=f"sales-{batch}") as tx:
            tx.insert("sale", [(batch, 10 * batch), (batch, 1)])
        db.advance()
"""

FAULTS = [f"commit.{where}:{n}" for where in ("written", "done") for n in (1, 2, 3, 5)]


def life(folder: Path, catalog: str = "", fault: str = "never") -> int:
    """Live until the end, or until the fault."""
    paths = os.pathsep.join([str(Path(tidings.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"TIDINGS_FAULT": fault, "PYTHONPATH": paths}
    return subprocess.run([sys.executable, "-c", CODE, str(folder), catalog], env=environment, check=False).returncode


def killed_and_sent_again(folder: Path, fault: str, catalog: str = "") -> None:
    assert life(folder, catalog, fault) == -signal.SIGKILL
    assert life(folder, catalog) == 0
    with tidings.open(folder, engine="duckdb", catalog=catalog or None) as db:
        rows = sorted((row["id"], row["amount"]) for row in db.query("sale"))
        assert rows == [(1, 1), (1, 10), (2, 1), (2, 20), (3, 1), (3, 30)]
        assert db.query("total").rows() == [{"amount": 63}]


@pytest.mark.parametrize("fault", ["commit.written:2", "commit.done:2"])
def test_killed_on_both_sides_of_a_commit(tmp_path: Path, fault: str) -> None:
    killed_and_sent_again(tmp_path / "d", fault)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_killed_at_a_point(tmp_path: Path, fault: str) -> None:
    killed_and_sent_again(tmp_path / "d", fault)


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.mark.parametrize("fault", ["commit.written:2", "commit.done:2"])
def test_killed_with_a_catalog_in_postgresql(tmp_path: Path, postgresql: str, fault: str) -> None:
    name = "repeated_" + fault.replace(".", "_").replace(":", "_")
    killed_and_sent_again(tmp_path / "d", fault, schema(postgresql, name))
