"""Running a case through Tidings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

import tidings
from tests.laws.generate import Case, instant
from tests.laws.schema import Row, Table
from tidings.analysis.influents import influents
from tidings.delta.plan import Program, compile_program

ARROW = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<int>": pa.list_(pa.int32()),
    "struct<a:int,b:string>": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(5,2)": pa.decimal128(5, 2),
    "decimal(12,4)": pa.decimal128(12, 4),
    "decimal(20,0)": pa.decimal128(20, 0),
}


def arrow(table: Table, rows: list[Row]) -> pa.Table:
    """Rows of a table as Arrow, without the help of Tidings."""
    schema = pa.schema([pa.field(c.name, ARROW[t]) for c, t in zip(table.columns, table.types, strict=True)])
    arrays = [pa.array([r[n] for r in rows], schema.field(n).type) for n in range(len(table.columns))]
    return pa.Table.from_arrays(arrays, schema=schema)


def program(db: tidings.Database, view: str, share: frozenset[str] = frozenset()) -> Program:
    """The program for a view's delta when all of its influents changed."""
    plan, definitions = db._plan(view), db._catalog.definitions()
    return compile_program(view, plan, influents(plan, definitions), definitions, share)


def run(db: tidings.Database, compiled: Program, since: int, until: int) -> pa.Table:
    """The delta a program computes over ``(since, until]`` with a database's engine and rows."""
    return db._runner.run(compiled, db._sources(since, until))


@contextmanager
def replayed(
    case: Case, *, engine: str = "duckdb", spark: Any = None, views: bool = True
) -> Iterator[tidings.Database]:
    """A database with the case's tables and views, after its whole history."""
    clock = tidings.ManualClock()
    with tidings.open(engine=engine, spark=spark, clock=clock) as db:
        for table in case.tables:
            db.sql(table.definition)
            if table.name in case.base:
                db.load(table.name, arrow(table, case.base[table.name]))
        for view in case.views if views else ():
            db.sql(view.definition)
        for number, transaction in enumerate(case.history, 1):
            clock.set(instant(number))
            with db.transaction() as tx:
                for change in transaction:
                    if change.removed:
                        tx.delete(change.table, change.removed)
                    if change.added:
                        tx.insert(change.table, change.added)
            assert tx.time == instant(number)
        yield db
