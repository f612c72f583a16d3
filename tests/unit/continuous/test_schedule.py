"""When continuous queries run: every interval, by cron texts, on every commit or by hand; and how load is shed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import tidings
from tests.unit.continuous.conftest import BEGIN, DAY, ids
from tests.unit.eventually import eventually
from tidings import Database, ManualClock
from tidings.continuous.schedule import WIDEST, next_due, widening
from tidings.lang.sql.statements.continuous import EveryInterval, EveryTick, OnCommit, OnRequest

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("options", "runs"),
    [
        ("", [True, True, True]),
        ("WITH (on = 'commit')", [True, True, True]),
        ("WITH (on = 'manual')", [False, False, False]),
        ("WITH (every = INTERVAL 2 HOURS)", [False, True, False]),
        ("WITH (every = '0 2 * * *')", [False, True, False]),
    ],
)
def test_a_query_runs_when_it_is_due(db: Database, clock: ManualClock, options: str, runs: list[bool]) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY voted AS SELECT id FROM votes {options}")
    ran = []
    for hour in range(3):
        clock.advance(HOUR)
        db.sql(f"INSERT INTO votes VALUES ({hour}, 'ann')")
        db.advance()
        ran.append(hour in ids(db, "voted"))
    assert ran == runs
    db.sql("REFRESH CONTINUOUS QUERY voted")
    assert ids(db, "voted") == [0, 1, 2]


def test_what_was_due_while_the_database_was_closed_runs_at_once(tmp_path: Path, clock: ManualClock) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE votes (id INT, voter STRING)")
        db.sql("CREATE CONTINUOUS QUERY voted AS SELECT id FROM votes WITH (every = '0 8 * * *')")
        db.sql("INSERT INTO votes VALUES (1, 'ann')")
        db.advance()
        assert ids(db, "voted") == []
    clock.advance(DAY)
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock) as db:
        db.advance()
        assert ids(db, "voted") == [1]
        (row,) = db.query("SELECT due FROM tidings.continuous_queries").rows()
        assert row["due"] == BEGIN + DAY + 8 * HOUR


def test_the_background_runner_keeps_the_schedule(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE CONTINUOUS QUERY voted AS SELECT id FROM votes WITH (every = INTERVAL 1 HOUR)")
    db.sql("CREATE CONTINUOUS QUERY late AS SELECT id FROM msgs WHERE ts + INTERVAL 1 DAY < now()")
    db.start(poll=0.01)
    db.sql("INSERT INTO votes VALUES (1, 'ann'); INSERT INTO msgs VALUES (2, NULL, now())")
    clock.advance(HOUR)
    eventually(lambda: ids(db, "voted") == [1])
    assert ids(db, "late") == []
    clock.advance(DAY)
    eventually(lambda: ids(db, "late") == [2])
    db.stop()


def test_load_is_shed_and_the_interval_comes_back(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE CONTINUOUS QUERY voted AS SELECT id FROM votes WITH (every = INTERVAL 1 HOUR)")
    seconds = iter([0.0, 1900.0, *[0.0] * 100])
    db._parts.continuous.timer = lambda: next(seconds)
    for hour in range(1, 7):
        clock.advance(HOUR)
        db.sql(f"INSERT INTO votes VALUES ({hour}, 'ann')")
        db.advance()
        (row,) = db.query("SELECT widened, due FROM tidings.continuous_queries").rows()
        assert (row["widened"], row["due"]) == {
            1: (2, BEGIN + 2 * HOUR),
            2: (1, BEGIN + 3 * HOUR),
        }.get(hour, (1, BEGIN + (hour + 1) * HOUR))
    assert ids(db, "voted") == [1, 2, 3, 4, 5, 6]


def test_the_lag_is_shown(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE CONTINUOUS QUERY voted AS SELECT id FROM votes WITH (on = 'manual')")
    db.sql("REFRESH CONTINUOUS QUERY voted")
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    clock.advance(HOUR)
    db.sql("INSERT INTO votes VALUES (2, 'ann')")
    query = "SELECT lag, delivered FROM tidings.continuous_queries"
    (behind,) = db.query(query).rows()
    assert behind["lag"] >= 3600
    db.sql("REFRESH CONTINUOUS QUERY voted")
    assert db.query(query).rows() == [{"lag": 0.0, "delivered": 2}]


def test_widening_has_a_limit_and_schedules_without_instants_none() -> None:
    assert widening(EveryInterval(10), WIDEST, 0, 10**9) == WIDEST
    assert [widening(schedule, 1, 0, 10**12) for schedule in (OnCommit(), OnRequest())] == [1, 1]
    day = 86_400_000_000
    assert next_due(EveryTick("0 0 * * *"), 1, widened=4) == 4 * day
    assert widening(EveryTick("0 0 * * *"), 1, 0, day) == 2
