"""The law of sharing: stored views that are brought up to date together say what each would say alone.

The views below them that several read are computed once per wave, and small waves run as one query.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, instant
from tests.laws.replay import begin, commit
from tests.laws.seeds import chunks
from tests.laws.test_keyed_on_spark import recomputed as recomputed_on_spark
from tests.laws.test_keyed_operators import recomputed

STORED = {
    "whole": "SELECT * FROM {view}",
    "distinct rows": "SELECT DISTINCT * FROM {view}",
    "number": "SELECT COUNT(*) AS n FROM {view}",
    "some": "SELECT x.* FROM {view} AS x WHERE NOT EXISTS (SELECT 1 FROM {table})",
}


@pytest.mark.parametrize("execution", ["spark", "auto"])
@pytest.mark.parametrize("seeds", chunks(24, quick=4, size=4))
def test_views_together_are_views_alone(seeds: range, execution: str) -> None:
    for seed in seeds:
        it, answers = recomputed(seed)
        check(it, answers[it.view], execution=execution)


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(6, quick=1, size=3))
def test_on_spark(seeds: range, spark: Any) -> None:
    for seed in seeds:
        it, answers = recomputed_on_spark(seed, spark)
        check(it, answers, engine="spark", spark=spark, execution="spark")


def check(it: Case, answers: oracle.Answers, **options: Any) -> None:
    clock = tidings.ManualClock()
    settings: dict[str, Any] = {"engine": "duckdb", "strategy": "differential", **options}
    with tidings.open(clock=clock, **settings) as db:
        begin(db, it, it.views)
        for name, query in STORED.items():
            text = query.format(view=f"`{it.view}`", table=f"`{it.tables[0].name}`")
            db.sql(f"CREATE MATERIALIZED VIEW `{name}` AS {text}")
        for number, transaction in enumerate(it.history, 1):
            clock.set(instant(number))
            commit(db, transaction)
            if number % 2 and number < len(it.history):
                continue
            db.advance()
            rows = answers.states[number]
            assert oracle.bag(db.query("whole").to_arrow()) == rows, it
            assert oracle.bag(db.query("distinct rows").to_arrow()) == Counter(dict.fromkeys(rows, 1)), it
            assert [r["n"] for r in db.query("number").rows()] == [sum(rows.values())], it
            some = db.query(STORED["some"].format(view=f"`{it.view}`", table=f"`{it.tables[0].name}`"))
            assert oracle.bag(db.query("some").to_arrow()) == oracle.bag(some.to_arrow()), it
