"""Log entries as rows of the catalog: small ones hold their changes, large ones name a file that does.

The file is written and made durable before the catalog names it; a file that no row names is removed by a vacuum.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidings.engine.location import Location
from tidings.store.files import log_file, pack, read_parquet, unpack, write_parquet
from tidings.store.records import LogEntry
from tidings.store.relation.log import EntryFacts, span
from tidings.store.relation.snapshot_writer import SnapshotTarget

INLINE = 64 * 1024
"""Log entries of up to this many bytes are in the catalog itself."""


def stored(folder: Location, entry: LogEntry, branch: str) -> dict[str, Any]:
    """A log entry as a row of the catalog; if it is large, its changes are in a file then, and durable."""
    facts = EntryFacts.of(entry.rows, entry.time if entry.first is None else entry.first, entry.time)
    row = {
        "relation": entry.relation,
        "time": facts.last,
        "first": facts.first,
        "rows": facts.rows,
        "growth": facts.growth,
        "loses": int(facts.loses),
        "layout": entry.layout,
    }
    if entry.rows.nbytes <= INLINE:
        return row | {"inline": pack(entry.rows), "file": None}
    name = log_file(entry.relation, entry.time, branch)
    write_parquet(entry.rows, folder, name)
    return row | {"inline": None, "file": name}


def merged(target: SnapshotTarget, entries: list[pa.Table]) -> dict[str, Any]:
    """Several log entries as one row of the catalog, :func:`stored` already; all are in the layout of now."""
    rows = pa.concat_tables(entries).combine_chunks()
    first, last = span(rows)
    entry = LogEntry(target.relation, last, rows, first, target.layout)
    return stored(target.root, entry, target.branch)


def changes(folder: Location, inline: bytes | None, file: str) -> pa.Table:
    """The changes of a log entry, from the columns of its row."""
    return unpack(inline) if inline is not None else read_parquet(folder, file)
