"""The clock in a statement."""

from __future__ import annotations

import pytest

from tidings.lang.sql.instant import at_instant, reads_clock
from tidings.lang.sql.parse import parsed, place, statements

NOON = 12 * 3600 * 1_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now()", "CAST('1970-01-01 12:00:00.000000' AS TIMESTAMP)"),
        ("current_timestamp()", "CAST('1970-01-01 12:00:00.000000' AS TIMESTAMP)"),
        ("current_date()", "CAST('1970-01-01' AS DATE)"),
        ("a + 1", "a + 1"),
    ],
)
def test_the_clock_says_one_instant(text: str, expected: str) -> None:
    assert at_instant(parsed(text), NOON).sql("spark") == expected


def test_who_reads_the_clock() -> None:
    assert reads_clock(parsed("a < now()"))
    assert not reads_clock(parsed("a < timestamp '2026-01-01'"))


def test_the_instant_has_the_place_of_the_clock() -> None:
    text = "SELECT a FROM t WHERE a < current_date"
    (tree,) = statements(text)
    condition = at_instant(tree.args["where"].this, NOON)
    whole, before = place(text, condition), place(text, tree.args["where"].this)
    assert whole is not None
    assert before is not None
    assert (whole.start, whole.end) == (before.start, before.end)
