"""Rows without a time get that of their commit."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from tidings import Database, ManualClock
from tidings.errors import CheckViolated, DuplicateKey


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("TIMESTAMP", datetime(2001, 9, 9, 1, 46, 40, 7, tzinfo=UTC)),
        ("TIMESTAMP_NTZ", datetime(2001, 9, 9, 1, 46, 40, 7)),
        ("BIGINT", 10**15 + 7),
        ("DATE", date(2001, 9, 9)),
    ],
)
def test_rows_without_a_time_get_the_commit_time(db: Database, clock: ManualClock, type: str, value: object) -> None:
    db.sql(f"CREATE TABLE t (id INT, ts {type} NOT NULL) WITH (append_only, time = ts)")
    clock.set(10**15 + 7)
    db.sql("INSERT INTO t (id) VALUES (1), (2)")
    assert [row["ts"] for row in db.query("SELECT ts FROM t").rows()] == [value, value]
    assert db.time == 10**15 + 7


def test_a_row_may_bring_its_own_time(db: Database) -> None:
    db.sql("CREATE TABLE t (id INT, ts BIGINT) WITH (append_only, time = ts)")
    db.sql("INSERT INTO t VALUES (1, 5), (2, NULL)")
    assert db.query("SELECT * FROM t").rows() == [{"id": 1, "ts": 5}, {"id": 2, "ts": db.time}]


def test_constraints_see_the_commit_time(db: Database) -> None:
    db.sql("CREATE TABLE t (id INT, ts BIGINT CHECK (ts > 1000), PRIMARY KEY (id, ts)) WITH (append_only, time = ts)")
    with pytest.raises(CheckViolated):
        db.sql("INSERT INTO t (id) VALUES (1)")
    db.sql("INSERT INTO threshold VALUES (1, 1)")
    db.sql("INSERT INTO t (id) VALUES (1)")
    with pytest.raises(DuplicateKey):
        db.sql("INSERT INTO t (id) VALUES (2), (2)")
