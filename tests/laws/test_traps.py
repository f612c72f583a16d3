"""The traps of the keyed operators, one plain test each, on both engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import tidings

Row = tuple[Any, ...]
NAN = float("nan")


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])])
def db(request: pytest.FixtureRequest) -> Iterator[tidings.Database]:
    """A database with two tables of two columns."""
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    with tidings.open(
        engine=request.param, spark=session, clock=tidings.ManualClock(), execution="spark", strategy="differential"
    ) as opened:
        opened.sql("CREATE TABLE t (a INT, b INT); CREATE TABLE u (x INT, y INT)")
        yield opened


def commit(db: tidings.Database, *changes: tuple[str, list[Row], list[Row]]) -> int:
    """One transaction of (table, rows that go, rows that come); the time before it."""
    since = db.time
    with db.transaction() as tx:
        for table, gone, come in changes:
            if gone:
                tx.delete(table, gone)
            if come:
                tx.insert(table, come)
    return since


def changes(db: tidings.Database, query: str, since: int) -> list[dict[Row, int]]:
    """The changes of a query after ``since``, one entry per instant that changed it."""
    found: dict[int, dict[Row, int]] = {}
    for row, time, weight in db.changes(query, since, per_commit=True).rows():
        key = tuple("NaN" if v != v else v for v in row.values())
        assert key not in found.setdefault(time, {}), "the delta is not consolidated"
        found[time][key] = weight
    return [found[time] for time in sorted(found)]


def rows(db: tidings.Database, query: str) -> Counter[Row]:
    return Counter(tuple(r.values()) for r in db.query(query).rows())


# NULL keys

NULL_KEYS = {
    "GROUP BY": ("SELECT a, COUNT(*) AS n FROM t GROUP BY a", [{(None, 2): 1}, {(None, 2): -1, (None, 1): 1}]),
    "DISTINCT": ("SELECT DISTINCT a FROM t", [{(None,): 1}]),
    "UNION": ("SELECT a FROM t UNION SELECT x FROM u", [{(None,): 1}]),
    "EXCEPT": ("SELECT a FROM t EXCEPT SELECT x FROM u", [{(None,): 1}, {(None,): -1}]),
    "EXCEPT ALL": ("SELECT a FROM t EXCEPT ALL SELECT x FROM u", [{(None,): 2}, {(None,): -2}]),
    "INTERSECT": ("SELECT a FROM t INTERSECT SELECT x FROM u", [{(None,): 1}]),
    "INTERSECT ALL": ("SELECT a FROM t INTERSECT ALL SELECT x FROM u", [{(None,): 1}]),
    "LEFT JOIN =": ("SELECT t.b, u.y FROM t LEFT JOIN u ON t.a = u.x", [{(1, None): 1, (2, None): 1}, {(2, None): -1}]),
    "LEFT JOIN <=>": (
        "SELECT t.b, u.y FROM t LEFT JOIN u ON t.a <=> u.x",
        [{(1, None): 1, (2, None): 1}, {(1, None): -1, (2, None): -1, (1, 9): 1}],
    ),
    "RIGHT JOIN": ("SELECT t.b, u.y FROM t RIGHT JOIN u ON t.a = u.x", [{(None, 9): 1}]),
    "FULL JOIN": (
        "SELECT t.b, u.y FROM t FULL JOIN u ON t.a = u.x",
        [{(1, None): 1, (2, None): 1}, {(2, None): -1, (None, 9): 1}],
    ),
    "SEMI JOIN =": ("SELECT t.b FROM t LEFT SEMI JOIN u ON t.a = u.x", []),
    "SEMI JOIN <=>": ("SELECT t.b FROM t LEFT SEMI JOIN u ON t.a <=> u.x", [{(1,): 1}]),
    "ANTI JOIN =": ("SELECT t.b FROM t LEFT ANTI JOIN u ON t.a = u.x", [{(1,): 1, (2,): 1}, {(2,): -1}]),
    "ANTI JOIN <=>": ("SELECT t.b FROM t LEFT ANTI JOIN u ON t.a <=> u.x", [{(1,): 1, (2,): 1}, {(1,): -1, (2,): -1}]),
    "PARTITION BY": (
        "SELECT b, COUNT(*) OVER (PARTITION BY a) AS n FROM t",
        [{(1, 2): 1, (2, 2): 1}, {(1, 2): -1, (2, 2): -1, (1, 1): 1}],
    ),
    "LIMIT": ("SELECT a, b FROM t ORDER BY a NULLS FIRST, b LIMIT 1", [{(None, 1): 1}]),
    "EXISTS": ("SELECT b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.a)", []),
    "IN": ("SELECT b FROM t WHERE a IN (SELECT x FROM u)", []),
    "scalar": (
        "SELECT b, (SELECT COUNT(*) FROM u WHERE u.x <=> t.a) AS n FROM t",
        [{(1, 0): 1, (2, 0): 1}, {(1, 0): -1, (2, 0): -1, (1, 1): 1}],
    ),
}


@pytest.mark.parametrize("operator", NULL_KEYS)
def test_null_keys(db: tidings.Database, operator: str) -> None:
    """Two rows with a NULL key; then one goes and a NULL comes on the other side."""
    query, expected = NULL_KEYS[operator]
    since = commit(db, ("t", [], [(None, 1), (None, 2)]))
    commit(db, ("t", [(None, 2)], []), ("u", [], [(None, 9)]))
    assert changes(db, query, since) == expected


# NOT IN

NOT_IN = "SELECT a FROM t WHERE a NOT IN (SELECT x FROM u)"


def test_not_in_of_nothing_keeps_null(db: tidings.Database) -> None:
    since = commit(db, ("t", [], [(1, 0), (None, 0)]))
    assert changes(db, NOT_IN, since) == [{(1,): 1, (None,): 1}]


def test_not_in_drops_null_on_the_left_once_there_is_any_row(db: tidings.Database) -> None:
    commit(db, ("t", [], [(1, 0), (None, 0)]))
    since = commit(db, ("u", [], [(7, 0)]))
    assert changes(db, NOT_IN, since) == [{(None,): -1}]
    since = commit(db, ("u", [(7, 0)], []))
    assert changes(db, NOT_IN, since) == [{(None,): 1}]


def test_not_in_drops_all_once_there_is_null_on_the_right(db: tidings.Database) -> None:
    commit(db, ("t", [], [(1, 0), (2, 0)]), ("u", [], [(2, 0)]))
    since = commit(db, ("u", [], [(None, 0)]))
    assert changes(db, NOT_IN, since) == [{(1,): -1}]
    since = commit(db, ("u", [(None, 0)], []))
    assert changes(db, NOT_IN, since) == [{(1,): 1}]


def test_correlated_not_in_with_nulls(db: tidings.Database) -> None:
    query = "SELECT a, b FROM t WHERE a NOT IN (SELECT x FROM u WHERE u.y = t.b)"
    since = commit(db, ("t", [], [(1, 1), (1, 2), (None, 1)]))
    commit(db, ("u", [], [(None, 1)]))
    commit(db, ("u", [(None, 1)], [(1, None), (1, 2)]))
    expected = [
        {(1, 1): 1, (1, 2): 1, (None, 1): 1},
        {(1, 1): -1, (None, 1): -1},
        {(1, 1): 1, (None, 1): 1, (1, 2): -1},
    ]
    assert changes(db, query, since) == expected


def test_not_in_as_a_value_has_three_answers(db: tidings.Database) -> None:
    query = "SELECT a FROM t WHERE (a NOT IN (SELECT x FROM u)) IS NULL"
    since = commit(db, ("t", [], [(1, 0), (2, 0), (None, 0)]))
    commit(db, ("u", [], [(1, 0)]))
    commit(db, ("u", [], [(None, 0)]))
    commit(db, ("u", [(1, 0), (None, 0)], []))
    assert changes(db, query, since) == [{(None,): 1}, {(2,): 1}, {(2,): -1, (None,): -1}]


# outer joins


@pytest.mark.parametrize("side", ["LEFT", "FULL"])
def test_a_match_that_comes_and_goes_inside_one_batch(db: tidings.Database, side: str) -> None:
    query = f"SELECT t.a, t.b, u.y FROM t {side} JOIN u ON t.a = u.x"
    since = commit(db, ("t", [], [(1, 0)]))
    commit(db, ("u", [], [(1, 5)]))
    commit(db, ("u", [(1, 5)], []))
    padded, matched = (1, 0, None), (1, 0, 5)
    assert changes(db, query, since) == [{padded: 1}, {padded: -1, matched: 1}, {matched: -1, padded: 1}]
    assert db.changes(query, since + 1).rows() == []


def test_a_match_that_comes_and_goes_inside_one_transaction(db: tidings.Database) -> None:
    commit(db, ("t", [], [(1, 0)]))
    since = commit(db, ("u", [], [(1, 5)]), ("u", [(1, 5)], []))
    assert changes(db, "SELECT t.a, u.y FROM t LEFT JOIN u ON t.a = u.x", since) == []


def test_one_of_two_matches_goes(db: tidings.Database) -> None:
    query = "SELECT t.a, u.y FROM t LEFT JOIN u ON t.a = u.x"
    commit(db, ("t", [], [(1, 0)]), ("u", [], [(1, 5), (1, 6)]))
    since = commit(db, ("u", [(1, 5)], []))
    commit(db, ("u", [(1, 6)], []))
    assert changes(db, query, since) == [{(1, 5): -1}, {(1, 6): -1, (1, None): 1}]


def test_a_row_of_nulls_that_matches_is_not_a_missing_match(db: tidings.Database) -> None:
    query = "SELECT t.a, u.x, u.y FROM t LEFT JOIN u ON t.a <=> u.x"
    commit(db, ("t", [], [(None, 0)]), ("u", [], [(None, None), (None, None)]))
    since = commit(db, ("u", [(None, None)], []))
    commit(db, ("u", [(None, None)], []))
    assert changes(db, query, since) == [{(None, None, None): -1}]


def test_both_sides_of_a_full_join_change_at_once(db: tidings.Database) -> None:
    query = "SELECT t.b, u.y FROM t FULL JOIN u ON t.a = u.x"
    commit(db, ("t", [], [(1, 1)]), ("u", [], [(2, 2)]))
    since = commit(db, ("t", [(1, 1)], [(2, 1)]), ("u", [], [(1, 9)]))
    assert changes(db, query, since) == [{(1, None): -1, (None, 2): -1, (1, 2): 1, (None, 9): 1}]


def test_aggregate_over_outer_join(db: tidings.Database) -> None:
    query = "SELECT t.a, COUNT(u.y) AS n, COUNT(*) AS m FROM t LEFT JOIN u ON t.a = u.x GROUP BY t.a"
    since = commit(db, ("t", [], [(1, 0)]))
    commit(db, ("u", [], [(1, 5)]))
    commit(db, ("u", [], [(1, 6)]))
    commit(db, ("u", [(1, 5), (1, 6)], []))
    expected = [{(1, 0, 1): 1}, {(1, 0, 1): -1, (1, 1, 1): 1}, {(1, 1, 1): -1, (1, 2, 2): 1}]
    assert changes(db, query, since) == [*expected, {(1, 2, 2): -1, (1, 0, 1): 1}]


# groups


def test_count_goes_to_zero_and_back(db: tidings.Database) -> None:
    query = "SELECT a, COUNT(*) AS n FROM t GROUP BY a"
    since = commit(db, ("t", [], [(1, 0)]))
    commit(db, ("t", [(1, 0)], []))
    commit(db, ("t", [], [(1, 7)]))
    assert changes(db, query, since) == [{(1, 1): 1}, {(1, 1): -1}, {(1, 1): 1}]
    up, down = {(0,): -1, (1,): 1}, {(1,): -1, (0,): 1}
    assert changes(db, "SELECT COUNT(*) AS n FROM t", since) == [up, down, up]


def test_the_least_row_is_deleted(db: tidings.Database) -> None:
    query = "SELECT a, MIN(b) AS least, MAX(b) AS most FROM t GROUP BY a"
    commit(db, ("t", [], [(1, 3), (1, 5), (1, 5), (1, 9)]))
    since = commit(db, ("t", [(1, 3)], []))
    commit(db, ("t", [(1, 5)], []))
    commit(db, ("t", [(1, 5)], []))
    assert changes(db, query, since) == [{(1, 3, 9): -1, (1, 5, 9): 1}, {(1, 5, 9): -1, (1, 9, 9): 1}]


def test_an_empty_group_goes(db: tidings.Database) -> None:
    query = "SELECT a, SUM(b) AS s FROM t GROUP BY a"
    commit(db, ("t", [], [(1, 3), (2, None)]))
    since = commit(db, ("t", [(1, 3), (2, None)], []))
    assert changes(db, query, since) == [{(1, 3): -1, (2, None): -1}]
    assert rows(db, query) == Counter()


def test_a_group_of_nulls_only_stays(db: tidings.Database) -> None:
    query = "SELECT a, SUM(b) AS s, COUNT(b) AS n FROM t GROUP BY a"
    commit(db, ("t", [], [(1, 3), (1, None)]))
    since = commit(db, ("t", [(1, 3)], []))
    assert changes(db, query, since) == [{(1, 3, 1): -1, (1, None, 0): 1}]


def test_a_row_moves_between_groups(db: tidings.Database) -> None:
    commit(db, ("t", [], [(1, 3)]))
    since = commit(db, ("t", [(1, 3)], [(2, 3)]))
    assert changes(db, "SELECT a, COUNT(*) AS n FROM t GROUP BY a", since) == [{(1, 1): -1, (2, 1): 1}]
    assert changes(db, "SELECT COUNT(*) AS n, SUM(b) AS s FROM t", since) == []


def test_grouping_without_keys_over_an_emptied_table(db: tidings.Database) -> None:
    query = "SELECT COUNT(*) AS n, SUM(b) AS s, MIN(b) AS m FROM t"
    assert rows(db, query) == Counter([(0, None, None)])
    since = commit(db, ("t", [], [(1, 3), (2, 4)]))
    commit(db, ("t", [(1, 3), (2, 4)], []))
    nothing, full = (0, None, None), (2, 7, 3)
    assert changes(db, query, since) == [{nothing: -1, full: 1}, {full: -1, nothing: 1}]
    assert rows(db, query) == Counter([nothing])


def test_having_without_keys_over_an_emptied_table(db: tidings.Database) -> None:
    query = "SELECT COUNT(*) AS n FROM t HAVING COUNT(*) = 0"
    since = commit(db, ("t", [], [(1, 3)]))
    commit(db, ("t", [(1, 3)], []))
    assert changes(db, query, since) == [{(0,): -1}, {(0,): 1}]


def test_two_levels_of_aggregation(db: tidings.Database) -> None:
    query = "SELECT n, COUNT(*) AS m FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) AS g GROUP BY n"
    since = commit(db, ("t", [], [(1, 0), (2, 0)]))
    commit(db, ("t", [], [(1, 1)]))
    commit(db, ("t", [(1, 0), (2, 0)], [(2, 5), (2, 6)]))
    expected = [{(1, 2): 1}, {(1, 2): -1, (1, 1): 1, (2, 1): 1}]
    assert changes(db, query, since) == expected


def test_a_total_of_totals(db: tidings.Database) -> None:
    query = "SELECT MAX(s) AS m FROM (SELECT a, SUM(b) AS s FROM t GROUP BY a) AS g"
    since = commit(db, ("t", [], [(1, 5), (2, 3)]))
    commit(db, ("t", [(1, 5)], []))
    commit(db, ("t", [(2, 3)], []))
    assert changes(db, query, since) == [{(None,): -1, (5,): 1}, {(5,): -1, (3,): 1}, {(3,): -1, (None,): 1}]


# ties


def test_ties_at_the_limit_are_broken_by_the_whole_row(db: tidings.Database) -> None:
    query = "SELECT a, b FROM t ORDER BY a LIMIT 2"
    since = commit(db, ("t", [], [(1, 3), (1, 2), (1, 1)]))
    commit(db, ("t", [(1, 1)], []))
    assert changes(db, query, since) == [{(1, 1): 1, (1, 2): 1}, {(1, 1): -1, (1, 3): 1}]


def test_equal_rows_at_the_limit(db: tidings.Database) -> None:
    query = "SELECT a, b FROM t ORDER BY a, b LIMIT 2"
    since = commit(db, ("t", [], [(1, 1), (1, 1), (1, 1)]))
    commit(db, ("t", [(1, 1)], []))
    commit(db, ("t", [(1, 1)], []))
    assert changes(db, query, since) == [{(1, 1): 2}, {(1, 1): -1}]


def test_ties_share_a_rank_and_not_a_number(db: tidings.Database) -> None:
    ranked = "SELECT a, b, RANK() OVER (ORDER BY a) AS r FROM t"
    numbered = "SELECT a, b, ROW_NUMBER() OVER (ORDER BY a) AS n FROM t"
    commit(db, ("t", [], [(2, 1)]))
    since = commit(db, ("t", [], [(1, 2), (1, 1)]))
    assert changes(db, ranked, since) == [{(1, 1, 1): 1, (1, 2, 1): 1, (2, 1, 1): -1, (2, 1, 3): 1}]
    assert changes(db, numbered, since) == [{(1, 1, 1): 1, (1, 2, 2): 1, (2, 1, 1): -1, (2, 1, 3): 1}]


def test_offset_beyond_the_end(db: tidings.Database) -> None:
    query = "SELECT a FROM t ORDER BY a LIMIT 1 OFFSET 1"
    since = commit(db, ("t", [], [(2, 0)]))
    commit(db, ("t", [], [(1, 0)]))
    commit(db, ("t", [(1, 0)], []))
    assert changes(db, query, since) == [{(2,): 1}, {(2,): -1}]


# values


def test_decimals_at_their_limits(db: tidings.Database) -> None:
    most, least = Decimal("99999999999999999999999999.99"), Decimal("-99999999999999999999999999.99")
    db.sql("CREATE TABLE money (k INT, x DECIMAL(28,2))")
    query = "SELECT k, SUM(x) AS s, MIN(x) AS least, MAX(x) AS most FROM money GROUP BY k"
    since = commit(db, ("money", [], [(1, most), (1, most), (1, least)]))
    commit(db, ("money", [(1, most), (1, least)], []))
    first = (1, most, least, most)
    assert changes(db, query, since) == [{first: 1}, {first: -1, (1, most, most, most): 1}]
    commit(db, ("money", [], [(1, most)]))
    twice = Decimal("199999999999999999999999999.98")
    assert rows(db, query) == Counter([(1, twice, most, most)])


def test_widest_decimals_as_keys(db: tidings.Database) -> None:
    most, least = Decimal("9" * 38), Decimal("-" + "9" * 38)
    db.sql("CREATE TABLE money (x DECIMAL(38,0))")
    query = "SELECT x, COUNT(*) AS n FROM money GROUP BY x"
    since = commit(db, ("money", [], [(most,), (least,)]))
    commit(db, ("money", [(least,)], [(most,)]))
    assert changes(db, query, since) == [{(most, 1): 1, (least, 1): 1}, {(most, 1): -1, (least, 1): -1, (most, 2): 1}]


def test_zero_of_either_sign_is_one_key(db: tidings.Database) -> None:
    db.sql("CREATE TABLE f (x DOUBLE)")
    since = commit(db, ("f", [], [(0.0,)]))
    commit(db, ("f", [], [(-0.0,)]))
    commit(db, ("f", [(0.0,)], []))
    grouped = changes(db, "SELECT x, COUNT(*) AS n FROM f GROUP BY x", since)
    assert grouped == [{(0.0, 1): 1}, {(0.0, 1): -1, (0.0, 2): 1}, {(0.0, 2): -1, (0.0, 1): 1}]
    assert changes(db, "SELECT DISTINCT x FROM f", since) == [{(0.0,): 1}]


def test_nan_is_one_key(db: tidings.Database) -> None:
    db.sql("CREATE TABLE f (x DOUBLE); CREATE TABLE g (x DOUBLE)")
    since = commit(db, ("f", [], [(NAN,), (NAN,)]))
    commit(db, ("f", [(NAN,)], []), ("g", [], [(NAN,)]))
    assert changes(db, "SELECT x, COUNT(*) AS n FROM f GROUP BY x", since) == [
        {("NaN", 2): 1},
        {("NaN", 2): -1, ("NaN", 1): 1},
    ]
    assert changes(db, "SELECT DISTINCT x FROM f", since) == [{("NaN",): 1}]
    assert changes(db, "SELECT x FROM f EXCEPT SELECT x FROM g", since) == [{("NaN",): 1}, {("NaN",): -1}]
    joined = "SELECT f.x, g.x IS NULL AS alone FROM f LEFT JOIN g ON f.x = g.x"
    assert changes(db, joined, since) == [{("NaN", True): 2}, {("NaN", True): -2, ("NaN", False): 1}]


# subqueries


def test_correlated_scalar_subquery_that_becomes_empty(db: tidings.Database) -> None:
    commit(db, ("t", [], [(1, 0)]), ("u", [], [(1, 5), (1, 3)]))
    since = commit(db, ("u", [(1, 5)], []))
    commit(db, ("u", [(1, 3)], []))
    commit(db, ("u", [], [(1, None)]))
    most = "SELECT a, (SELECT MAX(y) FROM u WHERE u.x = t.a) AS m FROM t"
    assert changes(db, most, since) == [{(1, 5): -1, (1, 3): 1}, {(1, 3): -1, (1, None): 1}]
    count = "SELECT a, (SELECT COUNT(*) + 1 FROM u WHERE u.x = t.a) AS n FROM t"
    assert changes(db, count, since) == [
        {(1, 3): -1, (1, 2): 1},
        {(1, 2): -1, (1, 1): 1},
        {(1, 1): -1, (1, 2): 1},
    ]


def test_coalesced_scalar_subquery_of_no_rows(db: tidings.Database) -> None:
    query = "SELECT a, (SELECT COALESCE(MAX(y), -1) FROM u WHERE u.x = t.a) AS m FROM t"
    since = commit(db, ("t", [], [(1, 0), (None, 0)]))
    commit(db, ("u", [], [(1, 5)]))
    commit(db, ("u", [(1, 5)], []))
    expected = [{(1, -1): 1, (None, -1): 1}, {(1, -1): -1, (1, 5): 1}, {(1, 5): -1, (1, -1): 1}]
    assert changes(db, query, since) == expected


def test_a_row_and_its_subquery_change_at_once(db: tidings.Database) -> None:
    query = "SELECT a, b FROM t WHERE b = (SELECT MAX(b) FROM t AS o WHERE o.a = t.a)"
    commit(db, ("t", [], [(1, 1), (1, 2)]))
    since = commit(db, ("t", [(1, 2)], [(1, 3), (2, 7)]))
    assert changes(db, query, since) == [{(1, 2): -1, (1, 3): 1, (2, 7): 1}]


# no change

UNMOVED = [
    "SELECT a, COUNT(*) AS n, SUM(b) AS s FROM t GROUP BY a",
    "SELECT COUNT(*) AS n FROM t",
    "SELECT DISTINCT a FROM t",
    "SELECT a FROM t EXCEPT SELECT x FROM u",
    "SELECT t.a, u.y FROM t LEFT JOIN u ON t.a = u.x",
    "SELECT t.a, u.y FROM t FULL JOIN u ON t.a = u.x",
    "SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n FROM t",
    "SELECT a, b FROM t ORDER BY a, b LIMIT 2",
    "SELECT a FROM t WHERE a NOT IN (SELECT x FROM u)",
    "SELECT a, (SELECT MAX(y) FROM u WHERE u.x = t.a) AS m FROM t",
]


@pytest.mark.parametrize("query", UNMOVED)
def test_delete_then_reinsert_and_update_to_the_same_value_are_no_change(db: tidings.Database, query: str) -> None:
    commit(db, ("t", [], [(1, 1), (1, 1), (2, None), (None, 3)]), ("u", [], [(1, 5), (None, 6)]))
    since = commit(db, ("t", [(1, 1), (2, None)], []), ("u", [(1, 5)], []), ("t", [], [(1, 1), (2, None)]))
    commit(db, ("u", [], [(1, 5)]))
    again = db.time
    with db.transaction() as tx:
        tx.update("t", [(1, 1), (None, 3)], [(1, 1), (None, 3)])
        tx.delete("u", [(1, 5)])
        tx.insert("u", [(1, 5)])
    assert changes(db, query, again) == []
    assert db.changes(query, since).rows() == []


# aggregates over an order


def test_collected_constants_leave_nulls_out(db: tidings.Database) -> None:
    query = "SELECT size(collect_list(NULLIF(1, 1))) AS n, size(collect_list(7)) AS m FROM t"
    since = commit(db, ("t", [], [(1, 1), (1, 1)]))
    assert changes(db, query, since) == [{(0, 0): -1, (0, 2): 1}]


# names


def test_a_name_of_the_list_comes_before_the_query_around(db: tidings.Database) -> None:
    query = "SELECT a FROM t WHERE b IN (SELECT c FROM (SELECT x AS b, b + 1 AS c FROM u) AS q)"
    since = commit(db, ("t", [], [(1, 8), (2, 2)]), ("u", [], [(7, 0)]))
    assert changes(db, query, since) == [{(1,): 1}]


# DuckDB


def test_two_conditions_on_one_column_of_a_limit(db: tidings.Database) -> None:
    """DuckDB's optimizer fails on the semi join of such a subquery."""
    db.sql("CREATE VIEW v AS SELECT a FROM t WHERE b IS NULL ORDER BY 1 LIMIT 2")
    since = commit(db, ("t", [], [(1, None), (2, None), (3, None)]))
    query = "SELECT z.a FROM v AS z WHERE z.a IN (SELECT y.a FROM v AS y WHERE z.a = y.a)"
    assert changes(db, query, since) == [{(1,): 1, (2,): 1}]


# GROUP BY


def test_grouping_of_a_subquery(db: tidings.Database) -> None:
    key = "(SELECT MAX(y) FROM u WHERE u.x = t.a)"
    since = commit(db, ("t", [], [(1, 1)]), ("u", [], [(1, 5)]))
    query = f"SELECT {key} AS k, GROUPING({key}) AS g FROM t GROUP BY ROLLUP ({key})"
    assert changes(db, query, since) == [{(5, 0): 1, (None, 1): 1}]
