"""Aggregates without GROUP BY in subqueries: one row for every value around, and when the domain can go."""

from __future__ import annotations

from typing import Any

import pytest

import tidings
from tests.unit.schema import bound
from tidings.ir.relation import Aggregate, OuterJoin, SemiJoin
from tidings.ir.traverse import walk

COUNT = "SELECT count(*) AS n FROM w WHERE w.c = u.c"


def has_domain(query: str) -> bool:
    return any(isinstance(n, Aggregate) and n.alias.startswith("domain") for n in walk(bound(query)))


@pytest.mark.parametrize(
    "condition",
    [
        f"EXISTS ({COUNT})",
        f"NOT EXISTS ({COUNT} HAVING count(*) > 1)",
        f"a IN ({COUNT})",
        f"a NOT IN ({COUNT})",
        f"a >= ALL ({COUNT})",
        f"({COUNT}) > 1",
    ],
)
def test_a_list_over_a_total_needs_no_domain(condition: str) -> None:
    query = f"SELECT a FROM u WHERE {condition}"
    assert not has_domain(query)
    assert not any(isinstance(n, SemiJoin) for n in walk(bound(query)))
    assert sum(isinstance(n, OuterJoin) for n in walk(bound(query))) == 1


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT a FROM u WHERE a IN ({COUNT} UNION SELECT 7)",
        f"SELECT a FROM u WHERE EXISTS (SELECT DISTINCT n FROM ({COUNT}) AS q)",
        f"SELECT a FROM u, LATERAL ({COUNT}) AS q",
    ],
)
def test_elsewhere_the_domain_gives_the_row(query: str) -> None:
    assert has_domain(query)


ROWS = {"l": [(1, 1), (2, 1), (None, 3), (3, 0)], "r": [(1, 4), (1, None), (3, 2)]}

OTHERS: dict[str, list[tuple[Any, ...]]] = {
    "SELECT k, (SELECT collect_list(v) FROM r WHERE r.k = l.k) FROM l": [(1, [4]), (2, []), (None, []), (3, [2])],
    "SELECT k, (SELECT bit_or(v) FROM r WHERE r.k = l.k) FROM l": [(1, 4), (2, None), (None, None), (3, 2)],
    "SELECT k, (SELECT count(v) + l.v FROM r WHERE r.k = l.k AND r.k = l.v) FROM l": [
        (1, 2),
        (2, 1),
        (None, 3),
        (3, 0),
    ],
    "SELECT k, (SELECT 7 FROM r WHERE r.k = l.k HAVING 1 < 2) FROM l": [(1, 7), (2, 7), (None, 7), (3, 7)],
    "SELECT k, (SELECT count(*) FROM r WHERE r.k = l.k UNION ALL SELECT v FROM r WHERE r.k > l.k ORDER BY 1 LIMIT 1) "
    "FROM l": [(1, 2), (2, 0), (None, 0), (3, 1)],
    "SELECT k, (SELECT count(*) FROM r WHERE r.k = l.k GROUP BY GROUPING SETS (())) FROM l": [
        *[(1, 2), (2, 0), (None, 0), (3, 1)]
    ],
    "SELECT k, q.n FROM l, LATERAL (SELECT max(v) AS n FROM r WHERE r.k = l.k UNION VALUES (9)) AS q": [
        *[(1, 4), (1, 9), (2, None), (2, 9), (None, None), (None, 9), (3, 2), (3, 9)]
    ],
    "SELECT k, coalesce((SELECT max(v) FROM r WHERE r.k = l.k HAVING count(*) < 2), -1) FROM l": [
        *[(1, -1), (2, -1), (None, -1), (3, 2)]
    ],
    "SELECT count(*) AS n FROM l HAVING EXISTS (SELECT count(*) FROM r HAVING count(*) > 100)": [],
    "SELECT k FROM l GROUP BY k HAVING (SELECT count(*) FROM r WHERE r.k = l.k) = 0": [(2,), (None,)],
    "SELECT l.k, r.v FROM l LEFT JOIN r ON l.k = r.k AND (SELECT count(*) FROM r AS s WHERE s.k = l.v) = 0": [
        *[(1, None), (2, None), (None, None), (3, 2)]
    ],
    "SELECT k FROM l WHERE (SELECT max(n) FROM (SELECT count(*) AS n FROM r WHERE r.k = l.k AND r.v > l.v) AS q) = 0": [
        *[(2,), (None,)]
    ],
    "SELECT k FROM l WHERE k IN (SELECT count(*) FROM r WHERE r.v > (SELECT count(*) FROM r AS s WHERE s.k = l.k))": [
        *[(1,), (2,)]
    ],
}


@pytest.mark.parametrize("query", OTHERS)
def test_a_total_says_what_it_says_of_no_rows(query: str) -> None:
    with tidings.open(engine="duckdb") as db:
        for table, rows in ROWS.items():
            db.sql(f"CREATE TABLE {table} (k INT, v INT)")
            with db.transaction() as tx:
                tx.insert(table, rows)
        found = [tuple(r.values()) for r in db.query(query).rows()]
        assert sorted(found, key=repr) == sorted(OTHERS[query], key=repr)
