"""A source of Spark that reads rows from elsewhere, in parts and as a stream: Spark's side of ``tidings.spark``.

What is read is said by a :class:`RowSource`.  It is sent to the processes that Spark plans and reads in, so it holds
nothing but options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import RecordBatch
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from tidings.engine.spark.session import quoted
from tidings.errors import MissingPackage, SessionNeeded
from tidings.ir.relation import Column

FORMAT = "tidings"
"""What ``spark.read.format`` calls it."""


class RowSource(Protocol):
    """What a read or a stream is of."""

    def columns(self) -> tuple[Column, ...]:
        """The columns of the rows."""

    def parts(self) -> Sequence[Any]:
        """The parts that can be read one by one, all of one instant."""

    def read(self, part: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""

    def start(self) -> int:
        """The instant from which on a stream reads."""

    def present(self) -> int:
        """The instant up to which a stream can read."""

    def between(self, since: int, until: int) -> Iterator[pa.RecordBatch]:
        """The changes after one instant up to another."""


class RowSourceMaker(Protocol):
    """Makes a source of the options of a read; a class or a function that other processes can import."""

    def __call__(self, options: dict[str, str], *, streams: bool) -> RowSource: ...


class _Part(InputPartition):
    """A part, on its way to whoever reads it."""


class _PartReader(DataSourceReader):
    def __init__(self, source: RowSource) -> None:
        self.source = source

    def partitions(self) -> Sequence[InputPartition]:
        return [_Part(part) for part in self.source.parts()]

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        return self.source.read(partition.value)


class _ChangeReader(DataSourceStreamReader):
    """Offsets are instants of commits."""

    def __init__(self, source: RowSource) -> None:
        self.source = source

    def initialOffset(self) -> dict[str, int]:
        return {"time": self.source.start()}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # as before 4.2, which later ones take too
        return {"time": self.source.present()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [_Part((start["time"], end["time"]))] if start["time"] < end["time"] else []

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        return self.source.between(*partition.value)


def register(session: Any, make: RowSourceMaker) -> None:
    """Let a session read what a maker makes, as the format ``tidings``."""
    running = SparkSession.getActiveSession() if session is None else session
    if running is None:
        raise SessionNeeded(engine="not known")
    if not hasattr(running, "dataSource"):
        raise MissingPackage(package="pyspark>=4")

    class Tidings(DataSource):
        @classmethod
        def name(cls) -> str:
            return FORMAT

        def schema(self) -> str:
            columns = make(dict(self.options), streams="changes" in self.options).columns()
            return ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)

        def reader(self, schema: Any) -> DataSourceReader:
            return _PartReader(make(dict(self.options), streams=False))

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            return _ChangeReader(make(dict(self.options), streams=True))

    running.dataSource.register(Tidings)
