"""The base rows of relations as frames of a Spark session: cached, or read from files."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.location import Location
from tidings.engine.scratch import Scratch
from tidings.engine.spark.cache import BaseCache
from tidings.engine.spark.session import arrow_frame, quoted
from tidings.errors import EngineFailed
from tidings.ir.relation import Column

_LOCAL_ROWS = 50_000
"""More rows than this are kept in files; local rows would travel with every plan."""


FEW_ROWS = 10_000
"""A frame of up to so many rows is fetched, and offered again in one partition: it may be in hundreds of them."""

_EXPANSION = 4
"""A cached base takes about so many times the bytes of its files."""


class Bases:
    """The bases of one session, by name; without ``caching`` none is held in memory."""

    def __init__(
        self, session: Callable[[], SparkSession], files: Callable[[], Scratch | None], *, caching: bool
    ) -> None:
        self._session = session
        self._cache = BaseCache(session, None if caching else 0)
        self._sizes: dict[str, int] = {}
        """About how many bytes bases take when they are cached, of those that may be."""
        self._frames: dict[str, DataFrame] = {}
        """Those that have been read."""
        self._unread: dict[str, Callable[[], DataFrame]] = {}
        """What makes the frames of the others: Spark looks at no file before somebody asks for its rows."""
        self._views: set[str] = set()
        """The bases that can be read by name."""
        self._scratch: dict[str, ExitStack] = {}
        """Releases what bases that were not read from files are made of."""
        self._files = files

    def __getitem__(self, name: str) -> DataFrame:
        self.use(name)
        return self._frames[name]

    def use(self, name: str | None) -> None:
        """Note that a base is about to be read."""
        if name in self._unread:
            self._frames[name] = self._unread[name]()
            del self._unread[name]
        if name in self._sizes:
            self._cache.use(name, self._frames[name], self._sizes[name])

    def load(self, name: str, columns: tuple[Column, ...], data: object, sorted_by: str) -> int:
        """Cache rows as a base, in the order of one column; their number.

        Rows of this process are brought to Spark when they are asked for.
        """
        if isinstance(data, pa.Table):
            self._unread[name] = partial(self._cached, name, columns, data, sorted_by)
            return int(data.num_rows)
        self._frames[name] = base = self._cached(name, columns, data, sorted_by)
        return base.count()

    def _cached(self, name: str, columns: tuple[Column, ...], data: object, sorted_by: str) -> DataFrame:
        base = self._typed(name, columns, data)
        if not any(c.name == sorted_by and c.type.startswith("map<") for c in columns):
            base = base.sort(quoted(sorted_by))
        cached: DataFrame = base.cache()
        self._scratch[name].callback(cached.unpersist)
        return cached

    def offer(self, name: str, columns: tuple[Column, ...], data: object) -> None:
        """Take rows as a base as they are."""
        self._frames[name] = self._typed(name, columns, data)

    def _typed(self, name: str, columns: tuple[Column, ...], data: object) -> DataFrame:
        frame = self._frame(name, columns, data)
        return frame.select(*(F.col(quoted(c.name)).cast(c.type).alias(c.name) for c in columns))

    def load_files(
        self,
        name: str,
        columns: tuple[Column, ...],
        paths: list[Location],
        read: list[str] | None,
        cached_bytes: int | None,
    ) -> None:
        """Take the rows of Parquet files as a base; ``read`` is the SQL that gives each column."""
        self._unread[name] = partial(self._of_files, columns, paths, read)
        if cached_bytes is not None and paths:
            self._sizes[name] = cached_bytes * _EXPANSION

    def _of_files(self, columns: tuple[Column, ...], paths: list[Location], read: list[str] | None) -> DataFrame:
        if not paths:
            return arrow_frame(self._session(), arrow_schema(columns).empty_table())
        frame = self._session().read.parquet(*(path.pattern for path in paths))
        texts = read or [quoted(c.name) for c in columns]
        typed = [F.expr(text).cast(c.type).alias(c.name) for text, c in zip(texts, columns, strict=True)]
        return frame.select(*typed)

    def view(self, name: str) -> str:
        """The name under which SQL reads a base."""
        self.use(name)
        view = quoted(f"__base_{name}")
        if name not in self._views:
            self._frames[name].createOrReplaceTempView(view)
            self._views.add(name)
        return view

    def unload(self, name: str) -> None:
        """Forget a base."""
        self._frames.pop(name, None)
        self._unread.pop(name, None)
        self._views.discard(name)
        self._sizes.pop(name, None)
        self._cache.drop(name)
        scratch = self._scratch.pop(name, None)
        if scratch is not None:
            scratch.close()

    def close(self) -> None:
        """Forget all bases."""
        for name in [*self._frames, *self._unread]:
            self.unload(name)

    def local(self, rows: pa.Table, scratch: ExitStack) -> DataFrame:
        """Rows of this process as a frame: few as Arrow and in one partition, many by way of a file.

        ``scratch`` removes the file.
        """
        if rows.num_rows <= _LOCAL_ROWS:
            return arrow_frame(self._session(), rows).coalesce(1)
        files = self._files()
        if files is None:
            return arrow_frame(self._session(), rows)
        return self._session().read.parquet(scratch.enter_context(files.holding(rows)).pattern)

    def _frame(self, name: str, columns: tuple[Column, ...], data: object) -> DataFrame:
        scratch = self._scratch[name] = ExitStack()
        if isinstance(data, pa.Table):
            return self.local(conform(data, arrow_schema(columns)), scratch)
        if hasattr(data, "createOrReplaceGlobalTempView") and hasattr(data, "limit"):
            few = data.limit(FEW_ROWS + 1).toArrow()
            if few.num_rows <= FEW_ROWS:
                return arrow_frame(self._session(), few).coalesce(1)
            shared = f"tidings_{uuid.uuid4().hex}"
            data.createOrReplaceGlobalTempView(shared)
            scratch.callback(self._session().catalog.dropGlobalTempView, shared)
            return self._session().table(f"global_temp.{shared}")
        raise EngineFailed(engine="spark", reason=f"rows of {name} cannot be read from a {type(data).__name__}")
