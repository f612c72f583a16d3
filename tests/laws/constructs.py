"""Queries, one or more per construct of the SQL front end, and a small history to try them on.

``SPARK`` are queries whose answer is Spark's own.  Those of ``OURS`` Spark does not read, or it has several answers.
"""

from __future__ import annotations

from typing import Any

from tests.laws import form_constructs

Row = tuple[Any, ...]
Commit = list[tuple[str, list[Row], list[Row]]]
"""Per table the rows that go and the rows that come."""

SCHEMA = {
    "t": "a INT, b INT, s STRING",
    "u": "x INT, y INT",
    "w": "k INT, arr ARRAY<INT>, m MAP<STRING, INT>",
    **form_constructs.SCHEMA,
}

BASE: dict[str, list[Row]] = {
    "t": [(1, 1, "x"), (1, 2, "y"), (1, 2, "y"), (2, None, None), (None, 3, "x"), (None, None, "z")],
    "u": [(1, 1), (1, 5), (2, 2), (None, 4)],
    "w": [(1, [1, 2, 2, None], [("p", 1), ("q", None)]), (2, [], []), (3, None, None)],
    **form_constructs.BASE,
}

_COMMITS: list[Commit] = [
    [("t", [], [(2, 7, "y"), (3, 3, "")]), ("u", [], [(3, None)])],
    [("t", [(1, 2, "y")], [(1, 9, "q")]), ("w", [(2, [], [])], [(2, [4, 4], [("r", 2)])])],
    [("u", [(None, 4), (1, 1)], [(2, 1)])],
    [("t", [(None, 3, "x"), (2, None, None)], [(None, 8, None)]), ("w", [(3, None, None)], [(4, [None], [])])],
    [("u", [(1, 5), (2, 2), (2, 1), (3, None)], [])],
    [("t", [(2, 7, "y"), (3, 3, ""), (1, 1, "x"), (1, 2, "y"), (1, 9, "q"), (None, None, "z"), (None, 8, None)], [])],
    [("t", [], [(1, 1, "a")]), ("u", [], [(1, 1), (1, None)])],
]
COMMITS: list[Commit] = [
    commit + (form_constructs.CHANGES[n] if n < len(form_constructs.CHANGES) else [])
    for n, commit in enumerate(_COMMITS)
]

JOINS = """
SELECT t.a, u.y, v.b FROM (t JOIN u ON t.a = u.x) JOIN t v ON v.b = u.y
SELECT q.a, q.y, v.b FROM (t JOIN u ON t.a = u.x) AS q JOIN t v ON v.b = q.y
SELECT v.b, t.a, u.y FROM t v LEFT JOIN (t JOIN u ON t.a = u.x) ON v.b = u.y
SELECT v.b, t.a, u.y FROM t v FULL JOIN (t JOIN u ON t.a = u.x) ON v.b = u.y
SELECT v.b, t.a, u.y FROM (t JOIN (u JOIN t v ON u.y = v.b) ON t.a = u.x)
SELECT t.b, v.k FROM t JOIN ((VALUES (1), (2), (NULL)) AS v (k) LEFT JOIN u ON u.x = v.k) ON t.a = v.k
""".strip().splitlines()

