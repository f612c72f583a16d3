"""Aggregates over the rows of the query around a subquery."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.errors import UnsupportedConstruct


@pytest.mark.parametrize(
    "query",
    [
        "SELECT u.a FROM u GROUP BY u.a HAVING EXISTS (SELECT 1 FROM w WHERE w.c = max(u.c))",
        "SELECT u.a, (SELECT max(u.c)) AS m FROM u GROUP BY u.a",
        "SELECT u.a, (SELECT count(*) FROM w HAVING count(*) > sum(u.c)) AS m FROM u GROUP BY u.a",
    ],
)
def test_they_are_refused_by_name(query: str) -> None:
    with pytest.raises(UnsupportedConstruct) as refused:
        bound(query)
    assert refused.value.parameters["construct"] == "an aggregate of the query around, inside a subquery"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT u.a, (SELECT max(w.c) FROM w WHERE w.c = u.c) AS m FROM u",
        "SELECT u.a, (SELECT max(w.c + u.c) FROM w) AS m FROM u",
        "SELECT u.a, (SELECT count(*) FROM w WHERE w.c > u.c) AS m FROM u",
    ],
)
def test_those_of_its_own_rows_are_not(query: str) -> None:
    bound(query)
