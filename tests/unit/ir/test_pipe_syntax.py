"""Pipes become plain SELECTs."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidSyntax
from tidings.lang.sql.parse import statements


@pytest.mark.parametrize(
    ("piped", "plain"),
    [
        ("FROM t |> WHERE a > 1 |> WHERE b > 1", "SELECT * FROM t WHERE a > 1 AND b > 1"),
        ("FROM t |> SELECT a |> WHERE a > 1", "SELECT * FROM (SELECT a FROM t) WHERE a > 1"),
        ("SELECT a + 1 AS a FROM t |> WHERE a > 1", "SELECT * FROM (SELECT a + 1 AS a FROM t) WHERE a > 1"),
        ("FROM t |> SELECT DISTINCT a", "SELECT DISTINCT a FROM t"),
        ("FROM t |> EXTEND a + 1 AS c |> WHERE c > 1", "SELECT * FROM (SELECT *, a + 1 AS c FROM t) AS t WHERE c > 1"),
        ("FROM t |> SET a = 1, b = a", "SELECT * REPLACE (a AS b) FROM (SELECT * REPLACE (1 AS a) FROM t)"),
        ("FROM t |> DROP a, b", "SELECT * EXCEPT (a, b) FROM t"),
        ("FROM t |> AS x |> WHERE x.a > 1", "SELECT * FROM (SELECT * FROM t) AS x WHERE x.a > 1"),
        ("FROM t |> AGGREGATE SUM(b) AS s GROUP BY a + 1 AS c", "SELECT a + 1 AS c, SUM(b) AS s FROM t GROUP BY a + 1"),
        ("FROM t |> AGGREGATE COUNT(*)", "SELECT COUNT(*) FROM t"),
        ("FROM t |> AGGREGATE GROUP BY a", "SELECT a FROM t GROUP BY a"),
        ("FROM t |> JOIN u ON t.a = u.x |> SELECT u.y", "SELECT u.y FROM t JOIN u ON t.a = u.x"),
        (
            "FROM t |> WHERE a > 1 |> RIGHT JOIN u ON t.a = u.x",
            "SELECT * FROM (SELECT * FROM t WHERE a > 1) AS t RIGHT JOIN u ON t.a = u.x",
        ),
        ("FROM t |> UNION ALL TABLE u", "SELECT * FROM t UNION ALL SELECT * FROM u"),
        (
            "SELECT a FROM t UNION SELECT x FROM u |> WHERE a > 1",
            "SELECT * FROM (SELECT a FROM t UNION SELECT x FROM u) WHERE a > 1",
        ),
        ("FROM t |> ORDER BY a |> LIMIT 2 |> SELECT a", "SELECT a FROM (SELECT * FROM t ORDER BY a LIMIT 2) AS t"),
        ("FROM t |> ORDER BY a LIMIT 2 OFFSET 1", "SELECT * FROM t ORDER BY a LIMIT 2 OFFSET 1"),
        ("FROM t |> LIMIT 2 |> LIMIT 1", "SELECT * FROM (SELECT * FROM t LIMIT 2) AS t LIMIT 1"),
        ("VALUES (1) |> WHERE col1 > 1", "SELECT * FROM VALUES (1) WHERE col1 > 1"),
        ("FROM t |> TABLESAMPLE (1 ROWS)", "SELECT * FROM (SELECT * FROM t) TABLESAMPLE (1 ROWS)"),
        (
            "FROM t |> SELECT SUM(a) OVER w AS s WINDOW w AS (PARTITION BY b)",
            "SELECT SUM(a) OVER w AS s FROM t WINDOW w AS (PARTITION BY b)",
        ),
    ],
)
def test_a_pipe_is_a_select(piped: str, plain: str) -> None:
    assert statements(piped)[0].sql("spark") == plain


@pytest.mark.parametrize(
    "piped",
    [
        "FROM t |>",
        "FROM t |> WINDOW w AS ()",
        "FROM t |> SELECT",
        "FROM t |> EXTEND",
        "FROM t |> SET a",
        "FROM t |> AGGREGATE",
        "FROM t |> AGGREGATE SUM(a) GROUP BY 1",
        "FROM t |> AGGREGATE SUM(a) GROUP BY ROLLUP (b)",
    ],
)
def test_what_is_no_operator_is_refused(piped: str) -> None:
    with pytest.raises(InvalidSyntax):
        statements(piped)
