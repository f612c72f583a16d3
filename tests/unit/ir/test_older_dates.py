"""Dates as older systems write them."""

from __future__ import annotations

import pytest
import sqlglot

from tidings import Database, ManualClock
from tidings.ir.dialect import DIALECT


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("GetDate()", "CURRENT_TIMESTAMP()"),
        ("x + 2 weeks", "x + INTERVAL '2' WEEKS"),
        ("x - 1 day - 3 hours", "x - INTERVAL '1' DAY - INTERVAL '3' HOURS"),
        ("x + 2", "x + 2"),
        ("x + 2 AS weeks", "x + 2 AS weeks"),
        ("2 AS days", "2 AS days"),
        ("x * 2 + y", "x * 2 + y"),
        ("dateadd(week, -4, getdate())", "(CURRENT_TIMESTAMP() - INTERVAL '4' WEEK)"),
        ("DateAdd(week, 2, x)", "(CAST(x AS TIMESTAMP) + INTERVAL '2' WEEK)"),
        ("dateadd(week, n, x)", "DATE_ADD(WEEK, n, x)"),
        ("date_add(x, 3)", "DATE_ADD(x, 3)"),
        ("x ≤ 1 AND y ≥ 2 AND z ≠ 3", "x <= 1 AND y >= 2 AND z <> 3"),
    ],
)
def test_expressions(written: str, read: str) -> None:
    assert sqlglot.parse_one(f"SELECT {written}", read=DIALECT).sql(DIALECT) == f"SELECT {read}"


def test_answers(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE TABLE t (at TIMESTAMP)")
    clock.set(14 * 86_400_000_000)
    db.sql("INSERT INTO t VALUES (dateadd(week, -2, getdate())), (TIMESTAMP '1970-01-05')")
    assert len(db.query("SELECT * FROM t WHERE at + 10 days ≤ getdate()").rows()) == 2
    assert len(db.query("SELECT * FROM t WHERE at < DATEADD(week, -1, GetDate())").rows()) == 2
    assert len(db.query("SELECT * FROM t WHERE at ≠ dateadd(day, 4, TIMESTAMP '1970-01-01')").rows()) == 1
