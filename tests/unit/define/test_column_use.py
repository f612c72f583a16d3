"""Who uses a column: only what the rows of a query depend on counts."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.define.column_use import columns_read


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT a FROM u", {"a"}),
        ("SELECT * FROM u", {"a", "c", "d"}),
        ("SELECT a FROM (SELECT * FROM u) AS q WHERE c > 1", {"a", "c"}),
        ("SELECT count(*) AS n FROM u", set()),
        ("SELECT count(*) AS n FROM u GROUP BY c", {"c"}),
        ("SELECT a FROM u UNION ALL SELECT c FROM u", {"a", "c"}),
        ("SELECT a, c FROM u EXCEPT SELECT c, a FROM u", {"a", "c"}),
        ("SELECT x.a FROM u AS x JOIN u AS y ON x.c = y.a", {"a", "c"}),
        ("SELECT x.a FROM u AS x LEFT JOIN u AS y ON x.a = y.c", {"a", "c"}),
        ("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM u AS y WHERE y.c = u.a)", {"a", "c"}),
        ("SELECT a, sum(c) OVER (PARTITION BY a) AS s FROM u", {"a", "c"}),
        ("SELECT DISTINCT a FROM u", {"a"}),
    ],
)
def test_columns_that_a_query_reads(query: str, read: set[str]) -> None:
    plan = bound(query)
    assert columns_read(plan, "u") == read
    assert columns_read(plan, "other") == frozenset()
