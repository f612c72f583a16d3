"""Which relations have one row at most."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.analysis.cardinality import at_most_one_row


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) AS n FROM u HAVING count(*) > 1", True),
        ("SELECT count(*) AS n FROM u GROUP BY a", False),
        ("SELECT 1 AS one", True),
        ("SELECT * FROM VALUES (1), (2)", False),
        ("SELECT q.n, r.m FROM (SELECT max(a) AS n FROM u) AS q, (SELECT max(c) AS m FROM w) AS r", True),
        ("SELECT q.n FROM (SELECT max(a) AS n FROM u) AS q LEFT JOIN u ON u.a = q.n", False),
        ("SELECT max(a) AS n FROM u UNION ALL SELECT 1", False),
        ("SELECT max(a) AS n FROM u EXCEPT SELECT 1", True),
    ],
)
def test_at_most_one_row(query: str, expected: bool) -> None:
    assert at_most_one_row(bound(query)) == expected