GROUPINGS = """
SELECT a, s, count(*) AS n, sum(b) AS total FROM t GROUP BY ROLLUP (a, s)
SELECT a, s, count(*) AS n, grouping(a) AS ga, grouping(s) AS gs, grouping_id() AS g FROM t GROUP BY a, s WITH CUBE
SELECT a, s, count(*) AS n, grouping_id(a, s) AS g FROM t GROUP BY a, s GROUPING SETS ((a), (s), (a))
SELECT a, s, b, max(b) AS m FROM t GROUP BY a, CUBE (s, b)
SELECT a, s, max(b) AS m FROM t GROUP BY GROUPING SETS ((a, s), ROLLUP (a, s), GROUPING SETS ((s), ()))
SELECT a, s, max(b) AS m FROM t GROUP BY CUBE ((a, s)), ROLLUP (b)
SELECT a, sum(a) AS total FROM t GROUP BY a WITH ROLLUP HAVING count(*) > 1
SELECT a + 1 AS k, sum(a) AS total FROM t GROUP BY ROLLUP (a + 1)
SELECT a % 2 AS k, s, count(*) AS n FROM t GROUP BY ROLLUP (1, s) ORDER BY n DESC, k, s LIMIT 3
SELECT a, s, rank() OVER (PARTITION BY grouping(s) ORDER BY sum(b)) AS r FROM t GROUP BY ROLLUP (a, s)
SELECT count(*) AS n FROM t GROUP BY GROUPING SETS (())
SELECT count(*) AS n FROM t GROUP BY GROUPING SETS ((), ())
SELECT s, x FROM (SELECT s, count(*) AS x, grouping(s) AS g FROM t GROUP BY ROLLUP (s)) AS q WHERE g = 1
SELECT a, (SELECT max(n) FROM (SELECT count(*) AS n FROM u GROUP BY ROLLUP (x)) AS q) AS m FROM t
""".strip().splitlines()

AGGREGATES = """
SELECT a, sort_array(collect_list(b)) AS l FROM t GROUP BY a
SELECT a, sort_array(collect_set(s), false) AS l FROM t GROUP BY a
SELECT a, listagg(s, '-') WITHIN GROUP (ORDER BY s) AS l FROM t GROUP BY a
SELECT a, listagg(DISTINCT s, ',') WITHIN GROUP (ORDER BY s DESC) AS l FROM t GROUP BY a
SELECT listagg(s) WITHIN GROUP (ORDER BY b, s) FILTER (WHERE b > 1) AS l FROM t
SELECT max_by(s, b) AS m, min_by(a, b) AS l FROM t WHERE a = 1
SELECT a, percentile(b, 0.3) AS p, median(b) AS m, percentile(DISTINCT b, array(0, 0.5, 0.9)) AS ps FROM t GROUP BY a
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY b DESC) AS p FROM t
SELECT percentile_cont(0.6) WITHIN GROUP (ORDER BY a) AS q FROM t
SELECT percentile_disc(0.4) WITHIN GROUP (ORDER BY b) AS p FROM t
SELECT percentile_disc(0) WITHIN GROUP (ORDER BY b DESC) AS q FROM t
SELECT mode() WITHIN GROUP (ORDER BY s) AS m, mode(a, true) AS n, mode() WITHIN GROUP (ORDER BY b DESC) AS o FROM t
SELECT s, median(b) FILTER (WHERE a = 1) AS m FROM t GROUP BY s
SELECT a, (SELECT sort_array(collect_list(y)) FROM u WHERE u.x = t.a) AS l FROM t
SELECT a, (SELECT coalesce(median(y), 0) FROM u WHERE u.x = t.a) AS m FROM t
SELECT a, (SELECT coalesce(percentile_disc(0.4) WITHIN GROUP (ORDER BY y), 0) FROM u WHERE u.x = t.a) AS m FROM t
SELECT a, any(b > 2) AS o, some(b > 2) FILTER (WHERE s = 'x') AS p, every(b > 1) AS q FROM t GROUP BY a
""".strip().splitlines()

