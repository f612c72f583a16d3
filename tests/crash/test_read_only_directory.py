"""A folder that this process may read and not write: it says so, changes nothing, and reads it if it is asked to.

What is done there is in ``somebody.py``, a process of its own that is not root.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.somebody import DEFINITIONS, insert, numbers, opened
from tests.postgresql import schema, server
from tidings import Database


@pytest.fixture
def home() -> Iterator[Path]:
    """A place that everybody may look into."""
    folder = Path(tempfile.mkdtemp(prefix="tidings-read-only-"))
    folder.chmod(0o755)
    yield folder
    permit(folder, 0o755, 0o644)
    shutil.rmtree(folder)


@pytest.fixture
def path(home: Path) -> Path:
    """A database with rows in its snapshot and in its log, and a stored view."""
    with opened(home / "shop.tidings") as db:
        fill(db)
    return home / "shop.tidings"


def fill(db: Database) -> None:
    db.sql(DEFINITIONS)
    insert(db, 1, 2)
    db.advance()
    db.fold()
    insert(db, 3)


def permit(path: Path, folders: int, files: int) -> None:
    """Let folders and files have some mode, all the way down."""
    path.chmod(folders)
    for inside in path.iterdir():
        if inside.is_dir():
            permit(inside, folders, files)
        else:
            inside.chmod(files)


def command(look: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "tests.crash.somebody", look, *map(str, arguments)]


def sees(look: str, *arguments: object) -> None:
    found = subprocess.run(command(look, *arguments), capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def contents(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("files", [0o444, 0o666], ids=["files too", "files not"])
def test_a_folder_that_cannot_be_written(path: Path, files: int) -> None:
    """Whether its files could be written does not matter."""
    permit(path, 0o555, files)
    before = contents(path)
    sees("refused_and_read", path)
    sees("refused_anew", path)
    assert contents(path) == before


def test_a_folder_with_its_catalog_in_postgresql(home: Path) -> None:
    with server() as url:
        path, catalog = home / "shop.tidings", schema(url, "read_only")
        with opened(path, catalog=catalog) as db:
            fill(db)
        permit(path, 0o555, 0o444)
        before = contents(path)
        sees("refused_and_read", path, catalog)
        assert contents(path) == before


def test_a_reader_while_writers_come_and_go(path: Path) -> None:
    """A reader that may not write sees what they do, whether the catalog's log is there or not."""
    permit(path, 0o755, 0o644)
    reader = subprocess.Popen(command("follow", path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert reader.stdin is not None
    assert reader.stdout is not None

    def seen() -> str:
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write("\n")
        reader.stdin.flush()
        return reader.stdout.readline().strip()

    try:
        assert seen() == "1 2 3"
        with opened(path) as db:
            assert seen() == "1 2 3"
            insert(db, 4)
            assert seen() == "1 2 3 4"
            db.fold()
            assert seen() == "1 2 3 4"
        assert seen() == "1 2 3 4"
        with opened(path) as db:
            insert(db, *range(5, 2_000))
            insert(db, 9_999)
        assert seen() == " ".join(map(str, (*range(1, 2_000), 9_999)))
    finally:
        reader.stdin.close()
        assert reader.wait(20) == 0
        reader.stdout.close()


@pytest.mark.parametrize("index", [True, False], ids=["index", "no index"])
def test_what_a_writer_left_that_died(path: Path, index: bool) -> None:
    """The catalog's log is read if its index is there; if not, the reader is told, and nothing is left out."""
    copy = path.with_name("copy.tidings")
    with opened(path) as db:
        db.sql("DELETE FROM t WHERE x = 3")
        insert(db, 3)
        shutil.copytree(path, copy)
    if not index:
        (copy / "catalog.sqlite-shm").unlink()
    permit(copy, 0o555, 0o444)
    before = contents(copy)
    sees("refused_and_read" if index else "refused_log", copy)
    assert contents(copy) == before
    permit(copy, 0o755, 0o644)
    with opened(copy) as db:
        assert numbers(db) == [1, 2, 3]


def test_a_catalog_that_cannot_be_written(path: Path) -> None:
    permit(path, 0o777, 0o444)
    (path / "lock").chmod(0o666)
    before = (path / "catalog.sqlite").read_bytes()
    sees("refused_catalog", path)
    assert (path / "catalog.sqlite").read_bytes() == before


def test_folders_inside_that_cannot_be_written(path: Path) -> None:
    (path / "log").mkdir(exist_ok=True)
    permit(path, 0o777, 0o666)
    for inside in (path / "base", path / "log"):
        permit(inside, 0o555, 0o444)
    sees("refused_files", path)
    with opened(path) as db:
        assert numbers(db) == [1, 2, 3, 4]
        insert(db, 5)
