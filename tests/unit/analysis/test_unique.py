"""Which columns tell the rows of a query apart."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.analysis.unique import is_unique

KEYS = {"t": (), "u": ("a",), "w": ("c", "e")}


@pytest.mark.parametrize(
    ("query", "columns", "expected"),
    [
        ("SELECT a, c FROM u WHERE c > 1", "a c", True),
        ("SELECT a, c FROM u", "c", False),
        ("SELECT c FROM u", "c", False),
        ("SELECT a + 1 AS a FROM u", "a", False),
        ("SELECT a FROM t", "a", False),
        ("SELECT DISTINCT a FROM t", "a", True),
        ("SELECT a, count(*) AS n FROM t GROUP BY a", "a", True),
        ("SELECT a, count(*) AS n FROM t GROUP BY a", "n", False),
        ("SELECT count(*) AS n FROM t", "n", True),
        ("SELECT e, c FROM w", "e", False),
        ("SELECT u.a FROM u JOIN w ON u.c = w.c", "a", False),
        ("SELECT u.a, w.c, w.e FROM u JOIN w ON u.c = w.c", "a c e", True),
        ("SELECT w.c, w.e FROM w JOIN u ON u.a = w.c", "c e", True),
        ("SELECT x.a FROM u AS x JOIN u AS y ON y.a = x.a", "a", True),
        ("SELECT y.a FROM u AS x JOIN u AS y ON y.a = x.a JOIN u AS z ON z.a = y.a", "a", False),
        ("SELECT x.a FROM u AS x JOIN u AS y ON y.a = x.a JOIN u AS z ON z.a = y.a", "a", True),
        ("SELECT x.a FROM u AS x LEFT JOIN u AS y ON y.a = x.a", "a", True),
        ("SELECT x.a FROM u AS x LEFT JOIN u AS y ON y.c = x.c", "a", False),
        ("SELECT x.a, y.a AS b FROM u AS x LEFT JOIN u AS y ON y.c = x.c", "a b", True),
        ("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.c = u.c)", "a", True),
        ("SELECT a FROM u UNION ALL SELECT a FROM u", "a", False),
        ("SELECT a FROM u EXCEPT SELECT a FROM t", "a", True),
        ("SELECT a FROM t EXCEPT ALL SELECT a FROM u", "a", False),
        ("SELECT a, row_number() OVER (ORDER BY a, c, d) AS n FROM u", "a", True),
        ("SELECT 1 AS one", "one", True),
    ],
)
def test_columns_that_tell_rows_apart(query: str, columns: str, expected: bool) -> None:
    assert is_unique(bound(query), columns.split(), KEYS, {}) == expected


def test_the_keys_of_a_view_are_those_of_its_query() -> None:
    views = {"v": bound("SELECT a, c FROM u WHERE c > 1")}
    assert is_unique(bound("SELECT a FROM v", views), ["a"], KEYS, views)
    assert not is_unique(bound("SELECT c FROM v", views), ["c"], KEYS, views)
