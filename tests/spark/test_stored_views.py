"""Stored views on Spark: the types and limits that DuckDB does not have."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import tidings
from tidings import Database
from tidings.waves.strategy import Strategy
from tidings.waves.wave import WaveRequest

pytestmark = pytest.mark.spark


@pytest.fixture
def db(spark: Any) -> Iterator[Database]:
    with tidings.open(
        engine="spark", spark=spark, execution="spark", clock=tidings.ManualClock(0), strategy="differential"
    ) as database:
        yield database


def told(db: Database, text: str, since: int = 0) -> list[tuple[str, int, int]]:
    delta = db.changes(text, since, per_commit=True)
    return sorted((str(tuple(c.row.values())), c.time, c.weight) for c in delta.rows())


def strategy(db: Database, name: str) -> Strategy:
    view = next(v for v in db._parts.relations.stored() if v.name == name)
    wave = db._parts.scheduler.plan(WaveRequest(name, view.over, view.until, db.time, groupings=view.groupings))
    return wave.choice.strategy


def test_averages_of_decimals_are_rounded_as_spark_rounds_them(db: Database) -> None:
    query = "SELECT k, avg(d) AS d, avg(e) AS e, avg(x) AS x, sum(d) AS s FROM t GROUP BY k"
    db.sql("CREATE TABLE t (k INT, d DECIMAL(10, 2), e DECIMAL(6, 6), x TINYINT)")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    rng = Random(1)
    rows: list[tuple[Any, ...]] = []
    for _ in range(6):
        added = [
            (
                rng.choice([1, 2, None]),
                rng.choice([None, Decimal(rng.randint(-(10**10) + 1, 10**10 - 1)).scaleb(-2)]),
                Decimal(rng.randint(-(10**6) + 1, 10**6 - 1)).scaleb(-6),
                rng.choice([-128, 127, None]),
            )
            for _ in range(7)
        ]
        removed = [rows.pop(rng.randrange(len(rows))) for _ in range(min(4, len(rows)))]
        rows += added
        with db.transaction() as tx:
            tx.delete("t", removed)
            tx.insert("t", added)
    assert strategy(db, "v") is Strategy.MERGE
    assert told(db, "v") == told(db, query) != []
    assert next(v for v in db._parts.relations.stored()).since == 0


def test_the_least_bigint(db: Database) -> None:
    """Its negative is no bigint, so that it cannot be counted against a sum: the view begins anew."""
    query = "SELECT k, sum(z) AS s FROM t GROUP BY k"
    db.sql("CREATE TABLE t (k INT, z BIGINT)")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    least = (1, -(2**63))
    for added, removed in (([least], []), ([(1, 2**63 - 1)], [least]), ([(1, -5)], [])):
        with db.transaction() as tx:
            tx.delete("t", removed)
            tx.insert("t", added)
        assert told(db, "v") == told(db, query)
        assert db.query("v").rows() == db.query(query).rows()


def test_wide_decimals_are_not_merged(db: Database) -> None:
    query = "SELECT k, sum(w) AS s FROM t GROUP BY k"
    db.sql("CREATE TABLE t (k INT, w DECIMAL(38, 0))")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    wide = Decimal(9).scaleb(37)
    with db.transaction() as tx:
        tx.insert("t", [(1, -wide)])
    db.advance()
    with db.transaction() as tx:
        tx.delete("t", [(1, -wide)])
        tx.insert("t", [(1, wide)])
    assert strategy(db, "v") is Strategy.DIFFERENTIAL
    assert told(db, "v") == told(db, query)
    assert next(v for v in db._parts.relations.stored()).since == 0
