"""The independent oracle: the view recomputed from scratch at every instant, by the engine itself.

Plain tables are filled with the rows the history left, the views are the engine's own views of the original text,
and the change at an instant is the difference of two consecutive answers as bags.  Nothing here goes through
Tidings.  For DuckDB the text is translated by sqlglot, which is all the two sides share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

from tests.laws.generate import Case, View, instant
from tests.laws.schema import Row, Table, arrow, quote
from tests.laws.twofold import TwofoldView

Bag = Counter[Row]


@dataclass(frozen=True, slots=True)
class Answers:
    """A view's rows at every instant, and the names and types of its columns."""

    columns: tuple[tuple[str, str], ...]
    states: tuple[Bag, ...]

    def change(self, number: int) -> Bag:
        """What transaction ``number`` changed: rows with signed counts."""
        return difference(self.states[number], self.states[number - 1])

    def between(self, since: int, until: int) -> dict[int, Bag]:
        """The changes in ``(since, until]`` by instant, none of them empty."""
        inside = (n for n in range(1, len(self.states)) if since < instant(n) <= until)
        return {instant(n): change for n in inside if (change := self.change(n))}


def difference(new: Bag, old: Bag) -> Bag:
    """``new`` minus ``old`` with signs; rows that cancel are gone."""
    out = Counter(new)
    out.subtract(old)
    return Counter({row: n for row, n in out.items() if n})


def bag(table: pa.Table) -> Bag:
    """The rows of an Arrow table by the order of its column names."""
    return Counter(map(plain, _rows(table)))


def changes(table: pa.Table) -> dict[int, Bag]:
    """A delta by instant; it must be consolidated: every row once per instant, and none with weight zero."""
    out: dict[int, Bag] = {}
    rows = _rows(table.drop_columns(["__t", "__w"]))
    for row, time, weight in zip(rows, table["__t"].to_pylist(), table["__w"].to_pylist(), strict=True):
        at = out.setdefault(time, Counter())
        key = plain(row)
        assert weight, f"at {time} the weight is zero: {row}"
        assert key not in at, f"at {time} there are two entries: {row}"
        at[key] = weight
    return out


