"""WITH RECURSIVE against DuckDB's own, and what is refused by name."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

import tidings
from tidings.errors import UnsupportedConstruct

CLOSURE = """
WITH RECURSIVE r (a, b) AS (
  SELECT src, dst FROM edge UNION SELECT r.a, e.dst FROM r JOIN edge e ON r.b = e.src
) SELECT a, b FROM r
"""
SAME_GENERATION = """
WITH RECURSIVE sg (a, b) AS (
  SELECT x.dst, y.dst FROM edge x JOIN edge y ON x.src = y.src
  UNION SELECT x.dst, y.dst FROM edge x JOIN sg ON x.src = sg.a JOIN edge y ON y.src = sg.b
) SELECT a, b FROM sg
"""
PARTS = """
WITH RECURSIVE parts (part, quantity) AS (
  SELECT dst, w FROM edge WHERE src = 0
  UNION ALL SELECT e.dst, p.quantity * e.w FROM parts p JOIN edge e ON p.part = e.src WHERE p.quantity < 50
) SELECT part, SUM(quantity) AS n FROM parts GROUP BY part
"""
UNREACHED = """
WITH RECURSIVE seen (n) AS (
  SELECT 0 UNION SELECT e.dst FROM seen s JOIN edge e ON s.n = e.src
  WHERE NOT EXISTS (SELECT 1 FROM edge x WHERE x.src = e.dst AND x.w = 9)
) SELECT DISTINCT e.dst FROM edge e WHERE NOT EXISTS (SELECT 1 FROM seen s WHERE s.n = e.dst)
"""


def _chain(n: int) -> list[tuple[int, int, int]]:
    return [(i, i + 1, 2) for i in range(n)]


def _grid(n: int) -> list[tuple[int, int, int]]:
    right = [(r * n + c, r * n + c + 1, 1) for r in range(n) for c in range(n - 1)]
    return right + [(r * n + c, (r + 1) * n + c, 9) for r in range(n - 1) for c in range(n)]


def _random_graph(n: int) -> list[tuple[int, int, int]]:
    rng = random.Random(n)
    return [(a, b, rng.randint(1, 9)) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.25]


GRAPHS = {
    "chain": _chain(12),
    "cycle": [*_chain(6), (6, 0, 3)],
    "tree": [(i // 2, i, 2) for i in range(1, 15)],
    "random": _random_graph(9),
    "grid": _grid(4),
    "duplicates": [*_chain(4), *_chain(4)],
}


QUERIES = {"closure": CLOSURE, "same generation": SAME_GENERATION, "parts": PARTS, "unreached": UNREACHED}

CASES = [(graph, query) for graph in GRAPHS for query in QUERIES if (graph, query) != ("cycle", "parts")]
"""Parts of a cycle are left out: their quantities are bounded, their derivations are many."""


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as database:
        database.sql("CREATE TABLE edge (src INT, dst INT, w INT)")
        yield database


def _load(db: tidings.Database, graph: str) -> None:
    with db.transaction() as tx:
        tx.insert("edge", [{"src": a, "dst": b, "w": w} for a, b, w in GRAPHS[graph]])


def _expected(db: tidings.Database, query: str) -> Counter[tuple[object, ...]]:
    rows = [tuple(row.values()) for row in db.query("edge").rows()]
    with duckdb.connect() as own:
        own.execute("CREATE TABLE edge (src INT, dst INT, w INT)")
        own.executemany("INSERT INTO edge VALUES (?, ?, ?)", rows)
        return Counter(own.execute(query).fetchall())


@pytest.mark.parametrize(("graph", "name"), CASES)
def test_answers_and_changes_are_those_of_duckdb(db: tidings.Database, graph: str, name: str) -> None:
    query = QUERIES[name]
    _load(db, graph)
    db.sql(f"CREATE VIEW v AS {query}")
    answer = Counter(tuple(row.values()) for row in db.query("v").rows())
    assert answer == _expected(db, query)
    for statement in ("DELETE FROM edge WHERE src = 2", "INSERT INTO edge VALUES (1, 3, 1), (0, 2, 4)"):
        before = db.time
        db.sql(statement)
        for change in db.changes("v", since=before).rows():
            answer[tuple(change.row.values())] += change.weight
        assert +answer == _expected(db, query)
        assert min(answer.values(), default=0) >= 0


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_same_in_sql_and_in_datalog(db: tidings.Database, graph: str) -> None:
    _load(db, graph)
    db.sql(f"CREATE VIEW in_sql AS {CLOSURE}")
    db.datalog("in_datalog(x, y) :- edge(x, y, _). in_datalog(x, y) :- in_datalog(x, z), edge(z, y, _).")
    before = db.time
    db.sql("DELETE FROM edge WHERE src = 1")
    told = [
        Counter((*c.row.values(), c.weight) for c in db.changes(view, since=before).rows())
        for view in ("in_sql", "in_datalog")
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("query", "construct"),
    [
        ("SELECT 1 AS n UNION SELECT max(n) FROM r", "an aggregate"),
        ("SELECT 1 AS n UNION SELECT e.dst FROM edge e LEFT JOIN r ON r.n = e.src", "an outer join"),
        ("SELECT 1 AS n UNION (SELECT n FROM r EXCEPT SELECT 3)", "EXCEPT"),
        ("SELECT n FROM r", "no UNION"),
        ("SELECT 1 AS n UNION SELECT n FROM r ORDER BY n LIMIT 3", "LIMIT"),
        ("SELECT 1 AS n UNION ALL SELECT a.n FROM r a JOIN r b ON a.n = b.n", "more than one reference"),
        ("SELECT n FROM r UNION SELECT n FROM r", "does not read itself"),
    ],
)
def test_what_cannot_be_maintained_is_refused_by_name(query: str, construct: str) -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE edge (src INT, dst INT, w INT)")
        with pytest.raises(UnsupportedConstruct) as refused:
            db.query(f"WITH RECURSIVE r AS ({query}) SELECT * FROM r")
        assert construct in str(refused.value.parameters["construct"])
