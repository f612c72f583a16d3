"""Spark's analyzer has the last word: names, types and rows are those Spark gives for the same text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tests.spark.queries import QUERIES, ROWS, SCHEMA
from tidings import Database
from tidings.engine.arrow import arrow_schema
from tidings.engine.row_values import row_keys

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def system_tables(spark: Any) -> Any:
    """A session of its own with the tables as temporary views, for Spark's answers."""
    return spark.newSession()


@pytest.fixture(scope="module")
def db(spark: Any, system_tables: Any) -> Iterator[Database]:
    with tidings.open(spark=spark) as database:
        for name, columns in SCHEMA.items():
            database.sql(f"CREATE TABLE {name} ({columns})")
            with database.transaction() as tx:
                tx.insert(name, ROWS[name])
            schema = arrow_schema(database._parts.relations.table(name).columns)
            rows = pa.Table.from_pylist(ROWS[name], schema=schema)
            system_tables.createDataFrame(rows).createOrReplaceTempView(name)
        yield database


def bag(table: pa.Table) -> Counter[Any]:
    return Counter(row_keys(table))


@pytest.mark.parametrize("text", QUERIES)
def test_names_types_and_rows(db: Database, system_tables: Any, text: str) -> None:
    expected = system_tables.sql(text)
    plan = db._parts.plans.plan(text)
    assert [(f.name, f.type) for f in plan.fields] == [(f.name, f.dataType.simpleString()) for f in expected.schema]
    assert bag(db.query(text).to_arrow()) == bag(expected.toArrow())
