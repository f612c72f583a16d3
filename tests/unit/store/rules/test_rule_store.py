"""Rules and firings in the catalog."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

import tidings
from tidings.store.catalog.schema import RULE_TABLES

SETUP = """
    CREATE TABLE stock (item INT PRIMARY KEY, qty INT); CREATE TABLE orders (item INT);
    CREATE RULE reorder WHEN SELECT item FROM stock WHERE qty < 10 DO INSERT INTO orders SELECT item FROM condition
"""


def test_an_older_catalog_gets_its_tables(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        db.sql("CREATE TABLE stock (item INT PRIMARY KEY, qty INT); INSERT INTO stock VALUES (1, 5)")
    engine = create_engine(f"sqlite:///{tmp_path / 'd' / 'catalog.sqlite'}")
    with engine.begin() as connection:
        for table in RULE_TABLES:
            connection.execute(text(f"DROP TABLE {table.name}"))
        connection.execute(text("UPDATE meta SET value = '1' WHERE key = 'version'"))
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        db.sql("CREATE RULE a WHEN SELECT item FROM stock DO NOTIFY 'x'; INSERT INTO stock VALUES (2, 5)")
        assert len(db.query("SELECT * FROM tidings.deliveries")) == 1
    assert {table.name for table in RULE_TABLES} <= set(inspect(engine).get_table_names())
    engine.dispose()


LIFE = """
import sys, tidings
with tidings.open(sys.argv[1], engine="duckdb") as db:
    if not db.query("stock").rows():
        db.sql("INSERT INTO stock VALUES (1, 5)")
    db.advance()
"""


def ended(folder: Path, fault: str) -> int:
    """Live until the end, or until the fault."""
    root = Path(tidings.__file__).parents[1]
    environment = os.environ | {"TIDINGS_FAULT": fault, "PYTHONPATH": str(root)}
    return subprocess.run([sys.executable, "-c", LIFE, str(folder)], env=environment, check=False).returncode


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["firing.written", "commit.done:1", "firing.settled", "commit.written:2", "commit.done:2"]
)
def test_a_detached_action_is_done_once_whatever_happens(tmp_path: Path, fault: str) -> None:
    """The process dies before or after the commit that fires, and before or after the one of the action."""
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        db.sql(SETUP)
    assert ended(tmp_path / "d", fault) == -signal.SIGKILL
    assert ended(tmp_path / "d", "never") == 0
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        assert db.query("orders").rows() == [{"item": 1}]
        assert db.query("SELECT id, state FROM tidings.firings").rows() == [{"id": 1, "state": "done"}]
