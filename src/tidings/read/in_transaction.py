"""Answers inside a transaction: what is committed, with the transaction's own changes on top.

Stored views are at hand as they are committed.  One that depends on a changed table is not what the transaction would
see, so its query stands for it.

A stretch of a transaction is a batch of its own: :func:`delta` tells what it changes in the answer of a query, by the
same programs as for what is committed, in this process where waves may run there.  So judging a rule costs as much as
what was done, not as much as there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import assert_never

import pyarrow as pa

from tidings.analysis.influents import influents
from tidings.delta.plan import Program
from tidings.engine.source import Source, Sources
from tidings.errors import EngineFailed
from tidings.ir.relation import Column, Relation, Scan, Version
from tidings.ir.traverse import walk
from tidings.rewrite.pipeline import normalise
from tidings.waves.in_process.lookups import LookupTooLarge
from tidings.waves.scheduler import Scheduler

_NONE: Mapping[str, pa.Table] = MappingProxyType({})


def answer(
    scheduler: Scheduler,
    plan: Relation,
    at: int,
    changes: Mapping[str, pa.Table] = _NONE,
    instead: Mapping[str, pa.Table] = _NONE,
) -> pa.Table:
    """The rows of a plan at an instant; ``changes`` are log entries of tables that are not logged yet.

    ``instead`` has, in the same form, all rows of some tables that matter to the plan; nothing else of these is read.
    """
    relations, sources = scheduler.relations, scheduler.executor.sources(0, at)
    scheduler.catch_up(plan, at)
    definitions = relations.definitions(at, at)
    if changes:
        every = relations.definitions()
        touched = {v.name: v.plan for v in relations.stored() if influents(v.plan, every) & changes.keys()}
        definitions = definitions | touched

    def source(relation: str, version: Version) -> Source:
        if relation in instead:
            return Source(_columns(plan, relation), None, instead[relation])
        found = sources(relation, version)
        if relation not in changes:
            return found
        return Source(found.columns, found.base, pa.concat_tables([found.changes, changes[relation]]))

    return scheduler.executor.runner.query(normalise(plan, definitions), source, at)


def delta(
    scheduler: Scheduler,
    name: str,
    plan: Relation,
    at: int,
    before: Mapping[str, pa.Table],
    changes: Mapping[str, pa.Table],
) -> pa.Table:
    """What some changes on top of others make of the rows of a plan.

    Both are log entries by relation, ``changes`` of the instant after ``at``.  A relation that the catalog does not
    know has no rows but these.
    """
    relations, committed = scheduler.relations, scheduler.executor.sources(0, at)
    scheduler.catch_up(plan, at)
    every = relations.definitions()
    touched = before.keys() | changes.keys()
    stored = {v.name: v.plan for v in relations.stored() if influents(v.plan, every) & touched}
    definitions = relations.definitions(at, at) | stored
    changed = influents(plan, definitions).intersection(changes)
    program = scheduler.planner.program(name, plan, changed, definitions)

    @cache
    def source(relation: str, version: Version) -> Source:
        if relations.find(relation) is None:
            given = changes[relation] if relation in changes else before[relation]
            found = Source(_columns(plan, relation), None, given.slice(0, 0))
        else:
            found = committed(relation, Version.CURRENT)
        if relation not in touched:
            return found
        old = [found.changes, *([before[relation]] if relation in before else [])]
        new = [changes[relation]] if relation in changes else []
        match version:
            case Version.DELTA:
                return Source(found.columns, None, pa.concat_tables(new))
            case Version.OLD:
                return Source(found.columns, found.base, pa.concat_tables(old))
            case Version.NEW | Version.CURRENT:
                return Source(found.columns, found.base, pa.concat_tables(old + new))
            case _:
                assert_never(version)

    return _run(scheduler, program, source, at, sum(changes[r].num_rows for r in changed))


def _run(scheduler: Scheduler, program: Program, sources: Sources, at: int, changes: int) -> pa.Table:
    """The delta of a program over the instant after ``at``, in this process if it may run there."""
    in_process = scheduler.planner.in_process
    if in_process is not None and program.steps and in_process.obstacle(program, changes) is None:
        try:
            return in_process.run(program, sources, at, at + 1, frozenset()).deltas[program.view]
        except (LookupTooLarge, EngineFailed):  # if this engine cannot do it, the other one can or says why
            pass
    return scheduler.executor.runner.run(program, sources, at, at + 1)


def _columns(plan: Relation, relation: str) -> tuple[Column, ...]:
    """The columns of a relation that a plan scans."""
    return next(n.columns for n in walk(plan) if isinstance(n, Scan) and n.relation == relation)
