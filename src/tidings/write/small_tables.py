"""The rows of a small table in this process: statements about them need not ask an engine.

A table is small here if its base is in files, or has no rows, and there are not too many in all.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.changes import added_up, without_version
from tidings.ir.expression import WEIGHT
from tidings.store.relation.table import Table
from tidings.write.workspace import Workspace

SMALL = 100_000
"""Tables of up to so many rows, with as many changes since their base, are gone through in this process."""


def current_rows(workspace: Workspace, table: Table) -> pa.Table | None:
    """The rows of a table, each as often as it is there, with what a transaction has done; None if it is not small."""
    parts = workspace.parts
    if parts.relations.fragments(table.name) is not None:
        return None  # its fragments have its rows
    if parts.scheduler.engines.in_process is None or max(table.base_size, table.history.since_base()) > SMALL:
        return None
    snapshot = parts.scheduler.storage.snapshots.files.get(table.id)
    if table.base is not None and snapshot is None:
        return None  # the engine alone has its base
    if workspace.reads is not None:
        workspace.reads.relations([table.name])
    base = table.schema.empty_table() if table.base is None or snapshot is None else snapshot.rows()
    rows, weights = [base], [pa.repeat(pa.scalar(1, pa.int64()), base.num_rows)]
    for entry in table.history.unfolded()():
        rows.append(without_version(entry))
        weights.append(entry.column(WEIGHT).combine_chunks())
    done = workspace.net_change(table)
    if done is not None:
        workspace.require_present(done)
        rows.append(done.rows)
        weights.append(pa.array(done.weights, pa.int64()))
    if len(rows) == 1:
        return base
    together = pa.concat_tables(part.cast(table.schema) for part in rows)
    places, totals = added_up(together, pa.chunked_array(weights))
    if pc.max(totals).as_py() == 1:
        return together.take(places)
    repeated = [
        place for place, count in zip(places.to_pylist(), totals.to_pylist(), strict=True) for _ in range(count)
    ]
    return together.take(pa.array(repeated, pa.int64()))
