"""Recursion: the closure, the same generation and shortest paths of a graph, under single edges and batches of 100.

The graph has one large component, a tree of a hundredth of the edges with chords, and small ones of ten edges.  Changes
are made off the large component.  Each view is maintained stored and on demand, and computed anew to compare.

Bar: a single edge off the large component at least 30 times faster than a recompute; on demand within 5 times of
stored.

    python -m benchmarks.recursion [edges [view …]]
"""

from __future__ import annotations

import random
import sys
from time import perf_counter

import pyarrow as pa

import tidings
from benchmarks.measure import progress, report

PROGRAMS = {
    "closure": "closure(x, y) :- edge(x, y, _). closure(x, y) :- edge(x, z, _), closure(z, y).",
    "same generation": (
        "same(x, y) :- edge(p, x, _), edge(p, y, _), x != y. same(x, y) :- edge(p, x, _), same(p, q), edge(q, y, _)."
    ),
    "shortest path": ("km(x, y, min(w)) :- edge(x, y, w). km(x, y, min(w + d)) :- edge(x, z, w), km(z, y, d)."),
}
VIEWS = {"closure": "closure", "same generation": "same", "shortest path": "km"}


def main(edges: int = 10_000, *names: str) -> None:
    lines = [f"a graph of {edges:,} edges on DuckDB, seconds; derived: old rows derived on demand; rows: of the view"]
    lines.append(f"{'view':<18}{'change':<14}{'stored':>9}{'on demand':>11}{'derived':>9}{'recompute':>11}{'rows':>11}")
    for name in names or PROGRAMS:
        progress(f"recursion: {name}, {edges:,} edges …")
        lines += _measured(name, edges)
    report("recursion" if edges <= 10_000 else f"recursion_{edges}", lines)


def _graph(edges: int) -> pa.Table:
    rng = random.Random(7)
    large = max(20, edges // 100)
    rows = [(n // 2, n, rng.randint(1, 9)) for n in range(1, large)]
    node = large
    while len(rows) < edges:
        rows += [(node + n // 2, node + n, rng.randint(1, 9)) for n in range(1, 11)]
        node += 11
    sources, targets, weights = zip(*rows[:edges], strict=True)
    return pa.table({"src": sources, "dst": targets, "w": weights})


def _measured(name: str, edges: int) -> list[str]:
    taken: dict[tuple[str, str], float] = {}
    derived: dict[str, int] = {}
    for way in ("stored", "on demand"):
        with tidings.open(engine="duckdb", clock=tidings.ManualClock(1)) as db:
            db.sql("CREATE TABLE edge (src BIGINT, dst BIGINT, w BIGINT)")
            db.load("edge", _graph(edges), sorted_by="src")
            db.datalog(PROGRAMS[name], stored=way == "stored")
            begun = perf_counter()
            rows = len(db.query(f"DATALOG $$ {PROGRAMS[name]} $$").to_arrow())
            taken["recompute", ""] = perf_counter() - begun
            taken["rows", ""] = rows
            for kind, statement in _changes(edges):
                before = db.time
                db.sql(statement)
                begun = perf_counter()
                db.changes(VIEWS[name], since=before)
                taken[way, kind] = perf_counter() - begun
                records = list(db._parts.scheduler.recursion.records.values())
                derived[kind] = records[-1].derived if records else 0
    kinds = [kind for kind, _ in _changes(edges)]
    return [
        f"{name:<18}{kind:<14}{taken['stored', kind]:>9.3f}{taken['on demand', kind]:>11.3f}{derived[kind]:>9}"
        f"{taken['recompute', '']:>11.3f}{int(taken['rows', '']):>11,}"
        for kind in kinds
    ]


def _changes(edges: int) -> list[tuple[str, str]]:
    """Changes of small components; the first of each kind warms the plans up."""
    first = max(20, edges // 100) + 11 * 40
    batch = ", ".join(f"({first + 11 * n}, {first + 11 * n + 6}, 2)" for n in range(100))
    return [
        ("first edge", f"INSERT INTO edge VALUES ({first}, {first + 7}, 1)"),
        ("insert 1", f"INSERT INTO edge VALUES ({first + 11}, {first + 18}, 1)"),
        ("delete 1", f"DELETE FROM edge WHERE src = {first + 23} AND dst = {first + 24}"),
        ("insert 100", f"INSERT INTO edge VALUES {batch}"),
    ]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
