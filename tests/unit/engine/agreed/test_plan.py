"""What both engines agree on in whole plans."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.delta.plan import compile_program
from tidings.engine.agreed.plan import Disagreement, agreed_plan
from tidings.errors import SparkNeeded

AGREED = [
    "SELECT a + 1 AS x FROM t WHERE a < 3",
    "SELECT t.a FROM t JOIN u ON u.a = t.a AND u.c > t.a",
    "SELECT a, COUNT(*) AS n, SUM(c) AS s, MIN(d) AS m, COUNT(DISTINCT c) AS d FROM u GROUP BY a",
    "SELECT a, SUM(d) FILTER (WHERE c > 1) AS s FROM u GROUP BY a HAVING COUNT(*) > 1",
    "SELECT DISTINCT a FROM t",
    "SELECT a FROM t EXCEPT SELECT a FROM u",
    "SELECT t.a, u.a AS x FROM t LEFT JOIN u ON u.a = t.a",
    "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
    "SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY c) AS n, LAG(c) OVER (PARTITION BY a ORDER BY c) AS l FROM u",
    "SELECT a, SUM(c) OVER (PARTITION BY a) AS s FROM u",
    "SELECT a FROM t ORDER BY a LIMIT 3",
    "SELECT d FROM u WHERE d > d",
    "SELECT COLLECT_LIST(a) AS x FROM t",
    "SELECT CAST(CAST(a AS DOUBLE) AS STRING) AS x FROM t",
    "SELECT SUM(CAST(c AS DOUBLE)) OVER (PARTITION BY a) AS x FROM u",
    "SELECT LISTAGG(DISTINCT a, '-') AS x, MODE(a) AS m, MEDIAN(a) AS n FROM t",
    "SELECT TRANSFORM(ARRAY(1, 2), (x, i) -> x + i) AS x FROM t",
]
NOT_AGREED = {
    "SELECT EXP(a) AS x FROM t": "EXP(a)",
    "SELECT SUM(CAST(c AS DOUBLE)) OVER (PARTITION BY a ORDER BY c) AS x FROM u": "SUM(CAST(u.c AS DOUBLE))",
    "SELECT SUM(LN(c)) AS x FROM u": "LN(c)",
    "SELECT MAX(MAP(a, s)) AS x FROM t": "MAX(MAP(a, s))",
    "SELECT TRANSFORM(ARRAY(1, 2), x -> x + a) AS x FROM t": "TRANSFORM(ARRAY(1, 2), x -> x + a)",
}


def found(query: str) -> str | None:
    """What only Spark evaluates in a query: seen when it is bound, or in the plan of its changes."""
    try:
        plan = bound(query)
    except SparkNeeded as refused:
        return str(refused.parameters["expression"])
    steps = compile_program("v", plan, frozenset({"t", "u", "w"}), {}).steps
    plans = (agreed_plan(s.plan) for s in steps)
    return next((p.what for p in plans if isinstance(p, Disagreement)), None)


@pytest.mark.parametrize("query", AGREED)
def test_agreed(query: str) -> None:
    assert found(query) is None


@pytest.mark.parametrize("query", NOT_AGREED)
def test_not_agreed(query: str) -> None:
    assert NOT_AGREED[query] in (found(query) or "nothing")
