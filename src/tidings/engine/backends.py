"""Engines by the names users give them.  Each is imported when it is asked for: neither needs the other."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tidings.engine.backend import Backend
from tidings.engine.location import Location
from tidings.errors import UnknownEngine

if TYPE_CHECKING:
    from tidings.engine.duckdb import DuckDB, JoinOrder, PreparedQueries


def backend_named(
    engine: str,
    session: Any = None,
    scratch: Location | None = None,
    memory: int | None = None,
    folder: Location | None = None,
) -> Backend:
    """The engine of a name; ``session`` is the Spark session to work in, if there is one.

    ``scratch`` is a folder that all machines of a cluster see, in that of the database, where this process may write;
    ``memory`` is what an engine in this process may take,
    and ``folder``, that of the database, all that it may touch.
    """
    match engine:
        case "spark":
            from tidings.engine.spark import Spark

            return Spark(session, shared=scratch)
        case "duckdb":
            from tidings.engine.duckdb import DuckDB

            return DuckDB(memory=memory, folder=folder, scratch=scratch)
        case _:
            raise UnknownEngine(name=engine)


def in_process_duckdb(memory: int, folder: Location | None = None, scratch: Location | None = None) -> DuckDB:
    """The engine of the in-process runner: DuckDB on all cores of the machine, in so many bytes.

    What needs more is written to a temporary folder.  A query that fails is given to the main engine by the runner.
    """
    from tidings.engine.duckdb import DuckDB

    return DuckDB(threads=os.cpu_count() or 1, memory=memory, folder=folder, scratch=scratch)


def prepared_queries(memory: int, joins: JoinOrder) -> PreparedQueries:
    """A DuckDB for queries over a few rows, each planned once; it takes up to so many bytes."""
    from tidings.engine.duckdb import PreparedQueries

    return PreparedQueries(joins=joins, memory=memory)
