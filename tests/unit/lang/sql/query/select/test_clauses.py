"""Clauses before they are bound."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tidings.lang.sql.parse import statements
from tidings.lang.sql.query.select.clauses import refused_clauses


def select(text: str) -> exp.Select:
    (tree,) = statements(text)
    assert isinstance(tree, exp.Select)
    return tree


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("SELECT a FROM t SORT BY a", "SORT BY"),
        ("SELECT a FROM t CLUSTER BY a", "CLUSTER BY"),
        ("SELECT a FROM t DISTRIBUTE BY a", "DISTRIBUTE BY"),
    ],
)
def test_refused_clauses(text: str, construct: str) -> None:
    refused = refused_clauses(select(text))
    assert refused is not None
    assert refused[0] == construct


def test_what_is_bound_is_not_refused() -> None:
    assert refused_clauses(select("SELECT DISTINCT a FROM t GROUP BY a ORDER BY a LIMIT 1")) is None
