"""The first hour on Spark: opening, loading, asking, changing and folding a small shop, before and after.

The same steps run in processes of their own, each of which starts Spark if it has to, in turns with the package of
another tree: ``python -m benchmarks.first_hour --before PATH``, where PATH is a checkout of an earlier version.
Whatever is compared ran in turns, so read the seconds as ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.report import Table

ROOT = Path(__file__).parent.parent
RESULT = Path(__file__).parent / "results" / "first_hour.txt"
EXECUTIONS = ("auto", "spark")
STEPS = {
    "open a new folder": "first",
    "define and load three tables": "first",
    "first query": "first",
    "two stored views": "first",
    "first commit": "first",
    "first wave": "first",
    "commit": "first",
    "wave": "first",
    "small read": "first",
    "UPDATE without a key": "first",
    "fold": "first",
    "close": "first",
    "open the folder again": "second",
    "small read after opening": "second",
}
"""What is measured, and in which process."""

_SCHEMA = """
    CREATE TABLE item (sku BIGINT PRIMARY KEY, name STRING, price DECIMAL(10, 2), cat INT);
    CREATE TABLE stock (sku BIGINT PRIMARY KEY, qty INT);
    CREATE TABLE cat (id INT PRIMARY KEY, name STRING);
"""
_VIEWS = """
    CREATE MATERIALIZED VIEW low AS
    SELECT i.sku, i.name, s.qty FROM item i JOIN stock s ON s.sku = i.sku WHERE s.qty < 2;
    CREATE MATERIALIZED VIEW per_cat AS SELECT c.name, count(*) AS n, sum(s.qty) AS qty
    FROM item i JOIN stock s ON s.sku = i.sku JOIN cat c ON c.id = i.cat GROUP BY c.name;
"""
_READ = "SELECT id, name FROM cat ORDER BY id"
_JOIN = "SELECT i.cat, count(*) AS n FROM item i JOIN stock s ON s.sku = i.sku WHERE s.qty < 3 GROUP BY i.cat"


class _Steps:
    """Measures steps, each from the end of the one before."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = perf_counter()

    def done(self, step: str) -> None:
        now = perf_counter()
        self.seconds[step], self._since = now - self._since, now


def first_process(folder: str, execution: str) -> dict[str, float]:
    """A new database, and what is done with it first."""
    import tidings

    steps = _Steps()
    db = tidings.open(folder, execution=execution)  # type: ignore[arg-type]
    steps.done("open a new folder")
    db.sql(_SCHEMA)
    db.load("item", [{"sku": n, "name": f"n{n}", "price": n % 7, "cat": n % 14} for n in range(1_000)])
    db.load("stock", [{"sku": n, "qty": n % 9} for n in range(1_000)])
    db.load("cat", [{"id": n, "name": f"c{n}"} for n in range(14)])
    steps.done("define and load three tables")
    assert len(db.query(_JOIN)) == 14
    steps.done("first query")
    db.sql(_VIEWS)
    steps.done("two stored views")
    for commit, wave in (("first commit", "first wave"), ("commit", "wave")):
        db.sql("UPDATE stock SET qty = qty - 1 WHERE sku IN (2, 3, 11)")
        steps.done(commit)
        db.advance()
        steps.done(wave)
    assert len(db.query(_READ)) == 14
    steps.done("small read")
    db.sql("UPDATE stock SET qty = qty + 1 WHERE sku < 500")
    steps.done("UPDATE without a key")
    db.fold()
    steps.done("fold")
    db.close()
    steps.done("close")
    return steps.seconds


def second_process(folder: str, execution: str) -> dict[str, float]:
    """The same database, opened again."""
    import tidings

    steps = _Steps()
    db = tidings.open(folder, execution=execution)  # type: ignore[arg-type]
    steps.done("open the folder again")
    assert len(db.query(_READ)) == 14
    steps.done("small read after opening")
    db.close()
    return steps.seconds


def measured(tree: Path, execution: str) -> dict[str, float]:
    """The seconds of all steps, with the package of a tree."""
    folder = tempfile.mkdtemp(prefix="tidings-bench-")
    seconds: dict[str, float] = {}
    try:
        for process in ("first", "second"):
            command = [sys.executable, str(Path(__file__).resolve()), "--process", process, "--execution", execution]
            environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{ROOT}"}
            run = [*command, "--folder", f"{folder}/shop"]
            done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
            seconds |= json.loads(done.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return seconds


def report(runs: dict[tuple[str, str], list[dict[str, float]]]) -> str:
    """The medians of all runs as text, with ratios."""
    versions = list(dict.fromkeys(version for version, _ in runs))
    lines = []
    for execution in EXECUTIONS:
        rows = []
        for step in STEPS:
            each = [median(run[step] for run in runs[version, execution]) for version in versions]
            ratio = [f"{each[0] / each[1]:.1f}"] if len(each) > 1 else []
            rows.append((step, *(f"{seconds:.2f}" for seconds in each), *ratio))
        header = ("step", *versions, *(["ratio"] if len(versions) > 1 else []))
        lines += [*Table(f"execution = '{execution}', seconds", header, tuple(rows)).lines(), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    for option in ("--process", "--execution", "--folder"):
        parser.add_argument(option)
    chosen = parser.parse_args()
    if chosen.process:
        process = first_process if chosen.process == "first" else second_process
        print(json.dumps(process(chosen.folder, chosen.execution)))
        return
    trees = ({} if chosen.before is None else {"before": chosen.before}) | {"after": ROOT}
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    for number in range(chosen.rounds):
        for execution in EXECUTIONS:
            for version, tree in trees.items():
                runs.setdefault((version, execution), []).append(measured(tree, execution))
        text = f"{number + 1} runs, {os.cpu_count()} cores, medians\n\n{report(runs)}"
        RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
