"""Databases as a source of Spark: ``spark.read.format("tidings")`` and ``spark.readStream.format("tidings")``.

A table is read from its files, by as many tasks as it has.  What a query answers, or how an answer changed, is computed
by one task, in its process.  The folder has to be where the tasks run; a database is opened for reading there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidings.clock import instant_of
from tidings.database import Database
from tidings.engine.backends import backend_named
from tidings.engine.location import Location
from tidings.errors import InvalidReadOption
from tidings.ir.relation import VERSION_COLUMNS, Column
from tidings.lang.sql.query.select.asked_once import PLACE
from tidings.opening import open as open_database
from tidings.read.table_parts import TableParts, read_part, table_parts
from tidings.store.filesystem import locate

_READS = ("table", "query", "changes")
_OTHERS = ("path", "as_of", "since", "until", "catalog")
STORAGE = "storage."
"""Options that begin so are those of the folder's file system."""


def register(session: Any = None) -> None:
    """Let a Spark session, by default the active one, read databases of Tidings as the format ``tidings``."""
    from tidings.engine.spark import data_source

    data_source.register(session, source_of)


def source_of(options: dict[str, str], *, streams: bool) -> TidingsSource:
    """What the options of a read stand for, or a refusal."""
    options = {name.lower(): value for name, value in options.items()}
    unknown = [name for name in options if name not in (*_READS, *_OTHERS) and not name.startswith(STORAGE)]
    if unknown:
        raise InvalidReadOption(reason=f"it has no option named {unknown[0]}")
    asked = [name for name in _READS if name in options]
    if "path" not in options or len(asked) != 1:
        raise InvalidReadOption(reason="it needs the path of a database, and one of table, query and changes")
    if streams and asked != ["changes"]:
        raise InvalidReadOption(reason="a stream is of changes")
    allowed = {"changes": ("since", "until")}.get(asked[0], ("as_of",))
    misplaced = next((name for name in ("as_of", "since", "until") if name in options and name not in allowed), None)
    if misplaced is not None:
        raise InvalidReadOption(reason=f"{misplaced} does not go with {asked[0]}")
    return TidingsSource(options, asked[0])


@dataclass(slots=True)
class TidingsSource:
    """Reads a table, a query or changes of a database; it holds options alone."""

    options: dict[str, str]
    asked: str

    @property
    def text(self) -> str:
        """The table or query that is read."""
        return self.options[self.asked]

    def columns(self) -> tuple[Column, ...]:
        """The columns of the rows; changes have ``__t``, their instants, and ``__w``, their weights, too."""
        table = self._table()
        if table is not None:
            return table.columns
        with self._opened() as db:
            plans = db._parts.plans
            plan = plans.plan(self.text) if self.asked == "changes" else plans.asked_once(self.text)
        columns = tuple(Column(f.name, f.type) for f in plan.fields if f.name != PLACE)
        return (*columns, *VERSION_COLUMNS) if self.asked == "changes" else columns

    def parts(self) -> list[Any]:
        """The parts of a table; all that is asked for as one part, if it is no table."""
        table = self._table()
        return [None] if table is None else [(table.columns, part) for part in table.parts]

    def read(self, part: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        if part is not None:
            columns, rows = part
            yield from read_part(self._folder, columns, rows)
            return
        with self._opened() as db:
            if self.asked == "changes":
                since, until = self._instant("since"), self._instant("until")
                answer = db.changes(self.text, since, until, per_commit=True).to_arrow()
            else:
                answer = db.query(self.text, self._instant("as_of")).to_arrow()
        yield from answer.to_batches()

    def start(self) -> int:
        """The instant from which on a stream reads: the present, unless an option says another."""
        since = self._instant("since")
        return self.present() if since is None else instant_of(since)

    def present(self) -> int:
        """The instant of the last commit."""
        with self._opened() as db:
            return db.time

    def between(self, since: int, until: int) -> Iterator[pa.RecordBatch]:
        """The changes after one instant up to another, each at its own."""
        with self._opened() as db:
            yield from db.changes(self.text, since, until, per_commit=True).to_arrow().to_batches()

    @property
    def _folder(self) -> Location:
        return locate(self.options["path"], self._storage_options)

    @property
    def _storage_options(self) -> dict[str, str]:
        return {n.removeprefix(STORAGE): v for n, v in self.options.items() if n.startswith(STORAGE)}

    def _table(self) -> TableParts | None:
        """The table that is read as it is now; None for all else."""
        if self.asked != "table" or "as_of" in self.options:
            return None
        with closing(backend_named("duckdb", folder=self._folder)) as backend:
            return table_parts(backend, self._folder, self.options.get("catalog"), self.text)

    def _instant(self, option: str) -> int | str | None:
        """An instant as an option has it: microseconds since the epoch, or what people write."""
        text = self.options.get(option)
        return int(text) if text is not None and text.strip().lstrip("-").isdigit() else text

    def _opened(self) -> Database:
        return open_database(
            self.options["path"],
            engine="duckdb",
            read_only=True,
            catalog=self.options.get("catalog"),
            storage_options=self._storage_options,
        )
