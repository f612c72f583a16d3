"""Answers inside a transaction: what is committed, with the transaction's own changes on top.

Stored views are at hand as they are committed.  One that depends on a changed table is not what the transaction would
see, so its query stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from tidings.analysis.influents import influents
from tidings.engine.source import Source
from tidings.ir.relation import Relation, Version
from tidings.network.waves import Waves
from tidings.rewrite.pipeline import normalise

_NONE: Mapping[str, pa.Table] = MappingProxyType({})


def answer(
    waves: Waves,
    plan: Relation,
    at: int,
    changes: Mapping[str, pa.Table] = _NONE,
    instead: Mapping[str, pa.Table] = _NONE,
) -> pa.Table:
    """The rows of a plan at an instant; ``changes`` are log entries of tables that are not logged yet.

    ``instead`` has, in the same form, all rows of some tables that matter to the plan; nothing else of these is read.
    """
    catalog, sources = waves.catalog, waves.sources(0, at)
    waves.catch_up(plan, at)
    definitions = catalog.definitions(at, at)
    if changes:
        every = catalog.definitions()
        touched = {v.name: v.plan for v in catalog.stored() if influents(v.plan, every) & changes.keys()}
        definitions = definitions | touched

    def source(relation: str, version: Version) -> Source:
        found = sources(relation, version)
        if relation in instead:
            return Source(found.columns, None, instead[relation])
        if relation not in changes:
            return found
        return Source(found.columns, found.base, pa.concat_tables([found.changes, changes[relation]]))

    return waves.runner.query(normalise(plan, definitions), source, at)
