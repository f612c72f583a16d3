"""Programs that the literature of Datalog knows, with small inputs and answers that were found elsewhere.

Where DuckDB can say the same with ``WITH RECURSIVE``, its answer is the expected one, also after every change; the
answers of the others were worked out by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class KnownProgram:
    """A program over tables, what it gives, and changes of the tables."""

    tables: dict[str, tuple[str, list[Row]]]
    """The columns of each table with their types, and its rows."""
    text: str
    output: str
    duckdb: str = ""
    """The same as a query of DuckDB."""
    expected: list[set[Row]] = field(default_factory=list)
    """The rows at first and after each change, where DuckDB has no such query."""
    changes: tuple[str, ...] = ()


EDGES = "src INT, dst INT"

TRANSITIVE_CLOSURE = KnownProgram(
    {"edge": (EDGES, [(1, 2), (2, 3), (3, 4), (4, 2), (5, 6)])},
    "reach(x, y) :- edge(x, y). reach(x, y) :- reach(x, z), edge(z, y).",
    "reach",
    "WITH RECURSIVE r (a, b) AS (SELECT src, dst FROM edge UNION"
    " SELECT r.a, e.dst FROM r JOIN edge e ON r.b = e.src) SELECT * FROM r",
    changes=("DELETE FROM edge WHERE src = 4", "INSERT INTO edge VALUES (4, 5), (6, 1)"),
)

SAME_GENERATION = KnownProgram(
    {"parent": ("child STRING, elder STRING", [*zip("bcdefgh", "aabbcce", strict=True)])},
    "sg(x, y) :- parent(x, p), parent(y, p), x != y. sg(x, y) :- parent(x, p), sg(p, q), parent(y, q).",
    "sg",
    "WITH RECURSIVE sg (a, b) AS (SELECT x.child, y.child FROM parent x JOIN parent y USING (elder)"
    " WHERE x.child <> y.child UNION SELECT x.child, y.child"
    " FROM sg JOIN parent x ON x.elder = sg.a JOIN parent y ON y.elder = sg.b) SELECT * FROM sg",
    changes=("INSERT INTO parent VALUES ('i', 'f'), ('j', 'i')", "DELETE FROM parent WHERE child = 'c'"),
)

POINTS_TO = KnownProgram(
    {
        "alloc": ("v STRING, site STRING", [("a", "o1"), ("b", "o2"), ("c", "o3")]),
        "assign": ("target STRING, source STRING", [("d", "a")]),
        "store": ("base STRING, field STRING, source STRING", [("a", "f", "b")]),
        "load": ("target STRING, base STRING, field STRING", [("e", "d", "f"), ("g", "c", "f")]),
    },
    """
    points_to(v, o) :- alloc(v, o).
    points_to(v, o) :- assign(v, w), points_to(w, o).
    points_to(v, o) :- load(v, b, f), points_to(b, h), in_field(h, f, o).
    in_field(h, f, o) :- store(b, f, w), points_to(b, h), points_to(w, o).
    """,
    "points_to",
    expected=[
        {("a", "o1"), ("b", "o2"), ("c", "o3"), ("d", "o1"), ("e", "o2")},
        {("a", "o1"), ("a", "o3"), ("b", "o2"), ("c", "o3"), ("d", "o1"), ("d", "o3"), ("e", "o2"), ("g", "o2")},
        {("a", "o3"), ("b", "o2"), ("c", "o3"), ("d", "o3"), ("e", "o2"), ("g", "o2")},
        {("a", "o3"), ("b", "o2"), ("c", "o3"), ("d", "o3")},
    ],
    changes=(
        "INSERT INTO assign VALUES ('a', 'c')",
        "DELETE FROM alloc WHERE v = 'a'",
        "DELETE FROM store WHERE field = 'f'",
    ),
)

BILL_OF_MATERIALS = KnownProgram(
    {
        "assembly": (
            "whole STRING, part STRING, n INT",
            [
                ("bike", "wheel", 2),
                ("bike", "frame", 1),
                ("wheel", "spoke", 28),
                ("wheel", "rim", 1),
                ("car", "rim", 4),
            ],
        ),
        "basic": ("part STRING, price INT", [("frame", 90), ("spoke", 1), ("rim", 12)]),
    },
    """
    path(w, p) :- assembly(w, p, _).
    path(w, p) :- assembly(w, q, _), path(q, p).
    dearest(w, max(c)) :- path(w, p), basic(p, c).
    """,
    "dearest",
    "WITH RECURSIVE path (w, p) AS (SELECT whole, part FROM assembly UNION"
    " SELECT path.w, a.part FROM path JOIN assembly a ON a.whole = path.p)"
    " SELECT w, max(price) FROM path JOIN basic ON basic.part = path.p GROUP BY w",
    changes=("DELETE FROM assembly WHERE part = 'frame'", "INSERT INTO assembly VALUES ('rim', 'frame', 1)"),
)

UNPROTECTED = KnownProgram(
    {
        "flow": (EDGES, [(1, 2), (2, 3), (3, 4), (2, 5), (5, 6)]),
        "protected": ("node INT", [(3,)]),
        "vulnerable": ("node INT", [(4,), (6,)]),
    },
    """
    unsafe(1).
    unsafe(y) :- unsafe(x), flow(x, y), !protected(y).
    violation(x) :- vulnerable(x), unsafe(x).
    """,
    "violation",
    "WITH RECURSIVE unsafe (n) AS (SELECT 1 UNION SELECT f.dst FROM unsafe u JOIN flow f ON f.src = u.n"
    " WHERE NOT EXISTS (SELECT 1 FROM protected p WHERE p.node = f.dst))"
    " SELECT node FROM vulnerable WHERE node IN (SELECT n FROM unsafe)",
    changes=("DELETE FROM protected", "INSERT INTO protected VALUES (5), (2)", "DELETE FROM protected WHERE node = 2"),
)

UNREACHABLE = KnownProgram(
    {"edge": (EDGES, [(1, 2), (2, 1), (3, 4), (4, 5)])},
    """
    node(x) :- edge(x, _).
    node(x) :- edge(_, x).
    reach(x, y) :- edge(x, y).
    reach(x, y) :- reach(x, z), reach(z, y).
    apart(x, y) :- node(x), node(y), !reach(x, y).
    """,
    "apart",
    "WITH RECURSIVE node (n) AS (SELECT src FROM edge UNION SELECT dst FROM edge),"
    " r (a, b) AS (SELECT src, dst FROM edge UNION SELECT r.a, e.dst FROM r JOIN edge e ON r.b = e.src)"
    " SELECT x.n, y.n FROM node x, node y WHERE (x.n, y.n) NOT IN (SELECT a, b FROM r)",
    changes=("INSERT INTO edge VALUES (2, 3)", "DELETE FROM edge WHERE src = 2"),
)

SHORTEST_PATH = KnownProgram(
    {"road": ("a INT, b INT, km INT", [(1, 2, 7), (1, 3, 2), (3, 2, 1), (2, 4, 5), (4, 1, 1), (4, 5, 3)])},
    "km(1, min(0)). km(y, min(d + k)) :- km(x, d), road(x, y, k).",
    "km",
    "WITH RECURSIVE t (n, d) AS (SELECT 1, 0 UNION SELECT r.b, t.d + r.km FROM t JOIN road r ON r.a = t.n"
    " WHERE t.d < 40) SELECT n, min(d) FROM t GROUP BY n",
    changes=(
        "INSERT INTO road VALUES (3, 4, 2)",
        "DELETE FROM road WHERE a = 3 AND b = 2",
        "DELETE FROM road WHERE a = 3",
        "UPDATE road SET km = 1 WHERE a = 1",
    ),
)

FEWEST_HOPS = KnownProgram(
    {"pipe": ("a INT, b INT, width INT", [(1, 2, 9), (2, 3, 4), (1, 3, 3), (3, 4, 8), (4, 2, 9)])},
    "hops(x, y, min(1)) :- pipe(x, y, _). hops(x, z, min(n + 1)) :- hops(x, y, n), pipe(y, z, _).",
    "hops",
    "WITH RECURSIVE h (a, b, n) AS (SELECT a, b, 1 FROM pipe UNION SELECT h.a, p.b, h.n + 1"
    " FROM h JOIN pipe p ON p.a = h.b WHERE h.n < 12) SELECT a, b, min(n) FROM h GROUP BY a, b",
    changes=("DELETE FROM pipe WHERE a = 1 AND b = 3", "INSERT INTO pipe VALUES (3, 1, 2)"),
)

EVEN_AND_ODD = KnownProgram(
    {"move": (EDGES, [(1, 2), (2, 3), (3, 4)]), "ends": ("node INT", [(4,)])},
    """
    even_steps(x) :- ends(x).
    even_steps(x) :- move(x, y), odd_steps(y).
    odd_steps(x) :- move(x, y), even_steps(y).
    """,
    "odd_steps",
    "WITH RECURSIVE s (n, odd) AS (SELECT node, 0 FROM ends UNION SELECT m.src, 1 - s.odd"
    " FROM s JOIN move m ON m.dst = s.n) SELECT n FROM s WHERE odd = 1",
    changes=("INSERT INTO move VALUES (4, 1)", "INSERT INTO move VALUES (4, 2)", "DELETE FROM move WHERE src = 2"),
)

DEFINITIONS_AND_USES = KnownProgram(
    {
        "follows": (EDGES, [(1, 2), (2, 3), (3, 2), (3, 4)]),
        "writes": ("line INT, v STRING", [(1, "x"), (2, "y"), (3, "x")]),
        "uses": ("line INT, v STRING", [(2, "x"), (4, "x"), (4, "y")]),
    },
    """
    live(d, v, n) :- writes(d, v), follows(d, n).
    live(d, v, m) :- live(d, v, n), !writes(n, v), follows(n, m).
    def_use(d, u) :- live(d, v, u), uses(u, v).
    """,
    "def_use",
    "WITH RECURSIVE l (d, v, n) AS (SELECT w.line, w.v, f.dst FROM writes w JOIN follows f ON f.src = w.line"
    " UNION SELECT l.d, l.v, f.dst FROM l JOIN follows f ON f.src = l.n"
    " WHERE NOT EXISTS (SELECT 1 FROM writes w WHERE w.line = l.n AND w.v = l.v))"
    " SELECT DISTINCT l.d, u.line FROM l JOIN uses u ON u.line = l.n AND u.v = l.v",
    changes=("DELETE FROM writes WHERE line = 3", "INSERT INTO follows VALUES (4, 1)"),
)

KNOWN_PROGRAMS = {
    "transitive closure": TRANSITIVE_CLOSURE,
    "same generation": SAME_GENERATION,
    "points-to": POINTS_TO,
    "bill of materials": BILL_OF_MATERIALS,
    "reachability with negation": UNPROTECTED,
    "complement of reachability": UNREACHABLE,
    "shortest path": SHORTEST_PATH,
    "fewest hops": FEWEST_HOPS,
    "mutual recursion": EVEN_AND_ODD,
    "definitions and uses": DEFINITIONS_AND_USES,
}
