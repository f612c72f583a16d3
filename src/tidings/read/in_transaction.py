"""Answers inside a transaction: what is committed, with the transaction's own changes on top.

Stored views have the rows that are committed.  One that depends on a changed table is not what the transaction would
see, so its query stands for it.

What a slice of the transaction changes in answers is computed in :mod:`tidings.read.slice_deltas`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import reads
from tidings.engine.source import Source
from tidings.engine.stepping_out import SteppingOut
from tidings.ir.relation import Column, Relation, Scan, Version
from tidings.ir.traverse import walk
from tidings.lang.sql.names import session_name
from tidings.lang.sql.query.select.asked_once import PLACE
from tidings.read.slice_deltas import NO_ENTRIES, SliceDeltas
from tidings.rewrite.pipeline import normalise
from tidings.waves.scheduler import Scheduler


def answer(
    scheduler: Scheduler,
    plan: Relation,
    at: int,
    changes: Mapping[str, pa.Table] = NO_ENTRIES,
    replaced: Mapping[str, pa.Table] = NO_ENTRIES,
    step_out: SteppingOut | None = None,
) -> pa.Table:
    """The rows of a plan at an instant, in its order; ``changes`` are log entries of tables that are not logged yet.

    ``replaced`` has, in the same form, all rows of some tables that matter to the plan; nothing else of these is read.
    With ``step_out`` other threads may be let in while the answer is computed.
    """
    sources = scheduler.executor.sources(0, at)
    scheduler.catch_up(plan, at)
    definitions = definitions_at(scheduler, plan, at, changes)

    def source(relation: str, version: Version) -> Source:
        if relation in replaced:
            return Source(_columns(plan, relation), None, replaced[relation])
        if relation in of_session:
            return of_session[relation]
        committed = sources(relation, version)
        if relation not in changes:
            return committed
        together = pa.concat_tables([committed.changes, changes[relation]])
        return replace(committed, changes=together)

    with _session_sources(scheduler, plan, replaced) as of_session:
        out = None if of_session else step_out
        rows = scheduler.engines.query(normalise(plan, definitions), source, at, out)
    return _in_order(rows)


@contextmanager
def _session_sources(scheduler: Scheduler, plan: Relation, replaced: Collection[str]) -> Iterator[dict[str, Source]]:
    """Where the rows are that a plan reads of the user's session."""
    backend = scheduler.storage.backend
    with ExitStack() as offered:
        named = {r: name for r in reads(plan).difference(replaced) if (name := session_name(r)) is not None}
        yield {
            relation: offered.enter_context(backend.session_source(name, _columns(plan, relation)))
            for relation, name in named.items()
        }


def _in_order(rows: pa.Table) -> pa.Table:
    """Rows in the order of their places, where they have them."""
    if PLACE not in rows.column_names:
        return rows
    return rows.take(pc.sort_indices(rows.column(PLACE))).drop_columns([PLACE])


def delta(
    scheduler: Scheduler,
    name: str,
    plan: Relation,
    at: int,
    before: Mapping[str, pa.Table],
    changes: Mapping[str, pa.Table],
) -> pa.Table:
    """What some changes on top of others make of the rows of one plan, see :class:`SliceDeltas`."""
    return SliceDeltas(scheduler, at, before, changes).delta(name, plan)


def definitions_at(scheduler: Scheduler, plan: Relation, at: int, touched: Collection[str]) -> dict[str, Relation]:
    """The views below a plan whose rows are not stored at an instant, and those that depend on touched tables."""
    return scheduler.planner.definitions_inside(plan, at, frozenset(touched))


def _columns(plan: Relation, relation: str) -> tuple[Column, ...]:
    """The columns of a relation that a plan scans."""
    return next(n.columns for n in walk(plan) if isinstance(n, Scan) and n.relation == relation)
