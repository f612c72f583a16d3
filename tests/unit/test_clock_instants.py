"""Instants as users give them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

import tidings
from tidings.clock import instant_of
from tidings.errors import InvalidInstant

NEW_YEAR = 1_767_225_600_000_000


@pytest.mark.parametrize(
    "value",
    [
        NEW_YEAR,
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01 01:00:00+01:00",
        date(2026, 1, 1),
        datetime(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=UTC),
    ],
)
def test_forms_of_an_instant(value: object) -> None:
    assert instant_of(value) == NEW_YEAR


@pytest.mark.parametrize("value", ["yesterday", "", 1.5, True, None, object()])
def test_what_is_no_instant_is_refused(value: object) -> None:
    with pytest.raises(InvalidInstant):
        instant_of(value)


def test_questions_take_them() -> None:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(NEW_YEAR)) as db:
        db.sql("CREATE TABLE t (a INT)")
        db.sql("INSERT INTO t VALUES (1)")
        assert db.query("t", as_of="2026-01-02").rows() == [{"a": 1}]
        assert db.query("t", as_of="2025-12-31").rows() == []
        assert len(db.changes("t", since=date(2025, 1, 1), until="2026-06-01")) == 1
        with pytest.raises(InvalidInstant):
            db.changes("t", since=1.5)  # type: ignore[arg-type]
