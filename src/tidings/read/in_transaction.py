"""Answers inside a transaction: what is committed, with the transaction's own changes on top.

Stored views have the rows that are committed.  One that depends on a changed table is not what the transaction would
see, so its query stands for it.

A slice of a transaction is a batch of its own: :func:`delta` computes what it changes in the answer of a query, by the
same programs as for committed batches, and in this process where these may run there.  So evaluating the condition of a
rule costs as much as what the transaction did, not as much as there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import influents
from tidings.delta.recompute import recompute_program
from tidings.engine.source import Source
from tidings.ir.relation import Column, Relation, Scan, Version
from tidings.ir.traverse import walk
from tidings.lang.sql.query.select.asked_once import PLACE
from tidings.rewrite.pipeline import normalise
from tidings.waves.engines import ProgramRun
from tidings.waves.recursion.deltas import counts_duplicates, recursions
from tidings.waves.scheduler import Scheduler
from tidings.waves.shared import in_common

_NONE: Mapping[str, pa.Table] = MappingProxyType({})


def answer(
    scheduler: Scheduler,
    plan: Relation,
    at: int,
    changes: Mapping[str, pa.Table] = _NONE,
    replaced: Mapping[str, pa.Table] = _NONE,
) -> pa.Table:
    """The rows of a plan at an instant, in its order; ``changes`` are log entries of tables that are not logged yet.

    ``replaced`` has, in the same form, all rows of some tables that matter to the plan; nothing else of these is read.
    """
    sources = scheduler.executor.sources(0, at)
    scheduler.catch_up(plan, at)
    definitions = definitions_at(scheduler, plan, at, changes)

    def source(relation: str, version: Version) -> Source:
        if relation in replaced:
            return Source(_columns(plan, relation), None, replaced[relation])
        committed = sources(relation, version)
        if relation not in changes:
            return committed
        together = pa.concat_tables([committed.changes, changes[relation]])
        return replace(committed, changes=together)

    return _in_order(scheduler.executor.runner.query(normalise(plan, definitions), source, at))


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
    precomputed: Mapping[str, pa.Table] = _NONE,
) -> pa.Table:
    """What some changes on top of others make of the rows of a plan.

    Both are log entries by relation, ``changes`` of the instant after ``at``.  A relation that the catalog does not
    know has no rows but these.  ``precomputed`` has what the changes make of some views below the plan.
    """
    run = _program_run(scheduler, name, plan, at, before, changes, precomputed)
    return scheduler.engines.run(run).deltas[run.program.view]


def deltas(
    scheduler: Scheduler,
    plans: Mapping[str, Relation],
    at: int,
    before: Mapping[str, pa.Table],
    changes: Mapping[str, pa.Table],
    precomputed: Mapping[str, pa.Table] = _NONE,
) -> dict[str, pa.Table]:
    """The same for several plans by name; on the database's engine small ones run in common jobs."""
    runs = [_program_run(scheduler, name, plan, at, before, changes, precomputed) for name, plan in plans.items()]
    results = scheduler.engines.run_all(runs)
    return {run.program.view: result.deltas[run.program.view] for run, result in zip(runs, results, strict=True)}


def views_in_common(
    scheduler: Scheduler, plans: Collection[Relation], at: int, changes: Mapping[str, pa.Table]
) -> dict[str, Relation]:
    """The views with touched tables below them that several plans read, each after those it reads."""
    below = scheduler.planner.below
    uses = Counter(name for plan in plans for name in below(plan))
    if not scheduler.relations.definitions(names=[name for name, times in uses.items() if times > 1]):
        return {}
    definitions: dict[str, Relation] = {}
    for plan in plans:
        definitions |= definitions_at(scheduler, plan, at, changes)
    names = in_common(plans, definitions)
    return {name: definitions[name] for name in names if below(definitions[name]).intersection(changes)}


def _program_run(
    scheduler: Scheduler,
    name: str,
    plan: Relation,
    at: int,
    before: Mapping[str, pa.Table],
    changes: Mapping[str, pa.Table],
    precomputed: Mapping[str, pa.Table],
) -> ProgramRun:
    """The differential of a plan over a slice of a transaction."""
    relations, sources = scheduler.relations, scheduler.executor.sources(0, at)
    scheduler.catch_up(plan, at)
    touched = before.keys() | changes.keys()
    definitions = definitions_at(scheduler, plan, at, touched)
    given = {view: delta for view, delta in precomputed.items() if view in definitions}
    below = influents(plan, {view: query for view, query in definitions.items() if view not in given})
    changed = below.intersection(changes) | {view for view, delta in given.items() if view in below and delta.num_rows}
    nodes = recursions([plan], definitions, frozenset(given)).values()
    anew = (at + 1,) if any(map(counts_duplicates, nodes)) else ()
    program = (
        recompute_program(name, plan, below.intersection(changes), definitions)
        if anew
        else scheduler.planner.differential(name, plan, changed, definitions, frozenset(given))
    )
    recursive: dict[str, Source] = {}

    @cache
    def source(relation: str, version: Version) -> Source:
        if relation in recursive:
            return recursive[relation]
        if relation in given and not anew:
            return Source(_view_columns(definitions[relation]), None, given[relation])
        is_known = relations.find(relation) is not None
        if is_known and version is Version.DELTA and relation in changes:
            return Source(relations.rows(relation).columns, None, changes[relation])
        if not is_known:
            entries = changes[relation] if relation in changes else before[relation]
            committed = Source(_columns(plan, relation), None, entries.slice(0, 0))
        else:
            committed = sources(relation, Version.CURRENT)
        if relation not in touched:
            return committed
        old = [committed.changes, *([before[relation]] if relation in before else [])]
        new = [changes[relation]] if relation in changes else []
        match version:
            case Version.DELTA:
                return Source(committed.columns, None, changes[relation])
            case Version.OLD:
                return replace(committed, changes=pa.concat_tables(old))
            case Version.NEW | Version.CURRENT:
                return replace(committed, changes=pa.concat_tables(old + new))
            case _:
                assert_never(version)

    if nodes and not anew:

        def changes_of(label: str, inner: Relation) -> pa.Table:
            return delta(scheduler, label, inner, at, before, changes)

        def old_rows(relation: str, _version: Version) -> Source:
            return source(relation, Version.OLD)

        recursive |= scheduler.recursion.in_slice(nodes, definitions, changes_of, old_rows, at)
    size = sum((given[r] if r in given else changes[r]).num_rows for r in changed)
    return ProgramRun(program, lambda _since, _until: source, at, at + 1, changes=size, recompute_at=anew)


def definitions_at(scheduler: Scheduler, plan: Relation, at: int, touched: Collection[str]) -> dict[str, Relation]:
    """The views below a plan whose rows are not stored at an instant, and those that depend on touched tables."""
    return scheduler.planner.definitions_inside(plan, at, frozenset(touched))


def _columns(plan: Relation, relation: str) -> tuple[Column, ...]:
    """The columns of a relation that a plan scans."""
    return next(n.columns for n in walk(plan) if isinstance(n, Scan) and n.relation == relation)


def _view_columns(query: Relation) -> tuple[Column, ...]:
    return tuple(Column(f.name, f.type) for f in query.fields)
