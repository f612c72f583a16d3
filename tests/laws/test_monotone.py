"""Laws of continuous queries: what the rewriting says against the query asked at every instant."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

import tidings
from tests.laws.continuous_queries import (
    END,
    TABLES,
    TABLES_WITH_FACT,
    History,
    QueryWriter,
    RandomQuery,
    as_known,
    history,
    rows_of,
)
from tests.laws.seeds import chunks
from tidings.lang.sql import statement as sql
from tidings.read.rewritings import Rewritings, bounding_text, incremental_text
from tidings.rewrite.monotone.rewriting import Rewriting

Rows = set[tuple[Any, ...]]


def opened(rows: History, tables: str = TABLES, **settings: Any) -> tidings.Database:
    clock = tidings.ManualClock(0)
    db = tidings.open(clock=clock, **{"engine": "duckdb"} | settings)
    db.sql(tables)
    clock.set(END)
    db.load({name: table for name, table in rows.items() if table})
    return db


def rewritten(db: tidings.Database, text: str) -> Rewriting:
    (query,) = sql.read(text)
    assert isinstance(query, sql.Query)
    outcome = Rewritings(db._parts.plans).rewriting(query)
    assert isinstance(outcome, Rewriting), outcome
    return outcome


def check(db: tidings.Database, query: RandomQuery, rows: History, random: Random) -> None:
    """Q_M is the union of all answers; Q^I over any split of time has it all, and never too much."""

    def asked(text: str, instant: int) -> Rows:
        return rows_of(db.query(text, as_of=instant).rows())

    rewriting, answers = rewritten(db, query.text), query.answers(rows)
    ever: dict[int, Rows] = {0: set()}
    for instant in range(1, END + 1):
        ever[instant] = ever[instant - 1] | answers[instant]
    for instant in random.sample(range(1, END + 1), 2):
        assert asked(query.text, instant) == answers[instant], (query.text, instant)
        assert asked(bounding_text(rewriting, instant), instant) == ever[instant], (query.text, instant)
    told: Rows = set()
    cuts = [0, *sorted(random.sample(range(1, END), random.randint(0, 3))), END]
    for since, until in pairwise(cuts):
        new = asked(incremental_text(rewriting, since, until), until)
        assert ever[until] - ever[since] <= new <= ever[until], (query.text, since, until)
        told |= new
    assert told == ever[END], query.text
    if rewriting.is_monotone:
        assert all(answers[i] == ever[i] for i in ever), query.text


@pytest.mark.parametrize("seeds", chunks(96, quick=12, size=12))
def test_rewriting_is_the_union_over_all_instants(seeds: range) -> None:
    for seed in seeds:
        random = Random(seed)
        rows = history(random)
        with opened(rows) as db:
            check(db, QueryWriter(random).query(), rows, random)


@pytest.mark.parametrize("seeds", chunks(24, quick=6, size=6))
def test_known_facts_change_the_text_and_not_the_answers(seeds: range) -> None:
    for seed in seeds:
        random = Random(seed)
        rows = as_known(history(random))
        with opened(rows, tables=TABLES_WITH_FACT) as db:
            check(db, QueryWriter(random).query(), rows, random)


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(4, quick=2, size=2))
def test_rewriting_on_spark(seeds: range, spark: Any) -> None:
    for seed in seeds:
        random = Random(seed + 1_000)
        rows = history(random)
        with opened(rows, engine="spark", spark=spark) as db:
            check(db, QueryWriter(random).query(), rows, random)