ORDERED_AGGREGATES = """
SELECT a, collect_list(b) AS l, collect_set(b) AS d, array_agg(DISTINCT s) AS s FROM t GROUP BY a
SELECT collect_list(b) FILTER (WHERE a = 1) AS l, collect_list(named_struct('b', coalesce(a, 0))) AS r FROM t
SELECT a, collect_list(b) OVER (PARTITION BY a) AS l, max_by(s, b) OVER (PARTITION BY a) AS m FROM t
SELECT a, collect_list(b) OVER (PARTITION BY a ORDER BY s ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS l FROM t
SELECT a, listagg(s) AS l, listagg(b, ',') AS i, string_agg(DISTINCT b, ',') AS d FROM t GROUP BY a
SELECT a, max_by(s, b) AS m, min_by(b, s) AS n, max_by(b, 1) FILTER (WHERE b > 1) AS o FROM t GROUP BY a
SELECT a, mode(b) AS m, mode(s) FILTER (WHERE b > 0) AS n FROM t GROUP BY a HAVING size(collect_list(b)) > 0
SELECT a, (SELECT collect_list(y) FROM u WHERE u.x = t.a) AS l FROM t
SELECT a, listagg('x', '-') AS l, mode(1) AS m FROM t GROUP BY a
SELECT a, collect_list(NULLIF(1, 1)) AS l, size(collect_set(NULLIF(1, 1)) FILTER (WHERE b > 1)) AS s FROM t GROUP BY a
SELECT s, array_agg(a) AS l FROM t GROUP BY ROLLUP (s) ORDER BY max_by(b, a), s LIMIT 2
""".strip().splitlines()

SUBQUERIES = """
SELECT a, b FROM t WHERE (a, b) IN (SELECT x, y FROM u)
SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT x, y FROM u)
SELECT a, b FROM t WHERE struct(a, b) NOT IN (SELECT x, y FROM u WHERE u.x > t.a)
SELECT a, b FROM t WHERE NOT (a IS NULL OR (a, b) NOT IN (SELECT x, y FROM u))
SELECT (SELECT max(y) FROM u WHERE u.x = t.a) AS m, count(*) AS n FROM t GROUP BY (SELECT max(y) FROM u WHERE u.x = t.a)
SELECT b > (SELECT min(y) FROM u) AS k, count(*) AS n FROM t GROUP BY ROLLUP (k)
SELECT a, b FROM t WHERE EXISTS (SELECT 1 FROM (SELECT y FROM u WHERE u.x = t.a) AS q WHERE q.y > 1)
SELECT a, (SELECT max(z) FROM (SELECT y + 1 AS z FROM u WHERE u.x = t.a) AS q) AS m FROM t
SELECT a, (SELECT max(n) FROM (SELECT count(*) AS n FROM u WHERE u.x = t.a) AS q) AS m FROM t
""".strip().splitlines()

ON = """
SELECT t.a, u.y FROM t JOIN u ON t.a = u.x AND t.b IN (SELECT y FROM u)
SELECT t.a, u.y FROM t JOIN u ON t.a = u.x AND EXISTS (SELECT 1 FROM t v WHERE v.b > u.y)
SELECT t.a, u.y FROM t LEFT JOIN u ON t.a = u.x AND u.y NOT IN (SELECT b FROM t WHERE b > 2)
SELECT t.a, u.y FROM t LEFT JOIN u ON t.a = u.x AND t.b IN (SELECT y FROM u)
SELECT a, b FROM t WHERE EXISTS (SELECT 1 FROM u JOIN u v ON u.x = v.x AND v.y > t.b)
""".strip().splitlines()

LATERAL = """
SELECT t.a, t.b, q.y FROM t, LATERAL (SELECT y FROM u WHERE u.x = t.a) AS q
SELECT t.a, t.b, q.z FROM t JOIN LATERAL (SELECT y FROM u WHERE u.x >= t.a) AS q (z) ON q.z > t.b
SELECT t.a, t.b, q.y FROM t LEFT JOIN LATERAL (SELECT y FROM u WHERE u.x = t.a AND u.y > t.b) AS q ON true
SELECT t.a, q.n, q.m FROM t, LATERAL (SELECT count(*) AS n, max(y) AS m FROM u WHERE u.x = t.a) AS q
SELECT t.a, q.n, q.m FROM t, LATERAL (SELECT count(*) + 1 AS n, max(y) AS m FROM u WHERE u.x > t.a) AS q WHERE m > 0
SELECT t.a, q.y FROM t, LATERAL (SELECT y FROM u WHERE u.x = t.a ORDER BY y DESC LIMIT 1) AS q
SELECT t.a, q.y FROM t, LATERAL (SELECT y FROM u) AS q
SELECT u.x, q.z FROM u, LATERAL (SELECT upper(s) || CAST(u.x AS STRING) AS z FROM t WHERE t.a = u.x) AS q
SELECT t.a, q.c, r.d FROM t, LATERAL (SELECT t.a + t.b AS c) AS q, LATERAL (SELECT q.c + 1 AS d) AS r
""".strip().splitlines()

