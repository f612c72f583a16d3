"""A database in memory or in a folder, which can be closed and opened; with two tables and no rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tidings
from tidings import Database, ManualClock

PER_K = "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k"


class Reopened:
    """A database that can be closed and opened again; one in memory stays as it is."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.clock = path, ManualClock(0)
        self.db = self._open()

    def _open(self) -> Database:
        return tidings.open(self.path, engine="duckdb", clock=self.clock)

    def again(self) -> Database:
        if self.path is not None:
            self.db.close()
            self.db = self._open()
        return self.db


def reopened(path: Path | None) -> Reopened:
    home = Reopened(path)
    home.db.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE texts (s STRING)")
    return home


def rows(db: Database, text: str, as_of: int | None = None) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in db.query(text, as_of).rows()), key=str)
