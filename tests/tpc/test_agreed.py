"""TPC-H and TPC-DS as Spark types them: all in words for DuckDB, by which it says what plain DuckDB says."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from sqlglot import exp

import tidings
from tests.tpc.benchmark import connect, queries
from tests.tpc.coverage import as_stored
from tests.tpc.workload import Workload, comparable
from tidings.analysis.influents import influents
from tidings.delta.plan import Program, compile_program
from tidings.engine.agreed.plan import Disagreement, agreed_plan
from tidings.engine.duckdb import DuckDB
from tidings.engine.sql.lower import lower, source_name
from tidings.errors import TidingsError
from tidings.ir.relation import Relation, Version
from tidings.rewrite.pipeline import normalise

SCALE = 0.01


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("tpch", 22), ("tpcds", 95)])
def test_every_query_has_words(name: str, least: int, spark: Any) -> None:
    plain = connect(name, SCALE)
    asked = queries(plain, name)
    with tidings.open(spark=spark) as db:
        work = Workload(plain, db, random.Random(1))
        work.season(work.aims(asked))
        for table, columns in work.schema.items():
            types = (f"`{c}` {exp.DataType.build(t, dialect='duckdb').sql('spark')}" for c, t in columns.items())
            db.sql(f"CREATE TABLE {table} ({', '.join(types)})")
            plain.execute(f'CREATE VIEW "{source_name(table, Version.CURRENT)}" AS FROM {table}')
        held = 0
        for query in asked:
            try:
                plan = db._parts.plans.plan(query.text)
            except TidingsError:
                continue
            for program in (compile_program("result", plan, influents(plan, {}), {}), as_stored(plan)):
                assert disagreements(program) == [], query.number
            said = plain.execute(in_words(plan)).fetchall()
            assert Counter(tuple(map(comparable, row)) for row in said) == work.answer(query), query.number
            held += 1
    assert held >= least


def disagreements(program: Program) -> list[Disagreement]:
    plans = (agreed_plan(step.plan) for step in program.steps)
    return [plan for plan in plans if isinstance(plan, Disagreement)]


def in_words(plan: Relation) -> str:
    """The SQL of a whole query in DuckDB's words."""
    words = agreed_plan(normalise(plan, {}))
    assert not isinstance(words, Disagreement)
    return lower(words, DuckDB.dialect).filled(lambda *_: "", until="CAST(0 AS BIGINT)")
