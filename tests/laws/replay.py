"""Running a case through Tidings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import tidings
from tests.laws.cut_tables import CutTable
from tests.laws.generate import Case, View, instant
from tests.laws.history import Change
from tests.laws.schema import arrow
from tidings.analysis.influents import influents
from tidings.delta.plan import Program, compile_program
from tidings.front.choices import Engine, Execution, StrategyChoice


def program(db: tidings.Database, view: str, share: frozenset[str] = frozenset()) -> Program:
    """The program for a view's delta when all of its influents changed."""
    plan, definitions = db._parts.plans.plan(view), db._parts.relations.definitions()
    return compile_program(view, plan, influents(plan, definitions), definitions, share)


def run(db: tidings.Database, compiled: Program, since: int, until: int) -> pa.Table:
    """The delta a program computes over ``(since, until]`` with a database's engine and rows."""
    return db._parts.runner.run(compiled, db._parts.scheduler.executor.sources(since, until), since, until)


@contextmanager
def replayed(
    case: Case,
    *,
    path: str | Path | None = None,
    engine: Engine = "duckdb",
    spark: Any = None,
    views: bool = True,
    strategy: StrategyChoice = "differential",
    execution: Execution = "spark",
    cut: bool = False,
    **place: Any,
) -> Iterator[tidings.Database]:
    """A database with the case's tables and views, after its whole history; ``place`` says more of where it is.

    With ``cut`` its tables are fragmented.
    """
    clock, engines = tidings.ManualClock(), {"engine": engine, "spark": spark}
    with tidings.open(path, **engines, clock=clock, strategy=strategy, execution=execution, **place) as db:
        begin(db, case, case.views if views else (), cut=cut)
        for number, transaction in enumerate(case.history, 1):
            clock.set(instant(number))
            assert commit(db, transaction) == instant(number)
        yield db


def begin(db: tidings.Database, case: Case, views: Sequence[View], *, cut: bool = False) -> None:
    """Create the tables of a case with the rows they begin with, and some views."""
    for table in case.tables:
        if cut:
            CutTable(table).create(db, case.base.get(table.name))
            continue
        db.sql(table.definition)
        if table.name in case.base:
            db.load(table.name, arrow(table, case.base[table.name]))
    for view in views:
        db.sql(view.definition)


def commit(db: tidings.Database, transaction: Sequence[Change]) -> int | None:
    """Commit one transaction of a history; the instant it got."""
    with db.transaction() as tx:
        for change in transaction:
            if change.removed:
                tx.delete(change.table, change.removed)
            if change.added:
                tx.insert(change.table, change.added)
    return tx.time
