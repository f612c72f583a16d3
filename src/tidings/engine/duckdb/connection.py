"""A connection to a DuckDB in this process: its failures are errors of ours, and what it cannot optimize still runs.

It reaches no file outside of the folder of its database, no other machine and no extension, and no statement can change
that.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial

import duckdb
import pyarrow as pa

from tidings.engine.agreed.term import ON_SPARK
from tidings.engine.location import Location
from tidings.engine.scalar_function import engine_failure
from tidings.engine.sql.quoting import quoted, text_literal
from tidings.engine.stepping_out import AskedAgain, SteppingOut
from tidings.errors import SparkNeeded, TidingsError
from tidings.running_statements import checkpoint, stopped_by

_OPTIMIZERS = "disabled_optimizers"

_SEEN = "__seen"
"""A table of one row: who reads it sees all tables beside it from then on as they are, until its transaction ends."""


@cache
def _private_folder() -> str:
    """A folder of this process that nobody else can enter; it is removed when the process ends."""
    folder, owner = tempfile.mkdtemp(prefix="tidings-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked process ends too
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


class DuckDBConnection:
    """A connection to a DuckDB in memory; what fails raises :class:`tidings.errors.EngineFailed`."""

    def __init__(
        self,
        threads: int,
        memory: int | None,
        passes_off: tuple[str, ...] = (),
        folder: Location | None = None,
        scratch: Location | None = None,
        asides: int = 0,
    ) -> None:
        """Connect; only ``folder`` may be touched, and what does not fit into memory goes beside ``scratch``.

        So many answers as ``asides`` says can be computed while other threads go on.
        """
        spill = f"{scratch.path}-" if scratch is not None and scratch.is_local else f"{_private_folder()}/"
        config = {"temp_directory": f"{spill}{uuid.uuid4().hex[:12]}"}  # DuckDB makes and removes it
        if memory is not None:
            config["memory_limit"] = f"{memory}B"
        self.inner = duckdb.connect(":memory:", config={"threads": threads, **config})
        self._attached = ["memory"]
        self.inner.execute(f"CREATE TABLE {_SEEN} AS SELECT 1 AS x")
        self._asides = [self.inner.cursor() for _ in range(asides)]
        for connection in (self.inner, *self._asides):  # before they cannot be set any more
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET order_by_non_integer_literal = true")  # as in Spark
        self._folder = f"{folder.path}/" if folder is not None and folder.is_local else None
        self._shut_in()
        self._passes_off = passes_off
        self._turn_passes_off()

    def _shut_in(self) -> None:
        """Let no statement reach anything but the folder of the database, or change that."""
        if self._folder is not None:
            self.inner.execute(f"SET allowed_directories = [{text_literal(self._folder)}]")
        self.inner.execute(f"SET allowed_configs = ['{_OPTIMIZERS}']")
        self.inner.execute("SET enable_external_access = false")
        self.inner.execute("SET lock_configuration = true")

    def reaches(self, file: Location) -> bool:
        """Whether a file is in the folder that this connection may touch."""
        return self._folder is not None and file.is_local and file.path.startswith(self._folder)

    def _turn_passes_off(self, *more: str) -> None:
        """Leave some passes of the optimizer out, beside those that are left out anyway."""
        self.inner.execute(f"SET {_OPTIMIZERS} = '{','.join((*self._passes_off, *more))}'")

    def fetch(self, text: str) -> pa.Table:
        """The rows of a query."""
        with self._failures():
            return self._rows(text)

    def attach(self, name: str) -> None:
        """Attach another DuckDB in memory, whose rows are compressed."""
        self.execute(f"ATTACH ':memory:' AS {name} (COMPRESS)")
        self.execute(f"CREATE TABLE {name}.{_SEEN} AS SELECT 1 AS x")
        self._attached.append(name)

    def fetch_aside(self, text: str, step_out: SteppingOut) -> pa.Table:
        """The rows of a query, on a connection of its own, which sees everything as it is now; others go on meanwhile.

        Raises ``AskedAgain`` where it fails, whatever the reason; :meth:`fetch` is to say which, or knows a way.
        """
        if not self._asides:
            return self.fetch(text)
        connection = self._asides.pop()
        try:
            with stopped_by(partial(_interrupt, connection)):
                connection.execute("BEGIN")
                connection.execute(f"FROM {', '.join(f'{name}.{_SEEN}' for name in self._attached)}").fetchall()
                with step_out():
                    return connection.execute(text).to_arrow_table()
        except (duckdb.Error, RuntimeError) as error:
            checkpoint()
            _raise_interrupt(error)
            raise AskedAgain from error
        finally:
            with suppress(duckdb.Error):  # it has ended with what failed
                connection.execute("ROLLBACK")
            self._asides.append(connection)

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
            self.execute(f'CREATE OR REPLACE TABLE {quoted(name, "duckdb")} AS FROM "__arrow"')
        finally:
            self.inner.unregister("__arrow")

    def fill(self, name: str, rows: pa.Table, *, anew: bool) -> None:
        """Add rows to a table, or with ``anew`` make the table of them; its name is a word without quotes.

        Of a stream, unlike of a table, DuckDB reads all rows and columns; so nothing is decided by a filter of Arrow's.
        """
        assert name.isidentifier(), name
        with self._failures():
            stream = self.inner.from_arrow(rows.__arrow_c_stream__())
            if anew:
                self.inner.execute(f"DROP TABLE IF EXISTS {name}")
                stream.create(name)
            else:
                stream.insert_into(name)

    def execute(self, text: str) -> None:
        """Run a statement that may fail for what there is: too little memory, say."""
        with self._failures():
            self.inner.execute(text)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise what DuckDB raises as ours; an interrupt, which it tells as its own failure, leaves as it came."""
        with stopped_by(self.interrupt):
            try:
                yield
            except duckdb.Error as error:
                checkpoint()
                _raise_interrupt(error)
                raise _failure(error) from None
            except RuntimeError as error:
                _raise_interrupt(error)
                raise

    def interrupt(self) -> None:
        """Make what runs on this connection fail, from any thread."""
        _interrupt(self.inner)

    def close(self) -> None:
        """Close it, and those that answers are computed on."""
        for connection in (*self._asides, self.inner):
            connection.close()

    def view(self, name: str, rows: str) -> None:
        self.execute(f"CREATE OR REPLACE VIEW {quoted(name, 'duckdb')} AS {rows}")


