"""The memory that a database may hold in this process, and how it is shared out.

Three quarters are DuckDB's, for what it computes and for the columns it holds; what does not fit there is written to a
temporary folder.  An eighth is for decoded columns and the rows of small tables.  The rest is for changes on their way;
of it a quarter is for what waves on the database's engine have read, half of that for small relations and half for rows
that were looked up, and half is for prepared queries.
Spark's memory is its own: see :mod:`tidings.engine.spark.cache`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from tidings.errors import InvalidMemory

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
"""The bytes of this machine's memory."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b", re.IGNORECASE)
_LEAST = 64 << 20
"""DuckDB does not work with much less."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """So many bytes, by default a quarter of the machine's memory."""

    bytes: int = MACHINE // 4

    @staticmethod
    def of(memory: int | str | None) -> MemoryBudget:
        """The budget that a user asks for, in bytes or as a text.

        >>> MemoryBudget.of("1.5GB").bytes, MemoryBudget.of("64 MiB").bytes, MemoryBudget.of(10**9).bytes
        (1500000000, 67108864, 1000000000)
        """
        if memory is None:
            return MemoryBudget()
        bytes = memory if isinstance(memory, int) else _bytes(memory)
        if bytes is None or bytes < _LEAST:
            raise InvalidMemory(memory=memory)
        return MemoryBudget(bytes)

    def engine(self, engines: int = 1) -> int:
        """What each of so many DuckDBs may take."""
        return self.bytes * 3 // 4 // engines

    @property
    def decoded(self) -> int:
        """What columns and small tables that were read from files may take."""
        return self.bytes // 8

    @property
    def small_relations(self) -> int:
        """What small relations that waves on the database's engine have read may take."""
        return self.bytes // 64

    @property
    def recent_lookups(self) -> int:
        """What rows that waves on the database's engine have looked up may take."""
        return self.bytes // 64

    @property
    def prepared(self) -> int:
        """What each of the three DuckDBs for prepared queries may take; one works with no less than 32 MiB."""
        return max(self.bytes // 32, 32 << 20)


def _bytes(text: object) -> int | None:
    size = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if size is None:
        return None
    number, prefix, binary = size.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " "))
