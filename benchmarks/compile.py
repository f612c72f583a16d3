"""Compile time of joins of many tables, each in a process of its own: nothing is remembered from the one before.

All tables of the join have changed, so that there is a partial differential for each.  Times are those of the
processor, in seconds.

Bars: a join of 32 tables is compiled in less than 2 seconds, and explained in at most twice the time of that.

    python -m benchmarks.compile
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import tidings
from benchmarks.measure import progress, report

SIZES = (4, 8, 16, 32, 64)


def main() -> None:
    lines = ["join of so many tables, all of them changed; seconds of the processor", _row("tables", _STAGES)]
    for size in SIZES:
        progress(f"compile: {size} tables …")
        command = [sys.executable, "-m", "benchmarks.compile", str(size)]
        lines.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip())
    report("compile", lines)


_STAGES = ("bind", "compile and choose", "first changes", "explain")


def _row(size: object, cells: tuple[str, ...]) -> str:
    return f"{size!s:>6}" + "".join(f"{c:>20}" for c in cells)


def one(tables: int) -> None:
    """The times of one join."""
    names = [f"t{n}" for n in range(tables)]
    chain = " AND ".join(f"{a}.b = {b}.a" for a, b in pairwise(names))
    query = f"SELECT {names[0]}.a, {names[-1]}.c FROM {', '.join(names)} WHERE {chain}"
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1)) as db:
        db.sql("; ".join(f"CREATE TABLE {name} (a INT, b INT, c INT)" for name in names))
        with db.transaction() as tx:
            for name in names:
                tx.insert(name, [(1, 1, 1)])
        plans, answers = db._parts.plans, db._parts.answers
        bind = _seconds(lambda: plans.plan(query))
        compiled = _seconds(lambda: answers.strategy(query, plans.plan(query), 0, db.time))
        changes = _seconds(lambda: db.changes(query, since=0))
        explained = _seconds(lambda: db.explain(query, since=0))
    print(_row(tables, tuple(f"{s:.3f}" for s in (bind, compiled, compiled + changes, explained))))


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(int(sys.argv[1]))
    else:
        main()
