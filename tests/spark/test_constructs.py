"""Every construct of the SQL front end on Spark: Spark's own answer for the same text, or else DuckDB's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tests.laws.constructs import BASE, OURS, SCHEMA, SPARK
from tests.laws.test_constructs import bag
from tidings.engine.arrow import arrow_schema

pytestmark = pytest.mark.spark


def filled(db: tidings.Database) -> tidings.Database:
    for name, columns in SCHEMA.items():
        db.sql(f"CREATE TABLE {name} ({columns})")
        with db.transaction() as tx:
            tx.insert(name, BASE[name])
    return db


@pytest.fixture(scope="module")
def db(spark: Any) -> Iterator[tidings.Database]:
    with tidings.open(spark=spark, execution="spark") as opened:
        yield filled(opened)


@pytest.fixture(scope="module")
def system_tables(spark: Any, db: tidings.Database) -> Any:
    """A session of its own with the tables as temporary views, for Spark's answers."""
    session = spark.newSession()
    for name, rows in BASE.items():
        schema = arrow_schema(db._parts.relations.table(name).columns)
        table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)
        session.createDataFrame(table).createOrReplaceTempView(name)
    return session


@pytest.fixture(scope="module")
def duckdb() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as opened:
        yield filled(opened)


@pytest.mark.parametrize("query", SPARK)
def test_names_types_and_rows_are_those_of_spark(db: tidings.Database, system_tables: Any, query: str) -> None:
    expected, plan = system_tables.sql(query), db._parts.plans.plan(query)
    assert [(f.name, f.type) for f in plan.fields] == [(f.name, f.dataType.simpleString()) for f in expected.schema]
    assert bag(db.query(query).to_arrow()) == bag(expected.toArrow())


@pytest.mark.parametrize("query", OURS)
def test_rows_are_those_of_the_other_engine(db: tidings.Database, duckdb: tidings.Database, query: str) -> None:
    assert bag(db.query(query).to_arrow()) == bag(duckdb.query(query).to_arrow())
