"""States without the rows that came and went again.

The rows of a state are those of the base and of the log, with weights that cancel what is gone.  An expression that
fails for a row fails for one that is gone, too.  So a program that failed is run once more over states in which the
rows of the log are netted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.plan import Program
from tidings.engine.changes import consolidated, without_version
from tidings.engine.source import Source, Sources
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Version


def has_gone_rows(program: Program, sources: Sources) -> bool:
    """Whether a program reads states with rows of the log that are gone."""
    scans = {(scan.relation, scan.version) for step in program.steps for scan in step.scans}
    own = {step.name for step in program.steps}
    states = [sources(*scan) for scan in scans if scan[1] is not Version.DELTA and scan[0] not in own]
    tables = [state.changes for state in states if isinstance(state.changes, pa.Table)]
    return any(pc.any(pc.less(changes.column(WEIGHT), 0)).as_py() for changes in tables)


def net_states(sources: Sources) -> Sources:
    """The same rows, netted as they were before the batch; what the batch changes keeps its instants."""

    @cache
    def source(relation: str, version: Version) -> Source:
        match version:
            case Version.DELTA:
                return sources(relation, version)
            case Version.NEW:
                old, changes = source(relation, Version.OLD), sources(relation, Version.DELTA).changes
                if isinstance(old.changes, pa.Table) and isinstance(changes, pa.Table):
                    return replace(old, changes=pa.concat_tables([old.changes, changes]))
                return sources(relation, version)
            case Version.OLD | Version.CURRENT:
                return _netted(sources(relation, version))

    return source


def _netted(state: Source) -> Source:
    changes = state.changes
    if not isinstance(changes, pa.Table):
        return state
    return replace(state, changes=consolidated(state.columns, without_version(changes), changes.column(WEIGHT)))