def _raise_interrupt(error: Exception) -> None:
    """Raise the Ctrl-C that DuckDB tells as a failure of its own, if it is one."""
    if type(error) is duckdb.Error and str(error).startswith(KeyboardInterrupt.__name__):  # it read Arrow
        raise KeyboardInterrupt from None
    if isinstance(error.__cause__, KeyboardInterrupt):
        raise error.__cause__ from None


def _interrupt(connection: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.ConnectionException):  # it was closed meanwhile
        connection.interrupt()


_FLOATS = re.compile(r"\b[A-Z_]+ is out of range!")
"""What DuckDB says of an aggregate of floats that is infinite or NaN on Spark."""


def _failure(error: Exception) -> TidingsError:
    if ON_SPARK in str(error) or _FLOATS.search(str(error)):
        return SparkNeeded(expression="a value that was met")
    return engine_failure("duckdb", sentence(error), str(error))


def sentence(error: Exception) -> str:
    """What DuckDB says, without the name of its exception.

    >>> sentence(ValueError("Conversion Error: Could not convert string 'x' to INT32"))
    "Could not convert string 'x' to INT32"
    """
    return _EXCEPTION.sub("", (str(error).splitlines() or [type(error).__name__])[0])


_EXCEPTION = re.compile(r"^(?:[A-Z][\w-]* )+(?:Error|Exception): ")