GENERATORS = """
SELECT k, x FROM w LATERAL VIEW explode(arr) e AS x
SELECT * FROM w LATERAL VIEW OUTER explode(arr) e AS x
SELECT k, p, x FROM w LATERAL VIEW posexplode(arr) e AS p, x WHERE x > 1
SELECT k, key, value FROM w LATERAL VIEW explode(m) e
SELECT k, p, n, v FROM w LATERAL VIEW OUTER posexplode(m) e AS p, n, v
SELECT k, e.x, f.y FROM w LATERAL VIEW explode(arr) e AS x LATERAL VIEW explode(array(x, k)) f AS y
SELECT k, c.i, c.j FROM w LATERAL VIEW inline(array(named_struct('i', k, 'j', 'a'), named_struct('i', 7, 'j', 'b'))) c
SELECT a, i, j FROM t LATERAL VIEW stack(2, a, 'a', b, 'b') s AS i, j
SELECT a, i, j FROM t LATERAL VIEW OUTER stack(2, a, 'a', b, 'b') s AS i, j
SELECT explode(arr) AS x, k FROM w
SELECT k, explode_outer(arr) AS x, posexplode(m) AS (p, n, v) FROM w
SELECT *, posexplode_outer(arr) FROM w
SELECT DISTINCT explode(arr) AS x FROM w WHERE k < 4
SELECT a, explode(collect_set(b)) AS x FROM t GROUP BY a
SELECT a, stack(2, a, 1, b) AS (i, j) FROM t
SELECT inline(array(struct(a AS i, b AS j), struct(b AS i, a AS j))) FROM t
SELECT w.k, e.x FROM w, LATERAL explode(arr) AS e (x)
SELECT w.k, e.x FROM w LEFT JOIN LATERAL explode(arr) AS e (x) ON true
SELECT w.k, e.x, t.b FROM w JOIN LATERAL explode(arr) AS e (x) ON x > 1 JOIN t ON t.a = e.x
SELECT x, b FROM explode(array(1, 2, 2)) AS e (x) JOIN t ON t.a = e.x
SELECT x, count(*) AS n FROM w LATERAL VIEW explode(arr) e AS x GROUP BY x
SELECT b FROM t WHERE a IN (SELECT explode(arr) FROM w)
""".strip().splitlines()

PIVOTS = """
SELECT * FROM t PIVOT (sum(b) FOR a IN (1, 2 AS two))
SELECT * FROM t PIVOT (sum(b) AS s, count(*) AS n FOR (a, s) IN ((1, 'x') AS one, (2, 'y') AS two))
SELECT * FROM t PIVOT (sum(b), count(*) FOR s IN ('x', 'y'))
SELECT * FROM t PIVOT (max(b) AS m FOR s IN ('x', NULL))
SELECT p.x, p.a FROM (SELECT a, b, s FROM t WHERE b > 0) PIVOT (count(b) FOR s IN ('x', 'y')) AS p WHERE p.a = 1
SELECT * FROM t UNPIVOT (v FOR n IN (a AS first, b))
SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a, b))
SELECT * FROM t UNPIVOT ((v, w) FOR n IN ((a, b) AS ab, (b, a)))
SELECT n, sum(v) AS total FROM t UNPIVOT (v FOR n IN (a, b)) GROUP BY n
""".strip().splitlines()

