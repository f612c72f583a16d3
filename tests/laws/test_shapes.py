"""The law of shapes: stored views that differ only in constants, and are computed by one query, say what each is."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, View, case, instant
from tests.laws.keyed_views import keyed_case
from tests.laws.replay import begin, commit
from tests.laws.schema import Table, quote
from tests.laws.seeds import chunks
from tidings import errors

VARIANTS = 3


@pytest.mark.parametrize("execution", ["spark", "auto"])
@pytest.mark.parametrize("seeds", chunks(24, quick=6, size=6))
def test_views_of_one_shape(seeds: range, execution: str) -> None:
    shared = sum(
        check(case(seed), execution=execution) + check(keyed_case(seed), execution=execution) for seed in seeds
    )
    assert shared >= len(seeds), "hardly any views were computed by one query"


@pytest.mark.parametrize("seeds", chunks(32, quick=8, size=8))
def test_views_of_one_shape_over_groupings(seeds: range) -> None:
    shared = [check(grouped_case(seed), execution="auto") for seed in seeds]
    assert sum(map(bool, shared)) >= len(seeds) // 4, "hardly any groupings were computed by one query"


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(6, quick=2, size=2))
def test_views_of_one_shape_on_spark(seeds: range, spark: Any) -> None:
    for seed in seeds:
        check(case(seed), engine="spark", spark=spark, execution="spark")
        check(grouped_case(seed), engine="spark", spark=spark, execution="auto")


def grouped_case(seed: int) -> Case:
    """A case with a view over groupings of rows that are compared with a constant."""
    rng, it = Random(seed), case(seed)
    while not all(any(c.kind == "int" for c in table.columns) for table in it.tables):
        seed += 1_000
        it = case(seed)
    one, other = rng.choice(it.tables), rng.choice(it.tables)
    query = rng.choice(
        [
            f"{grouping(rng, one)} HAVING count(*) > {rng.randint(0, 2)}",
            f"SELECT g, least FROM ({grouping(rng, one)}) WHERE rows < {rng.randint(0, 4)} OR least IS NULL",
            f"SELECT rows, count(*) AS times, max(g) AS m FROM ({grouping(rng, one)}) GROUP BY rows",
            f"SELECT a.g, a.rows, b.total FROM ({grouping(rng, one)}) a"
            f" {rng.choice(['', 'LEFT '])}JOIN ({grouping(rng, other)}) b ON b.rows = a.rows",
        ]
    )
    return replace(it, views=(View("v", query),))


def limited(rng: Random, table: Table) -> str:
    """A column of a table, compared with a constant."""
    column = rng.choice([c for c in table.columns if c.kind == "int"])
    return f"{quote(column.name)} {rng.choice(['<', '<=', '=', '<>', '>'])} {rng.randint(-1, 5)}"


def grouping(rng: Random, table: Table) -> str:
    """A grouping that can be stored, of the rows that meet a comparison with a constant."""
    number = quote(rng.choice([c for c in table.columns if c.kind == "int"]).name)
    key = rng.choice([quote(rng.choice(table.columns).name), f"{number} % 3"])
    return (
        f"SELECT {key} AS g, count(*) AS rows, count({number}) AS present, sum({number}) AS total,"
        f" min({number}) AS least FROM {quote(table.name)} WHERE {limited(rng, table)} GROUP BY {key}"
    )


def check(it: Case, **options: Any) -> int:
    """Compare stored views with their queries after every commit; how many of their waves were in common."""
    clock = tidings.ManualClock()
    settings: dict[str, Any] = {"engine": "duckdb", "strategy": "differential", **options}
    with tidings.open(clock=clock, **settings) as db:
        begin(db, it, it.views[:-1])
        query = compared(db, it.views[-1].query)
        queries = {f"variant {n}": varied(query, n) for n in range(VARIANTS)}
        try:
            for name, query in queries.items():
                db.sql(f"CREATE MATERIALIZED VIEW `{name}` AS {query}")
        except errors.TidingsError:
            return 0  # a query that has no answer with other constants
        for number, transaction in enumerate(it.history, 1):
            clock.set(instant(number))
            commit(db, transaction)
            if number % 3 == 2 and number < len(it.history):
                continue
            try:
                answers = {name: oracle.bag(db.query(query).to_arrow()) for name, query in queries.items()}
            except errors.EngineFailed:
                return 0
            db.advance()
            for name, rows in answers.items():
                assert oracle.bag(db.query(f"SELECT * FROM `{name}`").to_arrow()) == rows, (
                    name,
                    queries[name],
                    str(it),
                )
        return sum(1 for wave in db.waves() if wave.together >= VARIANTS)


def compared(db: tidings.Database, query: str) -> str:
    """The query with one of its whole numbers compared with a constant, if it has any."""
    schema = db.query(query).to_arrow().schema
    number = next((field.name for field in schema if pa.types.is_integer(field.type)), None)
    return query if number is None else f"SELECT * FROM ({query}) AS compared WHERE compared.{quote(number)} <> 1"


def varied(query: str, number: int) -> str:
    """A query with other constants where something is compared with one."""
    tree = sqlglot.parse_one(query, read="spark")
    for comparison in tree.find_all(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between):
        for side in comparison.iter_expressions():
            if isinstance(side, exp.Literal) and side.is_int:
                side.replace(exp.Literal.number(int(side.name) + number))
            elif isinstance(side, exp.Literal) and side.is_string:
                side.replace(exp.Literal.string(side.name[number:]))
    return tree.sql("spark")