def columns(schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Names and types, by name: the engines disagree about the order of ``*`` over USING.

    How an engine names the items of a list, and whether it knows that they are never NULL, is no part of a type.
    """
    found = ((f.name, re.sub(r"list<\w+: ", "list<", str(f.type)).replace(" not null", "")) for f in schema)
    return tuple(sorted((n, t) for n, t in found if n not in ("__t", "__w")))


def families(columns: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The same with one word for whole numbers and decimals: the types are Spark's; DuckDB's own have other widths."""
    return tuple((name, re.sub(r"\bint\d+|decimal128\(\d+, \d+\)", "exact", type)) for name, type in columns)


def plain(value: Any) -> Any:
    """A value that can be hashed and equals another exactly when both are the same SQL value."""
    match value:
        case list() | tuple():
            return tuple(map(plain, value))
        case dict():
            return tuple((k, plain(v)) for k, v in sorted(value.items()))
        case float() if value != value:
            return "NaN"
        case _:
            return value


def assert_same(case: Case, view: str, got: dict[int, Bag], want: dict[int, Bag]) -> None:
    """Fail with the whole case and, per instant, what is too much and what is missing."""
    if got == want:
        return
    lines = []
    for time in sorted({*got, *want}):
        wrong = difference(got.get(time, Counter()), want.get(time, Counter()))
        lines += [f"at {time}: {'too much' if n > 0 else 'missing'} {n:+d} × {row}" for row, n in wrong.items()]
    raise AssertionError("\n".join([str(case), f"{view} differs:", *lines]))


def _rows(table: pa.Table) -> list[Row]:
    names = sorted(table.column_names)
    if not names:
        return [()] * table.num_rows
    return list(zip(*(table[n].to_pylist() for n in names), strict=True))


# DuckDB


def recompute_on_duckdb(case: Case) -> dict[str, Answers]:
    """The answers of DuckDB for every view, over plain tables in a connection of its own."""
    with _connection() as connection:
        for statement in (*(t.definition for t in case.tables), *map(_definition, case.views)):
            connection.execute(translated(statement))
        found: dict[str, list[pa.Table]] = {v.name: [] for v in case.views}
        for number, state in enumerate(case.states):
            for table in case.tables:
                if not number or state[table.name] != case.states[number - 1][table.name]:
                    _fill(connection, table, state[table.name])
            for view, answers in found.items():
                answers.append(_answer(connection, view))
        return {view: Answers(columns(rows[0].schema), tuple(map(bag, rows))) for view, rows in found.items()}


def _definition(view: View) -> str:
    """The statement that creates the oracle's side of a view."""
    return View(view.name, view.oracle).definition if isinstance(view, TwofoldView) else view.definition


def translated(text: str) -> str:
    """Spark's words in DuckDB's.  A plain CAST must fail on what it cannot convert, as it does in Spark."""
    tree = sqlglot.parse_one(text, read="spark")
    strict = tree.transform(lambda n: exp.Cast(this=n.this, to=n.args["to"]) if type(n) is exp.TryCast else n)
    return strict.sql("duckdb")


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """One connection for all cases: opening one takes longer than many a case."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'; SET order_by_non_integer_literal = true")
    return connection


@contextmanager
def _connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """The connection, in an empty database."""
    connection = _duckdb()
    connection.execute("ATTACH ':memory:' AS fresh; USE fresh")
    try:
        yield connection
    finally:
        connection.execute("USE memory; DETACH fresh")


def _fill(connection: duckdb.DuckDBPyConnection, table: Table, rows: list[Row]) -> None:
    name = exp.to_identifier(table.name, quoted=True).sql("duckdb")
    connection.register("filling", arrow(table, rows))
    connection.execute(f"DELETE FROM {name}")
    connection.execute(f"INSERT INTO {name} SELECT * FROM filling")


def _answer(connection: duckdb.DuckDBPyConnection, view: str) -> pa.Table:
    name = exp.to_identifier(view, quoted=True).sql("duckdb")
    return connection.execute(f"SELECT * FROM {name}").to_arrow_table()


# Spark

_FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Compiling Java for a handful of rows takes longer than reading them."""


def recompute_on_spark(case: Case, spark: Any) -> Answers:
    """The answers of Spark for the last view, over plain temporary views in a session of its own.

    One job for all instants: each instant's frame is analysed while its rows are registered, and keeps them.
    """
    from pyspark.sql import functions as F

    session = spark.newSession()
    for key, value in _FOR_FEW_ROWS.items():
        session.conf.set(key, value)
    frames = []
    for number in range(len(case.states)):
        before = case.states[number - 1] if number else {}
        for table in case.tables:
            rows = case.states[number][table.name]
            if not number or rows != before[table.name]:
                session.createDataFrame(arrow(table, rows)).createOrReplaceTempView(quote(table.name))
        for view in case.views:
            session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quote(view.name)} AS {view.query}")
        frames.append(_nullable(session.table(quote(case.view))).withColumn("__at", F.lit(number)))
    rows = reduce(lambda a, b: a.unionAll(b), frames).toArrow()
    plain_rows = rows.drop_columns(["__at"])
    states = [bag(plain_rows.filter(pc.equal(rows["__at"], n))) for n in range(len(frames))]
    return Answers(columns(plain_rows.schema), tuple(states))


def _nullable(frame: Any) -> Any:
    """The frame with types that allow NULL: ``toArrow`` fails on a NULL struct whose fields are never NULL."""
    typed = (f"CAST({quote(f.name)} AS {f.dataType.simpleString()}) AS {quote(f.name)}" for f in frame.schema.fields)
    return frame.selectExpr(*typed)