TOGETHER = """
SELECT x, k, count(*) AS n FROM w LATERAL VIEW explode(arr) e AS x GROUP BY ROLLUP (x, k)
SELECT b, x, rank() OVER (PARTITION BY a ORDER BY x) AS r FROM t JOIN w ON t.a = w.k LATERAL VIEW explode(w.arr) e AS x
SELECT t.a, q.x FROM t LEFT JOIN (SELECT k, x FROM w LATERAL VIEW explode(arr) e AS x) AS q ON t.a = q.x
SELECT t.b FROM t WHERE EXISTS (SELECT 1 FROM w LATERAL VIEW explode(arr) e AS x WHERE e.x = t.a AND w.k < 3)
SELECT * FROM (SELECT t.a, t.s, u.y FROM t JOIN u ON t.a = u.x) AS j PIVOT (sum(y) FOR s IN ('x', 'y'))
SELECT a, sum(b) AS total FROM t GROUP BY a HAVING sum(b) IN (SELECT y FROM u) OR max(b) > (SELECT avg(y) FROM u)
SELECT t.a, q.x, q.n FROM t, LATERAL (SELECT x, count(*) AS n FROM u WHERE u.x = t.a GROUP BY x) AS q
SELECT t.a, q.y, q.r FROM t, LATERAL (SELECT y, rank() OVER (ORDER BY y) AS r FROM u WHERE u.x >= t.a) AS q
SELECT t.a, q.z FROM t LEFT JOIN LATERAL (SELECT DISTINCT y + t.b AS z FROM u WHERE u.x = t.a) AS q ON q.z > 3
SELECT n, count(*) AS m FROM (SELECT a, s, count(*) AS n FROM t GROUP BY CUBE (a, s)) AS g GROUP BY n
SELECT a FROM (SELECT a, grouping(a) AS g FROM t GROUP BY ROLLUP (a)) AS r WHERE g = 0 AND a > 1
SELECT t.a, g.n FROM t JOIN (SELECT x, count(*) AS n FROM u GROUP BY ROLLUP (x)) AS g ON t.a <=> g.x
SELECT DISTINCT v FROM (SELECT * FROM t UNPIVOT (v FOR n IN (a, b))) AS q EXCEPT SELECT y FROM u
SELECT a, count(*) AS n FROM t GROUP BY a UNION ALL SELECT explode(arr), 0 FROM w
""".strip().splitlines()

IN_ORDER_OF_ARRAYS = """
SELECT k, rank() OVER (ORDER BY arr) AS r, dense_rank() OVER (ORDER BY struct(arr, k) DESC) AS n FROM w
SELECT k FROM w ORDER BY arr DESC, k LIMIT 2
SELECT max_by(k, arr) AS m, min_by(k, arr) AS n, max(struct(arr, k)) AS o FROM w
SELECT k, lag(k) OVER (ORDER BY arr, k) AS l, max(arr) OVER (ORDER BY k) AS m FROM (SELECT k, arr FROM w) AS q
SELECT k, greatest(arr, array(1)) AS g, least(arr, array(NULL, 1), array(7)) AS l FROM w
SELECT k, sort_array(array(arr, array(1), array(NULL))) AS s, array_sort(array(arr, array(1), array(NULL))) AS t FROM w
SELECT k FROM w WHERE arr BETWEEN array(NULL) AND array(4, 4)
SELECT k FROM w WHERE arr > array(NULL) AND arr <= array(4) AND struct(arr, k) > struct(array(0) AS arr, 2 AS k)
SELECT v.k, w.k AS j FROM w JOIN w v ON w.arr < v.arr
SELECT sort_array(collect_list(struct(arr, k)), false) AS l FROM w
SELECT listagg(CAST(k AS STRING), ',') WITHIN GROUP (ORDER BY arr DESC) AS l FROM w
SELECT mode() WITHIN GROUP (ORDER BY arr) AS m FROM w
""".strip().splitlines()
"""A NULL inside is the least value; DuckDB would take it for the greatest."""

