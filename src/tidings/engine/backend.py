"""What Tidings needs of an engine.

An engine analyzes queries, keeps base rows, and evaluates SQL over named sources.  What it does with a delta program
is the same for all of them and stands in :mod:`tidings.engine.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from tidings.engine.analyses import Analyses
from tidings.engine.base_lookup import BaseLookup
from tidings.engine.location import Location
from tidings.engine.scalar_function import ScalarFunction
from tidings.engine.scratch import Scratch
from tidings.engine.source import Source
from tidings.engine.speeds import UsualSpeeds
from tidings.engine.sql.dialect import Dialect
from tidings.engine.stepping_out import SteppingOut
from tidings.ir.relation import Column
from tidings.lang.sql.table_operator import TableOperator


@dataclass(slots=True)
class Jobs:
    """A number of jobs; None if they cannot be counted."""

    number: int | None = 0


class Backend(Protocol):
    """An engine."""

    name: str
    dialect: Dialect
    looks_up_first: bool
    """Whether a differential is faster over rows that were looked up than over the states themselves."""
    usual: UsualSpeeds
    """How fast it usually is."""
    analyses: Analyses | None
    """What it knows of queries that were analysed before; None if to analyse them again takes no time."""

    @property
    def scratch(self) -> Scratch | None:
        """Where rows may be between two steps; None if it sees no folder that this process can write."""

    def analyze(self, query: exp.Query) -> tuple[Column, ...]:
        """Names and types of a query; see :class:`tidings.lang.sql.bind.Analyzer`."""

    def names(self, text: str, relations: Mapping[str, tuple[Column, ...]]) -> tuple[str, ...] | None:
        """Output names of a query's text; see :class:`tidings.lang.sql.bind.Analyzer`."""

    def load(self, name: str, columns: tuple[Column, ...], data: object, sorted_by: str) -> int:
        """Keep rows as the base of a relation, replacing what was there, in the order of one column; their number."""

    def offer(self, name: str, columns: tuple[Column, ...], data: object) -> None:
        """Take rows as the base of a relation to be read once, such as to write them: neither sorted nor cached."""

    def load_files(
        self,
        name: str,
        columns: tuple[Column, ...],
        paths: list[Location],
        read: list[str] | None = None,
        *,
        cached_bytes: int | None = None,
    ) -> None:
        """Take the rows of Parquet files as the base of a relation, replacing what was there; they are not copied.

        ``read`` is the SQL that gives each column, where the files do not have just these; ``cached_bytes`` is how
        many they have if they will be read often, so that an engine may cache them.
        """

    def save(self, text: str, path: Location, sorted_by: str, rows_per_file: int) -> None:
        """Write the rows of a query to Parquet files below a path, in the order of one column; raises like fetch."""

    def unload(self, name: str) -> None:
        """Forget a base."""

    def versioned(self, name: str, source: Source) -> None:
        """Make a source readable under a name, with ``__t`` and ``__w``."""

    def plain(self, name: str, source: Source) -> None:
        """Make a source readable under a name as a plain bag of rows."""

    def fetch(self, text: str, columns: tuple[Column, ...] = (), *, small: bool = False) -> pa.Table:
        """The rows of a query; raises :class:`tidings.errors.EngineFailed`.

        ``columns`` are those it has, where they are known; ``small`` says that every relation it reads is a small delta
        or restricted by a list of keys.
        """

    def fetch_answer(self, text: str, columns: tuple[Column, ...], step_out: SteppingOut) -> pa.Table:
        """Like :meth:`fetch`, and let other threads in if that can be; raises ``AskedAgain`` if it turns out not to.

        Nothing but the rows is looked at afterwards.
        """

    def look_up(self, lookups: list[BaseLookup]) -> list[pa.Table]:
        """A few rows of some bases, in one query; raises like :meth:`fetch`."""

    def counted(self) -> AbstractContextManager[Jobs]:
        """Count the jobs that are started inside."""

    def stoppable(self) -> AbstractContextManager[Callable[[], object]]:
        """A function that makes statements fail that this thread runs inside; it may be called by any thread."""

    def write(self, text: str, path: Location) -> None:
        """Write the rows of a query to Parquet below a path; raises like :meth:`fetch`."""

    def register(self, function: ScalarFunction) -> None:
        """Let queries call a function; one of the same name is replaced."""

    def has_function(self, name: str) -> bool:
        """Whether the engine has a function of its own by this name."""

    def is_added(self, name: str) -> bool:
        """Whether a user has added a function of this name; see :class:`tidings.lang.sql.bind.Analyzer`."""

    def operator(self, name: str) -> TableOperator | None:
        """The operator of a user by this name; see :class:`tidings.lang.sql.bind.Analyzer`."""

    def session_columns(self, name: str) -> tuple[Column, ...] | None:
        """The columns of a view or table of the user's session; see :class:`tidings.lang.sql.bind.Analyzer`."""

    def session_source(self, name: str, columns: tuple[Column, ...]) -> AbstractContextManager[Source]:
        """The rows of one, to be read inside; raises like :meth:`fetch`."""

    def session_rows(self, name: str, columns: tuple[Column, ...]) -> pa.Table:
        """The rows of one, in this process; raises like :meth:`fetch`."""

    def sibling(self) -> Backend:
        """Another engine of the same kind, for another thread; it keeps nothing in memory."""

    def close(self) -> None:
        """Let go of what the engine holds."""
