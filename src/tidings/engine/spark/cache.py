"""Which bases Spark caches: those used last, as long as they fit a share of its storage memory.

A base that is not cached is read from its files.  A cache belongs to a plan, so whatever was registered over a base
reads the cache from when it is made until it is dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

SHARE = 0.6
"""So much of the storage memory may be taken by bases; the rest is for what queries keep and share."""

_RESERVED = 300 << 20
"""Bytes of a heap that are neither for storage nor for execution."""

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class BaseCache:
    """The cached bases of one session, by name, those used last at the end."""

    def __init__(self, session: Callable[[], SparkSession], limit: int | None = None) -> None:
        self._session = session
        self._limit = limit
        self._cached: OrderedDict[str, tuple[DataFrame, int]] = OrderedDict()

    @property
    def limit(self) -> int:
        """How many bytes bases may take."""
        if self._limit is None:
            self._limit = int(storage_memory(self._session()) * SHARE)
        return self._limit

    @property
    def names(self) -> list[str]:
        """The bases that are cached."""
        return list(self._cached)

    def use(self, name: str, frame: DataFrame, size: int) -> None:
        """Cache a base of about so many bytes that is about to be read, if it fits."""
        if name in self._cached:
            self._cached.move_to_end(name)
            return
        if size > self.limit:
            return
        while sum(taken for _, taken in self._cached.values()) + size > self.limit:
            self.drop(next(iter(self._cached)))
        self._cached[name] = frame.cache(), size

    def drop(self, name: str) -> None:
        """Let a base be read from its files again."""
        dropped = self._cached.pop(name, None)
        if dropped is not None:
            dropped[0].unpersist()


def storage_memory(session: SparkSession) -> int:
    """The bytes that Spark has for caches and for execution together, by its settings."""
    if _setting(session, "spark.master", "local").startswith("local"):
        heap, heaps = _bytes(_setting(session, "spark.driver.memory", "1g")), 1
    else:
        heap = _bytes(_setting(session, "spark.executor.memory", "1g"))
        heaps = int(_setting(session, "spark.executor.instances", "1"))
    return int(max(heap - _RESERVED, 0) * float(_setting(session, "spark.memory.fraction", "0.6"))) * heaps


def _setting(session: SparkSession, name: str, default: str) -> str:
    return session.conf.get(name, default) or default


def _bytes(text: str) -> int:
    """A size as Spark writes it.

    >>> _bytes("2g"), _bytes("512MB"), _bytes("1024")
    (2147483648, 536870912, 1073741824)
    """
    number, unit = text.lower().rstrip("b"), "m"
    if number[-1:] in _UNITS:
        number, unit = number[:-1], number[-1]
    return int(number) * _UNITS[unit]
