"""Answers: of which instant they are, and which instants cannot be asked about."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.inside import answers_of, plan_of
from tidings import Database, ManualClock, errors

RECENT = "SELECT item FROM seen WHERE at > now() - INTERVAL 1 SECOND"


def items(db: Database, text: str, at: int | None = None) -> list[int]:
    answers, plan = answers_of(db), plan_of(db, text)
    result = answers.now(plan) if at is None else answers.at(plan, answers.known(plan, at))
    return sorted(row["item"] for row in result.rows())


def test_the_present_and_the_past(db: Database) -> None:
    db.sql("INSERT INTO quantity VALUES (1, 5)")
    before = db.time
    db.sql("INSERT INTO quantity VALUES (2, 6); DELETE FROM quantity WHERE item = 1")
    assert items(db, "quantity") == [2]
    assert items(db, "quantity", before) == [1]
    assert items(db, "quantity", before + 1) == [1, 2]


def test_what_reads_the_clock_has_no_future(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE TABLE seen (item INT, at TIMESTAMP); INSERT INTO seen VALUES (1, now())")
    assert items(db, RECENT) == [1]
    clock.advance(timedelta(seconds=2))
    assert items(db, RECENT) == []
    assert items(db, "quantity", clock.now() + 1) == []
    with pytest.raises(errors.InvalidInterval):
        items(db, RECENT, clock.now() + 1)


@pytest.mark.parametrize(("since", "until"), [(5, 3), (9_999_999, 1_000)])
def test_an_interval_that_ends_before_it_begins(db: Database, since: int, until: int) -> None:
    with pytest.raises(errors.InvalidInterval):
        answers_of(db).changes("low", plan_of(db, "low"), since, until, per_commit=False, strict=False)


def test_changes_by_commit_or_net(db: Database) -> None:
    db.sql("INSERT INTO quantity VALUES (1, 5); DELETE FROM quantity; INSERT INTO quantity VALUES (2, 6)")
    answers, plan = answers_of(db), plan_of(db, "quantity")
    by_commit = answers.changes("quantity", plan, 0, None, per_commit=True, strict=False)
    net = answers.changes("quantity", plan, 0, None, per_commit=False, strict=False)
    assert [(c.row["item"], c.weight) for c in by_commit.rows()] == [(1, 1), (1, -1), (2, 1)]
    assert [(c.row["item"], c.weight) for c in net.rows()] == [(2, 1)]


def test_the_strategy_of_a_query(db: Database) -> None:
    db.sql("INSERT INTO quantity VALUES (1, 5)")
    explained = answers_of(db).strategy("low", plan_of(db, "low"), 0, db.time)
    assert explained.plan is plan_of(db, "low")
    assert explained.choice.startswith("restricted differential: ")
    assert explained.choice.endswith("on duckdb: execution is duckdb")


def test_the_strategy_of_a_stored_view_is_that_of_its_groupings(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW counts AS SELECT item, count(*) AS n FROM quantity GROUP BY item")
    db.sql("INSERT INTO quantity VALUES (1, 5)")
    explained = answers_of(db).strategy("counts", plan_of(db, "counts"), db.time - 1, db.time)
    assert explained.choice.startswith("stored-aggregate merge: ")
    assert "counts#groups1" in explained.definitions
