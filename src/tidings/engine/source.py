"""Where an engine finds the rows of one version of one relation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from tidings.engine.location import Location
from tidings.ir.relation import Column, Version

Rows: TypeAlias = pa.Table | Location
"""Changes in memory, or a folder of Parquet files that hold them."""


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of a relation: a base the engine holds, if any, and changes to it.

    Every base row counts once and was there before any batch.  ``changes`` has the relation's columns, ``__t`` and
    ``__w``.  The sum of both is the version's content; it is not netted, since weights do that wherever it is used.
    """

    columns: tuple[Column, ...]
    base: str | None
    changes: Rows
    key: tuple[str, ...] = ()
    """Columns that tell the rows of the base apart, where NULL is a value like others; none if none are known to."""


Sources: TypeAlias = Callable[[str, Version], Source]
"""The source of a relation's version, by the relation's name."""
