"""Queries, one or more per construct of the SQL front end, and a small history to try them on.

``SPARK`` are queries in Spark's own words, ``OURS`` those Spark itself does not read.
"""

from __future__ import annotations

from typing import Any

Row = tuple[Any, ...]

SCHEMA = {"t": "a INT, b INT, s STRING", "u": "x INT, y INT", "w": "k INT, arr ARRAY<INT>, m MAP<STRING, INT>"}

BASE: dict[str, list[Row]] = {
    "t": [(1, 1, "x"), (1, 2, "y"), (1, 2, "y"), (2, None, None), (None, 3, "x"), (None, None, "z")],
    "u": [(1, 1), (1, 5), (2, 2), (None, 4)],
    "w": [(1, [1, 2, 2, None], [("p", 1), ("q", None)]), (2, [], []), (3, None, None)],
}

COMMITS: list[list[tuple[str, list[Row], list[Row]]]] = [
    [("t", [], [(2, 7, "y"), (3, 3, "")]), ("u", [], [(3, None)])],
    [("t", [(1, 2, "y")], [(1, 9, "q")]), ("w", [(2, [], [])], [(2, [4, 4], [("r", 2)])])],
    [("u", [(None, 4), (1, 1)], [(2, 1)])],
    [("t", [(None, 3, "x"), (2, None, None)], [(None, 8, None)]), ("w", [(3, None, None)], [(4, [None], [])])],
    [("u", [(1, 5), (2, 2), (2, 1), (3, None)], [])],
    [("t", [(2, 7, "y"), (3, 3, ""), (1, 1, "x"), (1, 2, "y"), (1, 9, "q"), (None, None, "z"), (None, 8, None)], [])],
    [("t", [], [(1, 1, "a")]), ("u", [], [(1, 1), (1, None)])],
]

JOINS = """
SELECT t.a, u.y, v.b FROM (t JOIN u ON t.a = u.x) JOIN t v ON v.b = u.y
SELECT q.a, q.y, v.b FROM (t JOIN u ON t.a = u.x) AS q JOIN t v ON v.b = q.y
SELECT v.b, t.a, u.y FROM t v LEFT JOIN (t JOIN u ON t.a = u.x) ON v.b = u.y
SELECT v.b, t.a, u.y FROM t v FULL JOIN (t JOIN u ON t.a = u.x) ON v.b = u.y
SELECT v.b, t.a, u.y FROM (t JOIN (u JOIN t v ON u.y = v.b) ON t.a = u.x)
SELECT t.a, u.y FROM (t, u) WHERE t.a = u.x
""".strip().splitlines()

SPARK = [*JOINS]
OURS: list[str] = []
