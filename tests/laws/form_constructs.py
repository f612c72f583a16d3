"""Queries per form of FROM, GROUP BY and WITH that the front end translates before it binds them, as in ``constructs``.

``ev`` are events and ``pr`` prices over time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

Row = tuple[Any, ...]


def at(minutes: float) -> datetime:
    """A moment so many minutes after midnight."""
    return datetime.fromtimestamp(1_704_067_200 + minutes * 60, UTC)


SCHEMA = {"ev": "k INT, ts TIMESTAMP, v INT", "pr": "k INT, since TIMESTAMP, price INT"}

BASE: dict[str, list[Row]] = {
    "ev": [
        (1, at(0), 1),
        (1, at(5), 2),
        (1, at(5), 2),
        (1, at(11), None),
        (2, at(-1), 3),
        (2, None, 4),
        (None, at(3), 5),
    ],
    "pr": [(1, at(0), 10), (1, at(5), 11), (1, at(5), None), (2, at(2), 20), (None, at(1), 30), (2, None, 40)],
}

CHANGES: list[list[tuple[str, list[Row], list[Row]]]] = [
    [("ev", [], [(1, at(8), 6), (2, at(4), 7)]), ("pr", [(1, at(5), 11)], [(1, at(7), 12)])],
    [("ev", [(1, at(5), 2)], [(1, at(20), 2)]), ("pr", [], [(2, at(-3), 21), (2, at(2), 22)])],
    [("ev", [(1, at(8), 6), (None, at(3), 5)], [(None, at(2.5), 8), (None, at(7), 9)])],
    [("pr", [(1, at(0), 10), (1, at(5), None), (1, at(7), 12)], [])],
    [("ev", [(1, at(0), 1), (1, at(5), 2), (1, at(11), None), (1, at(20), 2)], [(1, at(6), 1)])],
]

TIME_WINDOWS = """
SELECT window, count(*) AS n FROM ev GROUP BY window(ts, '5 minutes')
SELECT window.start AS s, k, sum(v) AS total FROM ev WHERE v > 1 GROUP BY k, window(ts, '1 hour', '1 hour', '7 minutes')
SELECT k, window.end AS e, max(v) AS m FROM ev GROUP BY window(ts, '10 minutes', '4 minutes', '-1 minute'), k HAVING \
count(*) > 1
SELECT window(ts, '10 minutes', '5 minutes') AS w, v FROM ev
SELECT window.start AS s, count(*) AS n FROM ev GROUP BY window(CAST(ts AS TIMESTAMP_NTZ), '6 minutes')
SELECT window(window, '20 minutes').start AS w, sum(n) AS n FROM (SELECT window, count(*) AS n FROM ev GROUP BY \
window(ts, '5 minutes')) AS q GROUP BY window(window, '20 minutes')
SELECT k, window, count(*) AS n FROM ev GROUP BY ROLLUP (k, window(ts, '5 minutes'))
SELECT k, session_window, count(*) AS n, sum(v) AS total FROM ev GROUP BY k, session_window(ts, '5 minutes')
SELECT session_window.start AS s, session_window.end AS e, count(*) AS n FROM ev GROUP BY session_window(ts, '150 \
seconds')
SELECT v % 2 AS odd, session_window(ts, '4 minutes') AS w, count(*) AS n FROM ev GROUP BY v % 2, session_window(ts, \
'4 minutes')
SELECT k, session_window.end AS e, count(*) AS n FROM ev GROUP BY k, session_window(ts, CASE WHEN v < 3 THEN '10 \
minutes' WHEN v = 3 THEN '0 minutes' ELSE '1 minute' END)
SELECT session_window(ts, '1 minute') AS w, v FROM ev
""".strip().splitlines()

PIPES = """
FROM t |> WHERE a > 0 |> AGGREGATE sum(b) AS total, count(*) AS n GROUP BY a |> WHERE n > 1
FROM t |> EXTEND a + 1 AS c |> SET b = c, b = b * 2 |> DROP s |> AS q |> JOIN u ON q.a = u.x |> SELECT q.a, b, u.y
FROM t |> SELECT a |> UNION ALL (SELECT x FROM u) |> SELECT DISTINCT a
FROM t |> SELECT a, b, s |> PIVOT (sum(b) FOR a IN (1, 2))
TABLE t |> WHERE a > 1 |> SELECT b, s
VALUES (1), (2) |> WHERE col1 > 1
SELECT a + 1 AS a FROM t |> WHERE a > 2
FROM t |> WHERE a > 0 |> LEFT JOIN u ON t.a = u.x |> SELECT t.a, u.y
FROM t |> EXTEND sum(b) OVER (PARTITION BY a) AS total |> WHERE total > 2 |> SELECT t.a, total
FROM t |> AGGREGATE GROUP BY a, b + 1 AS c
FROM u |> AGGREGATE count(*) AS n
SELECT a, b FROM t WHERE a IN (FROM u |> WHERE y > 1 |> SELECT x)
FROM t |> SELECT a, b |> UNPIVOT (v FOR n IN (a, b))
FROM t |> ORDER BY b DESC, a, s |> LIMIT 2 |> SELECT b
FROM t |> SELECT a |> EXCEPT (SELECT x FROM u)
""".strip().splitlines()

STARS = """
SELECT struct(*) AS r, array(u.*) AS l, coalesce(*) AS c, greatest(x, *) AS g FROM u
SELECT struct(t.*, u.x) AS r FROM t JOIN u ON t.a = u.x
SELECT a, count(DISTINCT *) AS n, count(*) AS m FROM t GROUP BY a
SELECT a, struct(* EXCEPT (a)) AS r FROM t WHERE 1 IN (a, b)
SELECT x FROM u WHERE coalesce(*) > 1 AND 2 IN (*)
""".strip().splitlines()

TABLE_FUNCTIONS = """
SELECT id FROM range(5)
SELECT r.n, t.b FROM range(1, 9, 2) AS r (n) JOIN t ON t.b = r.n
SELECT id FROM range(3, 0, -1) UNION ALL SELECT id FROM range(3, 0)
SELECT r.id, count(t.a) AS n FROM range(4) AS r LEFT JOIN t ON t.a = r.id GROUP BY r.id
SELECT k, json_tuple(concat('{"a": ', k, ', "b": true, "e": "x"}'), 'a', 'b', 'e', 'z') FROM w
SELECT k, i, j FROM w LATERAL VIEW json_tuple(concat('{"i": ', k, '}'), 'i', 'j') t AS i, j
SELECT k, c0 FROM w, LATERAL json_tuple(concat('{"i": ', k, '}'), 'i')
""".strip().splitlines()

CASTS = """
SELECT smallint(a) AS i, string(b) AS s, bigint(a) + 1 AS c, decimal(b) AS d, double(a) AS e, boolean(a) AS f FROM t
SELECT date('2024-02-29') AS d, timestamp('2024-02-29 12:00:00') AS m, tinyint(a) AS i, int(b) AS j, float(b) AS f \
FROM t
""".strip().splitlines()

JOINS = """
SELECT * FROM t NATURAL JOIN u
SELECT t.a, u.x FROM t NATURAL LEFT JOIN u
""".strip().splitlines()

WITHS = """
SELECT a, b FROM t WHERE EXISTS (WITH c AS (SELECT y FROM u WHERE u.x = t.a) SELECT 1 FROM c WHERE c.y > 1)
SELECT a, (WITH c AS (SELECT count(*) AS n FROM u WHERE u.x = t.a) SELECT n FROM c) AS n FROM t
SELECT a, (WITH c (z) AS (SELECT y + 1 FROM u WHERE u.x = t.a), d AS (SELECT max(z) AS m FROM c) SELECT m FROM d) AS \
m FROM t
""".strip().splitlines()

SPARK = [*TIME_WINDOWS, *PIPES, *STARS, *TABLE_FUNCTIONS, *CASTS, *JOINS, *WITHS]

OURS = """
SELECT e.k, e.v, p.price FROM ev e ASOF JOIN pr p ON e.k = p.k AND e.ts >= p.since
SELECT e.k, e.v, p.price, p.since FROM ev e ASOF LEFT JOIN pr p ON e.k = p.k AND e.ts > p.since
SELECT e.k, e.v, p.price FROM ev e ASOF LEFT JOIN pr p ON p.k = e.k AND p.since >= e.ts
SELECT e.v, p.price FROM ev e ASOF LEFT JOIN pr p ON e.ts < p.since - INTERVAL 1 MINUTE
SELECT * FROM ev ASOF JOIN (SELECT k, since AS ts, price FROM pr) AS p USING (k, ts)
SELECT e.k, sum(p.price) AS total FROM ev e ASOF JOIN pr p ON e.k = p.k AND e.ts >= p.since GROUP BY e.k
SELECT a, max_by(s, b, 2) AS m, min_by(b, s, 3) FILTER (WHERE b > 1) AS n FROM t GROUP BY a
SELECT a, max_by(b, s, 2) OVER (PARTITION BY a) AS m FROM t
SELECT t.a, id FROM t LEFT JOIN LATERAL range(1, b) AS r ON true
SELECT t.a, u.y FROM t LEFT JOIN u ON t.a = u.x AND EXISTS (SELECT 1 FROM w WHERE w.k = t.b + u.y)
SELECT t.a, t.b FROM t LEFT ANTI JOIN u ON t.a = u.x AND EXISTS (SELECT 1 FROM w WHERE w.k = t.b + u.y)
SELECT t.a, t.b, u.y FROM t RIGHT JOIN u ON t.a = u.x AND t.b < (SELECT max(k) FROM w WHERE w.k > u.y)
SELECT t.a, t.b, u.x, u.y FROM t FULL JOIN u ON t.a = u.x AND (t.b + u.y) IN (SELECT k FROM w)
SELECT t.a, t.b FROM t LEFT SEMI JOIN u ON t.a = u.x AND (t.b + u.y) NOT IN (SELECT k FROM w)
SELECT t.a, q.z FROM t, LATERAL (WITH c AS (SELECT y FROM u WHERE u.x = t.a) SELECT c.y + d.y AS z FROM c JOIN c d \
ON c.y < d.y) AS q
SELECT k, (SELECT count(*) FROM (SELECT session_window, count(*) AS c FROM ev WHERE ev.k = w.k GROUP BY \
session_window(ts, '5 minutes')) AS q) AS n FROM w
SELECT a, b, a FROM t
SELECT a, (SELECT count(*) FROM (WITH RECURSIVE r (n) AS (SELECT 1 AS n UNION SELECT r.n + 1 FROM r JOIN u ON u.x = \
r.n) SELECT n FROM r) AS q WHERE q.n <= t.a) AS n FROM t
SELECT k, (SELECT sum(e.x) FROM explode(w.arr) AS e (x)) AS s FROM w
SELECT k FROM w WHERE EXISTS (SELECT 1 FROM u, UNNEST(w.arr) AS e (x) WHERE e.x = u.x)
SELECT a AS c FROM t UNION ALL SELECT x FROM u ORDER BY c % 2, c LIMIT 3
SELECT a, (SELECT y FROM u WHERE u.x = t.a UNION ALL SELECT t.b ORDER BY -y, y LIMIT 1) AS c FROM t
""".strip().splitlines()

OUTER_AGGREGATES = """
SELECT a, (SELECT max(t.b)) AS m, (SELECT collect_list(t.b)) AS l FROM t GROUP BY a
SELECT a, (SELECT max(y) FROM u WHERE u.y <= sum(t.b)) AS m FROM t GROUP BY a
SELECT a, count(*) AS n FROM t GROUP BY a HAVING EXISTS (SELECT 1 FROM u WHERE u.y = max(t.b))
SELECT a, count(*) AS n FROM t GROUP BY a HAVING NOT EXISTS (SELECT 1 FROM u WHERE u.y > max(t.b) AND u.x = t.a)
SELECT a FROM t GROUP BY a HAVING max(b) IN (SELECT y + count(t.b) FROM u)
SELECT sum(a) AS s, (SELECT sum(a) + sum(o.b) FROM t) AS x FROM t AS o
SELECT (SELECT max(t.b) FROM u WHERE u.x = 3) AS x FROM t
SELECT a, (SELECT max(q.m + q.y) FROM (SELECT max(t.b) AS m, y FROM u WHERE u.x = t.a) AS q) AS v FROM t GROUP BY a
SELECT a, (SELECT count(*) FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.k < max(t.b) AND w.k = u.x)) AS v FROM t \
GROUP BY a
SELECT a, (SELECT count(*) FROM u WHERE u.x = (SELECT count(t.b))) AS v FROM t GROUP BY ROLLUP (a)
SELECT a, (SELECT 10 + grouping(t.a)) AS v, count(*) AS n FROM t GROUP BY ROLLUP (a)
SELECT a, sum(count(*)) OVER (ORDER BY a) AS n FROM t GROUP BY a QUALIFY EXISTS (SELECT 1 FROM u WHERE u.y < max(t.b))
SELECT a FROM t GROUP BY a ORDER BY (SELECT count(*) FROM u WHERE y < sum(t.b)), a LIMIT 2
SELECT a, (SELECT avg(q.r.b) + sum(q.r.b)) AS m FROM (SELECT a, named_struct('b', b) AS r FROM t) AS q GROUP BY a
SELECT a, listagg(DISTINCT CAST(date_add(DATE '2024-01-01', b) AS STRING), '-') AS l FROM t GROUP BY a
""".strip().splitlines()
OURS += OUTER_AGGREGATES