SPARK = [
    *TOGETHER,
    *IN_ORDER_OF_ARRAYS,
    *JOINS,
    *GROUPINGS,
    *AGGREGATES,
    *SUBQUERIES,
    *ON,
    *LATERAL,
    *GENERATORS,
    *PIVOTS,
    *form_constructs.SPARK,
]
QUANTIFIED = (
    [
        f"SELECT a, b FROM t WHERE b {op} {some} (SELECT y FROM u WHERE u.x = t.a)"
        for op in ("=", "<>", "<", "<=", ">", ">=")
        for some in ("ANY", "ALL")
    ]
    + """
SELECT a, b, b < ALL (SELECT y FROM u) AS l, b >= ANY (SELECT y FROM u WHERE u.x > t.a) AS g FROM t
SELECT a, b, b <> ALL (SELECT y FROM u WHERE u.x = t.a) AS l, NOT b <= ANY (SELECT y FROM u) AS g FROM t
SELECT a, b FROM t WHERE NOT b > ANY (SELECT y FROM u)
""".strip().splitlines()
)

OTHERS = """
SELECT a, b FROM t WHERE b > ALL (SELECT z FROM (SELECT y AS z FROM u WHERE u.x > t.a) AS q WHERE q.z < t.b + 3)
SELECT a FROM t WHERE a IN (SELECT q.x FROM (SELECT x, y FROM u WHERE y > t.b) AS q JOIN u v ON q.x = v.x)
SELECT a, b FROM t WHERE a IN (VALUES (1), (3))
SELECT a, b FROM t WHERE named_struct('i', a, 'j', b) IN (SELECT named_struct('i', x, 'j', y) FROM u)
SELECT a, b FROM t WHERE a NOT IN (VALUES (1), (NULL))
SELECT t.a, u.y FROM t RIGHT JOIN u ON t.a = u.x AND u.y > ANY (SELECT b FROM t)
SELECT t.a, u.y FROM t FULL JOIN u ON t.a = u.x AND u.y > (SELECT max(b) FROM t v WHERE v.a = u.x) - t.b
SELECT t.a FROM t LEFT ANTI JOIN u ON t.a = u.x AND u.y IN (SELECT b FROM t)
SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM u, LATERAL (SELECT u.y + 1 AS z) AS q WHERE q.z > t.b)
SELECT a, b FROM t UNION ALL BY NAME SELECT x AS b, y AS a FROM u
SELECT b FROM t WHERE EXISTS (SELECT 1 FROM t w JOIN (u JOIN u v ON u.x = v.x AND v.y > t.b) ON u.x = w.a)
SELECT a FROM t EXCEPT BY NAME SELECT x AS a FROM u
SELECT * REPLACE (b + 1 AS b) FROM t
SELECT q.n, r.m FROM (SELECT count(*) AS n FROM t) AS q, (SELECT max(y) AS m FROM u) AS r LIMIT 10
SELECT a, b FROM t WHERE NOT b > SOME (SELECT y FROM u)
SELECT a, b, (a, b) IN (SELECT x, y FROM u) AS i, (a, b) = ANY (SELECT x, y FROM u WHERE y > b) AS j FROM t
SELECT a, b FROM t WHERE (a, b) <> ALL (SELECT x, y FROM u) OR b = 9
SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT x, y FROM u) IS NULL
SELECT t.a, u.y FROM (t, u) WHERE t.a = u.x
SELECT a, b FROM t WHERE b IN (SELECT max(y) FROM u WHERE u.x = t.a GROUP BY ROLLUP (x))
""".strip().splitlines()

OURS = [*ORDERED_AGGREGATES, *QUANTIFIED, *OTHERS, *form_constructs.OURS]
