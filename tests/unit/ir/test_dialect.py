"""What the dialect reads beyond sqlglot's own."""

from __future__ import annotations

import pytest

from tidings.lang.sql.parse import statements


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("SELECT smallint(a), decimal(b)", "SELECT CAST(a AS SMALLINT), CAST(b AS DECIMAL(10, 0))"),
        ("SELECT bigint(a, b)", "SELECT BIGINT(a, b)"),
        ("SELECT 1 FROM t GROUP BY window(ts, '1 day')", "SELECT 1 FROM t GROUP BY WINDOW(ts, '1 day')"),
        ("SELECT 1 FROM t GROUP BY a WINDOW w AS (ORDER BY a)", "SELECT 1 FROM t GROUP BY a WINDOW w AS (ORDER BY a)"),
        ("TABLE t", "SELECT * FROM t"),
    ],
)
def test_spark_reads_it_so(text: str, read: str) -> None:
    assert statements(text)[0].sql("spark") == read
