"""Frames of window functions: which are allowed, and how a value is picked where ties fall."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings.errors import InvalidExpression, NonDeterministic, UnsupportedConstruct

UP_TO_HERE = "BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


@pytest.fixture(scope="module")
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (x INT, y INT, z INT)")
        db.sql("INSERT INTO t VALUES (1, 10, 1), (1, 20, NULL), (2, 20, 3), (3, 30, 4), (NULL, 30, 5)")
        yield db


def values(db: tidings.Database, function: str) -> list[object]:
    """What a function says of the rows, in the order of y and of the whole row."""
    rows = db.query(f"SELECT x, y, {function} AS f FROM t").rows()
    return [r["f"] for r in sorted(rows, key=lambda r: (r["y"], r["x"] or 0))]


@pytest.mark.parametrize(
    ("call", "ranks"),
    [
        ("rank()", [2, 2, 4, 1, 5]),
        ("dense_rank()", [2, 2, 3, 1, 4]),
        ("percent_rank()", [0.25, 0.25, 0.75, 0.0, 1.0]),
    ],
)
def test_equal_values_have_equal_ranks(db: tidings.Database, call: str, ranks: list[object]) -> None:
    assert values(db, f"{call} OVER (ORDER BY x ROWS {UP_TO_HERE})") == ranks
    assert values(db, f"{call} OVER (ORDER BY x ROWS UNBOUNDED PRECEDING)") == ranks


def test_shares_have_a_frame_of_values(db: tidings.Database) -> None:
    assert values(db, f"cume_dist() OVER (ORDER BY x RANGE {UP_TO_HERE})") == [0.6, 0.6, 0.8, 0.2, 1.0]


@pytest.mark.parametrize(
    "call",
    [
        "rank() OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        f"rank() OVER (ORDER BY x RANGE {UP_TO_HERE})",
        f"row_number() OVER (ORDER BY x RANGE {UP_TO_HERE})",
        f"cume_dist() OVER (ORDER BY x ROWS {UP_TO_HERE})",
        f"lag(y) OVER (ORDER BY x ROWS {UP_TO_HERE})",
    ],
)
def test_other_frames_are_refused(db: tidings.Database, call: str) -> None:
    with pytest.raises(InvalidExpression):
        values(db, call)


def test_frames_of_groups_are_refused(db: tidings.Database) -> None:
    with pytest.raises(UnsupportedConstruct):
        values(db, "count(*) OVER (ORDER BY x GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("first_value(z) OVER (ORDER BY y RANGE BETWEEN 10 PRECEDING AND CURRENT ROW)", [1, 1, 1, None, None]),
        ("last_value(z) OVER (ORDER BY y)", [1, 3, 3, 4, 4]),
        ("last_value(z) OVER (ORDER BY y RANGE BETWEEN CURRENT ROW AND 10 FOLLOWING)", [3, 4, 4, 4, 4]),
        ("first_value(z) OVER (ORDER BY y DESC RANGE BETWEEN 10 PRECEDING AND CURRENT ROW)", [None, 5, 5, 5, 5]),
        ("nth_value(z, 2) OVER (ORDER BY y)", [None, None, None, None, None]),
        ("nth_value(z, 3) OVER (ORDER BY y)", [None, 3, 3, 3, 3]),
        ("nth_value(z, 2) IGNORE NULLS OVER (ORDER BY y)", [None, 3, 3, 3, 3]),
        ("first_value(z) IGNORE NULLS OVER (ORDER BY y DESC)", [5, 5, 5, 5, 5]),
        ("first_value(z, true) OVER (ORDER BY y RANGE BETWEEN 10 PRECEDING AND CURRENT ROW)", [1, 1, 1, 3, 3]),
        ("any_value(z) OVER (ORDER BY y RANGE BETWEEN CURRENT ROW AND 0 FOLLOWING)", [1, None, None, 5, 5]),
        ("last(z, true) OVER (ORDER BY y, x)", [1, 1, 3, 5, 4]),
        ("last_value(z) IGNORE NULLS OVER (ORDER BY y, x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", [1, 1, 3, 5, 4]),
        ("lag(z, 1, 7) IGNORE NULLS OVER (ORDER BY y, x)", [7, 1, 1, 3, 5]),
    ],
)
def test_the_whole_row_decides_among_ties(db: tidings.Database, function: str, expected: list[object]) -> None:
    assert values(db, function) == expected


def test_without_an_order_no_row_is_first(db: tidings.Database) -> None:
    for call in ("first_value(z) IGNORE NULLS OVER ()", "last(z, true) OVER (PARTITION BY y)"):
        with pytest.raises(NonDeterministic):
            values(db, call)
