"""Whether the rows of a snapshot have different keys, by a pass over its files in the order of their first key column.

Equal keys are in one file, or at the end of one and the beginning of the next.  So one file at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.row_values import groupable


def are_unique(files: Iterable[pa.Table]) -> bool | None:
    """Whether no key is repeated, from the key columns of each file; None if the files are not in order.

    >>> are_unique([pa.table({"k": [1, 2]}), pa.table({"k": [2, 3]})])
    False
    """
    before: pa.Table | None = None
    for file in files:
        first = file.column(0)
        if not file.num_rows:
            continue
        ends = pc.min_max(first)
        if first.null_count or (before is not None and before.column(0)[0].as_py() > ends["min"].as_py()):
            return None
        keys = file if before is None else pa.concat_tables([before, file])
        columns = {str(n): groupable(column) for n, column in enumerate(keys.columns)}
        if pa.table(columns).group_by(list(columns)).aggregate([]).num_rows < keys.num_rows:
            return False
        before = keys.filter(pc.equal(keys.column(0), ends["max"]))
    return True
