"""A connection to a DuckDB in this process: its failures are errors of ours, and what it cannot optimize still runs."""

from __future__ import annotations

import tempfile
import uuid

import duckdb
import pyarrow as pa

from tidings.engine.agreed.term import ON_SPARK
from tidings.errors import EngineFailed, SparkNeeded


class DuckDBConnection:
    """A connection to a DuckDB in memory; what fails raises :class:`tidings.errors.EngineFailed`."""

    def __init__(self, threads: int, memory: int | None, passes_off: tuple[str, ...] = ()) -> None:
        folder = f"{tempfile.gettempdir()}/tidings-{uuid.uuid4().hex}"  # DuckDB makes and removes it
        limit = {} if memory is None else {"memory_limit": f"{memory}B", "temp_directory": folder}
        self.inner = duckdb.connect(":memory:", config={"threads": threads, **limit})
        self.inner.execute("SET TimeZone = 'UTC'")
        self.inner.execute("SET enable_progress_bar = false")
        self.inner.execute("SET order_by_non_integer_literal = true")  # as in Spark
        self._passes_off = passes_off
        self._turn_passes_off()

    def _turn_passes_off(self, *more: str) -> None:
        """Leave some passes of the optimizer out, beside those that are left out anyway."""
        self.inner.execute(f"SET disabled_optimizers = '{','.join((*self._passes_off, *more))}'")

    def fetch(self, text: str) -> pa.Table:
        """The rows of a query."""
        try:
            return self._rows(text)
        except duckdb.Error as error:
            raise _failure(error) from None

    def _rows(self, text: str) -> pa.Table:
        """The rows of a query; without the pass of DuckDB's optimizer that fails on it, if one does.

        DuckDB 1.5 loses columns when it reorders some joins of many restricted inputs under an OR over several of them
        ("Failed to bind column reference").  The order of a delta plan, the delta first, is a good one already.  It
        also loses one when it simplifies a semi join by two equalities with the same column of a window; others are
        ten times faster for it.
        """
        try:
            return self.inner.execute(text).to_arrow_table()
        except duckdb.InternalException:
            failing = "join_order"
        except duckdb.Error as error:
            if str(error) != "unordered_map::at":
                raise
            failing = "deliminator"
        self._turn_passes_off(failing)
        try:
            return self.inner.execute(text).to_arrow_table()
        finally:
            self._turn_passes_off()

    def copy(self, name: str, rows: pa.Table) -> None:
        """Keep rows as a table of DuckDB's own.

        It could read Arrow in place, but pushes filters of joins into such scans, where a NaN equals nothing.
        """
        self.inner.register("__arrow", rows)
        try:
            self.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS FROM "__arrow"')
        finally:
            self.inner.unregister("__arrow")

    def take(self, text: str, rows: pa.Table) -> None:
        """Run a statement that reads some rows, once, as ``stream``: a local name that DuckDB looks up.

        Of a stream, unlike of a table, it reads all rows and columns; so nothing is decided by a filter of Arrow's.
        """
        stream = rows.__arrow_c_stream__()  # noqa: F841
        try:
            self.inner.execute(text)
        except duckdb.Error as error:
            raise _failure(error) from None

    def execute(self, text: str) -> None:
        """Run a statement that may fail for what there is: too little memory, say."""
        try:
            self.inner.execute(text)
        except duckdb.Error as error:
            raise _failure(error) from None

    def view(self, name: str, rows: str) -> None:
        self.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {rows}')


def _failure(error: Exception) -> EngineFailed:
    if ON_SPARK in str(error):
        return SparkNeeded(expression="a value that was met")
    return EngineFailed(engine="duckdb", reason=sentence(error))


def sentence(error: Exception) -> str:
    """What an engine says, without the kind of its error."""
    text = str(error).splitlines()[0]
    for kind in ("Binder Error: ", "Catalog Error: ", "Invalid Input Error: "):
        text = text.removeprefix(kind)
    return text
