"""DuckDB: TPC-H in plain tables, which the queries are run over from scratch.

In a process of its own its memory does not count as that of Tidings.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import cast

import pyarrow as pa

from tests.tpc.benchmark import connect


class PlainTpch:
    """The tables at one scale, and two threads."""

    def __init__(self, scale: float) -> None:
        self.connection = connect("tpch", scale)
        self.connection.execute("SET threads = 2")

    def run(self, text: str, **given: pa.Table) -> pa.Table:
        """The rows of a statement, which may read tables that are given."""
        for name, table in given.items():
            self.connection.register(name, table)
        try:
            return self.connection.execute(text).to_arrow_table()
        finally:
            for name in given:
                self.connection.unregister(name)

    def write(self, table: str, path: Path) -> None:
        """Write a table into a Parquet file."""
        self.connection.execute(f"COPY {table} TO '{path}' (FORMAT parquet)")

    def seconds(self, text: str) -> float:
        """How long a query takes until all its rows are fetched."""
        start = time.perf_counter()
        self.run(text)
        return time.perf_counter() - start


class _Process(BaseManager):
    """A process that runs what its proxies are asked for."""


_Process.register("tables", PlainTpch)


@contextmanager
def plain_tpch(scale: float) -> Iterator[PlainTpch]:
    """The tables in a process of their own, which ends with the context."""
    with _Process(ctx=get_context("spawn")) as process:
        yield cast(PlainTpch, process.tables(scale))  # type: ignore[attr-defined]
