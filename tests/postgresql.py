"""A PostgreSQL server of its own for tests: from Debian's package, in a temporary folder, on a local socket.

Its clients are killed by tests, it is not: so it need not wait for the disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def server() -> Iterator[str]:
    """A running server, as the beginning of its URLs; it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="tidings-pg-"))
    folder.chmod(0o777)
    data, programs = folder / "data", _programs()
    assert programs is not None
    try:
        _run(programs / "initdb", "-D", data, "-U", "tidings", "--auth=trust", "--no-sync", "-E", "UTF8")
        settings = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        _run(programs / "pg_ctl", "-D", data, "-o", settings, "-l", folder / "log", "-w", "start")
        try:
            yield f"postgresql+psycopg://tidings@/postgres?host={folder}"
        finally:
            _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def installed() -> bool:
    """Whether there is a server to start."""
    return _programs() is not None


def _programs() -> Path | None:
    """Where the server's programs are: in the path, or where Debian puts them."""
    found = shutil.which("pg_ctl")
    if found is not None:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), default=None)


def _run(program: Path, *arguments: object) -> None:
    """Run a program of the server, which must not be root."""
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    subprocess.run([*user, str(program), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, cwd="/")


def schema(url: str, name: str) -> str:
    """The URL of a catalog of its own on a server."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name}")
    return f"{url}&options=-csearch_path%3D{name}"
