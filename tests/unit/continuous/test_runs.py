"""Continuous queries deliver each row once, with its first instant, whenever they run."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tests.unit.continuous.conftest import BEGIN, DAY, UNANSWERED, answers, ids
from tidings import Database, ManualClock
from tidings.clock import instant
from tidings.errors import InvalidContinuousQuery

TICK = timedelta(microseconds=1)


def test_a_row_is_delivered_once_with_the_instant_at_which_it_first_matched(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY unanswered AS {UNANSWERED}")
    db.sql("INSERT INTO msgs VALUES (1, NULL, now()), (2, NULL, now())")
    clock.advance(10 * DAY)
    db.sql("INSERT INTO msgs VALUES (3, 1, now())")
    clock.advance(10 * DAY)
    db.advance()
    assert answers(db, "unanswered") == [(2, BEGIN + 14 * DAY + TICK)]
    db.sql("INSERT INTO msgs VALUES (4, 2, now())")
    clock.advance(10 * DAY)
    db.advance()
    assert answers(db, "unanswered") == [(2, BEGIN + 14 * DAY + TICK), (3, BEGIN + 24 * DAY + TICK)]


def test_a_row_that_flickers_is_delivered_once(db: Database) -> None:
    db.sql("CREATE CONTINUOUS QUERY popular AS SELECT id FROM votes GROUP BY id HAVING count(DISTINCT voter) > 1")
    for voter in ("ann", "bob"):
        db.sql(f"INSERT INTO votes VALUES (7, '{voter}')")
    matched = db.time
    db.sql("DELETE FROM votes WHERE voter = 'bob'")
    db.advance()
    db.sql("INSERT INTO votes VALUES (7, 'bob')")
    db.advance()
    assert answers(db, "popular") == [(7, instant(matched))]


def test_duplicates_are_one_row(db: Database) -> None:
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes")
    db.sql("INSERT INTO votes VALUES (1, 'ann'), (2, 'ann'), (3, NULL), (4, NULL)")
    db.advance()
    assert ids(db, "voters") == ["ann", None]


def test_what_came_and_went_before_the_installation_counts(db: Database) -> None:
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    db.sql("DELETE FROM votes")
    db.sql("CREATE CONTINUOUS QUERY all_voters AS SELECT voter FROM votes")
    db.sql("CREATE CONTINUOUS QUERY new_voters AS SELECT voter FROM votes WITH (since = 'now')")
    db.advance()
    assert (ids(db, "all_voters"), ids(db, "new_voters")) == (["ann"], [])
    db.sql("INSERT INTO votes VALUES (2, 'bob')")
    db.advance()
    assert (ids(db, "all_voters"), ids(db, "new_voters")) == (["ann", "bob"], ["bob"])


def test_from_an_instant_on_what_holds_then_counts(db: Database, clock: ManualClock) -> None:
    db.sql("INSERT INTO votes VALUES (1, 'ann'), (2, 'bob')")
    clock.advance(DAY)
    db.sql("DELETE FROM votes WHERE voter = 'bob'")
    clock.advance(DAY)
    db.sql("CREATE CONTINUOUS QUERY v AS SELECT voter FROM votes WITH (since = '2026-01-02 12:00:00')")
    db.advance()
    assert answers(db, "v") == [("ann", BEGIN + 1.5 * DAY)]


def test_time_alone_makes_rows_match(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE TABLE reminders (text STRING, at TIMESTAMP)")
    db.sql("CREATE CONTINUOUS QUERY remind AS SELECT text FROM reminders WHERE at = now()")
    db.sql("INSERT INTO reminders VALUES ('tea', TIMESTAMP '2026-01-02 16:00:00')")
    clock.advance(10 * DAY)
    db.advance()
    assert answers(db, "remind") == [("tea", BEGIN + DAY + timedelta(hours=16))]


def test_a_query_reads_the_answers_of_another_in_the_same_advance(db: Database) -> None:
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes")
    db.sql("CREATE CONTINUOUS QUERY initials AS SELECT substring(voter, 1, 1) AS initial FROM voters")
    db.sql("INSERT INTO votes VALUES (1, 'ann'), (2, 'abe'), (3, 'bob')")
    db.advance()
    assert ids(db, "initials") == ["a", "b"]


def test_due_queries_run_as_one_batch_in_one_transaction(db: Database) -> None:
    for name, id in (("one", 1), ("two", 2)):
        db.sql(f"CREATE CONTINUOUS QUERY {name} AS SELECT voter FROM votes WHERE id = {id}")
    db.sql("INSERT INTO votes VALUES (1, 'ann'), (2, 'bob')")
    db.advance()
    assert {wave.together for wave in db.waves() if wave.view in ("one", "two")} == {2}
    batches = [next(iter(db.subscribe(name, since=0))) for name in ("one", "two")]
    assert batches[0].time == batches[1].time


def test_a_query_that_fails_does_not_hold_up_the_others(db: Database) -> None:
    db.sql("CREATE CONTINUOUS QUERY numbers AS SELECT CAST(voter AS INT) AS n FROM votes")
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes")
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    db.advance()
    assert ids(db, "voters") == ["ann"]
    errors = {r["name"]: r["error"] for r in db.query("SELECT name, error FROM tidings.continuous_queries").rows()}
    assert errors["voters"] is None
    assert "ann" in str(errors["numbers"])
    with pytest.raises(InvalidContinuousQuery):
        db.sql("REFRESH CONTINUOUS QUERY numbers")


def test_a_rule_that_refuses_an_answer_holds_up_its_query_alone(db: Database) -> None:
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes")
    db.sql("CREATE CONTINUOUS QUERY voted AS SELECT id FROM votes")
    db.sql("CREATE RULE never WHEN SELECT * FROM voters DO RAISE 'no' WITH (action = 'deferred')")
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    db.advance()
    assert (ids(db, "voters"), ids(db, "voted")) == ([], [1])
    db.sql("DROP RULE never")
    db.advance()
    assert ids(db, "voters") == ["ann"]


def test_a_rule_that_feeds_its_own_query_is_stopped(db: Database) -> None:
    db.sql("CREATE CONTINUOUS QUERY voted AS SELECT id FROM votes")
    db.sql("CREATE RULE more WHEN SELECT id FROM voted DO INSERT INTO votes SELECT id + 1, 'x' FROM condition")
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    for _ in range(100):
        db.advance()
    assert len(ids(db, "voted")) < 80
    (rule,) = db.query("SELECT error FROM tidings.rules").rows()
    assert "64" in str(rule["error"])


def test_it_goes_on_after_a_restart(tmp_path: Path, clock: ManualClock) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE votes (id INT, voter STRING)")
        db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes")
        db.sql("INSERT INTO votes VALUES (1, 'ann')")
        db.advance()
        db.sql("DELETE FROM votes; INSERT INTO votes VALUES (1, 'bob')")
        db.sql("DELETE FROM votes; INSERT INTO votes VALUES (1, 'ann')")
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock) as db:
        db.advance()
        db.fold()
        db.sql("DELETE FROM votes; INSERT INTO votes VALUES (1, 'ann'), (2, 'cid')")
        db.advance()
        assert ids(db, "voters") == ["ann", "bob", "cid"]
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock, read_only=True) as reader:
        assert ids(reader, "voters") == ["ann", "bob", "cid"]


def test_what_has_still_to_be_read_is_retained(tmp_path: Path, clock: ManualClock) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock, retention=DAY) as db:
        db.sql("CREATE TABLE votes (id INT, voter STRING)")
        db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes WITH (on = 'manual')")
        db.sql("INSERT INTO votes VALUES (1, 'ann')")
        db.sql("DELETE FROM votes")
        clock.advance(10 * DAY)
        db.fold()
        clock.advance(10 * DAY)
        db.sql("INSERT INTO votes VALUES (1, 'bob')")
        db.fold()
        db.sql("REFRESH CONTINUOUS QUERY voters")
        assert ids(db, "voters") == ["ann", "bob"]


def test_a_query_whose_tables_rest_does_not_keep_the_log(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes")
    db.advance()
    clock.advance(DAY)
    db.sql("INSERT INTO msgs VALUES (1, NULL, now())")
    db.advance()
    assert min(db._parts.storage.query_cursors.values()) == db.time


def test_first_rows_count_from_their_load_on(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes")
    db.advance()
    db.load("votes", pa.table({"id": [1], "voter": ["ann"]}))
    db.advance()
    assert ids(db, "voters") == ["ann"]


def test_a_view_that_is_replaced_goes_on_from_there(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE VIEW v AS SELECT voter FROM votes WHERE id = 1")
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM v WITH (on = 'manual')")
    db.sql("INSERT INTO votes VALUES (1, 'ann'), (2, 'bob')")
    db.sql("DELETE FROM votes WHERE id = 1")
    db.sql("CREATE OR REPLACE VIEW v AS SELECT voter FROM votes WHERE id = 2")
    db.sql("REFRESH CONTINUOUS QUERY voters")
    assert ids(db, "voters") == ["ann", "bob"]


def test_a_column_that_is_added_matters_not(db: Database) -> None:
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes")
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    db.sql("ALTER TABLE votes ADD COLUMN why STRING")
    db.sql("INSERT INTO votes VALUES (1, 'bob', 'x')")
    db.advance()
    assert ids(db, "voters") == ["ann", "bob"]


def test_floating_and_nested_values_are_rows_too(db: Database) -> None:
    db.sql("CREATE TABLE odd (x DOUBLE, y ARRAY<INT>)")
    db.sql("CREATE CONTINUOUS QUERY seen AS SELECT x, y FROM odd")
    rows = [{"x": float("nan"), "y": [1, None]}, {"x": 0.0, "y": None}]
    for _ in range(2):
        with db.transaction() as tx:
            tx.insert("odd", rows)
        db.advance()
    with db.transaction() as tx:
        tx.insert("odd", [{"x": -0.0, "y": None}, {"x": 1.5, "y": []}])
    db.advance()
    assert len(ids(db, "seen")) == 3
