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
from dataclasses import dataclass
from pathlib import Path


@contextmanager
def server() -> Iterator[str]:
    """A running server, as the beginning of its URLs; it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="tidings-pg-"))
    folder.chmod(0o777)
    running = Server(folder)
    try:
        running.make()
        running.start()
        try:
            yield f"postgresql+psycopg://tidings@/postgres?host={folder}"
        finally:
            running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Server:
    """A server in a folder; to stop it is to kill it, and it recovers when it starts."""

    folder: Path

    def make(self) -> None:
        settings = ("-U", "tidings", "--auth=trust", "--no-sync", "-E", "UTF8")
        _run("initdb", "-D", self.folder / "data", *settings)

    def start(self) -> None:
        settings = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off"
        _run("pg_ctl", "-D", self.folder / "data", "-o", settings, "-l", self.folder / "log", "-w", "start")

    def stop(self) -> None:
        _run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")


def installed() -> bool:
    """Whether there is a server to start."""
    return _programs() is not None


def _programs() -> Path | None:
    """Where the server's programs are: in the path, or where Debian puts them."""
    found = shutil.which("pg_ctl")
    if found is not None:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), default=None)


def _run(name: str, *arguments: object) -> None:
    """Run a program of the server, which must not be root."""
    programs = _programs()
    assert programs is not None
    program = programs / name
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    subprocess.run([*user, str(program), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, cwd="/")


def schema(url: str, name: str) -> str:
    """The URL of a catalog of its own on a server."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name}")
    return f"{url}&options=-csearch_path%3D{name}"
