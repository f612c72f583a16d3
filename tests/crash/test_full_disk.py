"""A disk that is full, whenever that happens: a plain refusal, nothing half done, and all goes on once there is room.

What is done and looked at is in ``full_disk.py``, which runs as a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

import tidings
from tests.crash.full_disk import ACTS
from tidings import errors
from tidings.engine.location import Location
from tidings.store.fold import FoldPolicy
from tidings.store.storage import Storage
from tidings.store.write_failures import catalog_failure, write_failure

MOUNTED = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
"""Runs a script that may mount disks, which nobody else sees and which are gone with it."""

SMALL_DISK = 'mount -t tmpfs -o size=32m tmpfs "$0" && exec "$@"'


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


PROGRAM = (sys.executable, "-m", "tests.crash.full_disk")


@pytest.fixture(scope="module")
def limited() -> Iterator[subprocess.Popen[str]]:
    """Works everywhere: no file may grow beyond a size."""
    with running(*PROGRAM) as process:
        yield process


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A small disk, where this machine lets its users mount one."""
    folder = tmp_path_factory.mktemp("disk")
    try:
        subprocess.run([*MOUNTED, SMALL_DISK, str(folder), "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine lets nobody mount a small disk; the limit on files is tried in any case")
    with running(*MOUNTED, SMALL_DISK, str(folder), *PROGRAM) as process:
        yield process, folder


def ended(process: subprocess.Popen[str], case: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{case}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def acts() -> list[object]:
    quick = ("small", "large", "open")
    return [pytest.param(act, marks=[] if act in quick else pytest.mark.slow) for act in (*ACTS, "open")]


@pytest.mark.parametrize("act", acts())
def test_no_file_may_grow(act: str, limited: subprocess.Popen[str], tmp_path: Path) -> None:
    assert ended(limited, f"limit {act} {tmp_path}") == "ended 0"


@pytest.mark.slow
@pytest.mark.parametrize("act", acts())
def test_a_full_disk(act: str, mounted: tuple[subprocess.Popen[str], Path]) -> None:
    process, folder = mounted
    assert ended(process, f"disk {act} {folder}") == "ended 0"


def test_what_engines_and_servers_say(tmp_path: Path) -> None:
    """What only a cluster or a server can say, in their words."""
    failure = errors.EngineFailed(engine="spark", reason="Job aborted")
    failure.__context__ = OSError("Job aborted: java.io.IOException: No space left on device")
    assert write_failure(failure, Location.local(tmp_path)).condition == "DiskFull"
    unrelated = errors.EngineFailed(engine="spark", reason="division by zero")
    assert write_failure(unrelated, Location.local(tmp_path)) is unrelated
    full = OperationalError("INSERT", {}, psycopg.errors.DiskFull("could not extend file"))
    assert catalog_failure(full.orig).condition == "DiskFull"
    assert catalog_failure(psycopg.errors.AdminShutdown("gone")).condition == "CatalogFailed"


def test_a_commit_counts_though_history_cannot_be_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What a finished fold leads to is no business of the commit during which it is adopted."""

    def full(*_: object) -> None:
        raise errors.DiskFull(path="the catalog", reason="it is full")

    with tidings.open(tmp_path / "shop.tidings", engine="duckdb", clock=tidings.ManualClock(1)) as db:
        db._parts.folding.policy = FoldPolicy(rows=1, share=0, retention=0)
        db.sql("CREATE TABLE t (x INT)")
        monkeypatch.setattr(Storage, "forget", full)
        for number in range(5):
            db.sql(f"INSERT INTO t VALUES ({number}), (-{number})")
            db._parts.folding._settle()
        assert "could not be forgotten" in caplog.text
        assert len(db.query("t")) == 10
