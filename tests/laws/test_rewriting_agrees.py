"""Both ways to find what matches a continuous query say the same, and that is what the query ever answered.

Random queries of the class that is rewritten run by their changes, by their rewriting and by whichever is estimated to
be cheaper, at random moments, over random append-only histories; each must deliver the union of the answers at all
instants, with the first instant of each row.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.laws.continuous_queries import END, LAST, TABLES, History, QueryWriter, history
from tests.laws.scheduled import ScheduledDatabase, assert_delivered, delivered, first_matches, scheduled
from tests.laws.seeds import chunks
from tidings.clock import micros

METHODS = ("changes", "rewriting", "auto")


def check(seed: int, path: Path | None, **kind: Any) -> set[str]:
    """The ways that were taken."""
    rng = Random(seed)
    rows, query = history(rng), QueryWriter(rng).query()
    answers = query.answers(rows)
    want = first_matches({at: dict.fromkeys(found, 1) for at, found in answers.items()})  # type: ignore[misc]
    with scheduled(rng, path, **kind) as database:
        database.db.sql(TABLES)
        installed = rng.choice((0, 0, LAST))
        for at in [*cuts(rng, rows), END]:
            if at >= installed and not database.db.query("SELECT name FROM tidings.continuous_queries").rows():
                for method in METHODS:
                    database.db.sql(f"CREATE CONTINUOUS QUERY by_{method} AS {query.text} WITH (method = '{method}')")
            arrive(database, rows, at)
            database.db.advance()
            if path is not None and rng.random() < 0.3:
                database.restart()
        got = {method: delivered(database.db, f"by_{method}") for method in METHODS}
        shown = database.db.query("SELECT method FROM tidings.continuous_queries").rows()
    for method, matched in got.items():
        assert_delivered(f"seed {seed}, {method}: {query.text}\n{rows}", matched, want)
    return {str(row["method"]).partition(":")[0] for row in shown}


def cuts(rng: Random, rows: History) -> list[int]:
    """Instants to run at; what queries deliver is committed at the next one, so no row comes there."""
    taken = {came(row) for table in rows.values() for row in table}
    free = [at for at in range(1, LAST + 1) if at + 1 not in taken]
    return sorted(rng.sample(free, min(len(free), rng.randint(0, 4))))


def came(row: dict[str, Any]) -> int:
    return int(row["came"]) if "came" in row else micros(row["ts"])


def arrive(database: ScheduledDatabase, rows: History, until: int) -> None:
    """Let the rows come that come between the present and an instant."""
    since, _ = database.clock.now(), database.clock.set(until)
    due = {name: [row for row in table if since < came(row) <= until] for name, table in rows.items()}
    due = {name: table for name, table in due.items() if table}
    if due:
        database.db.load(due)


@pytest.mark.parametrize("seeds", chunks(36, quick=6, size=6))
def test_both_ways_agree(seeds: range, tmp_path: Path) -> None:
    ways = set().union(*(check(seed, tmp_path / str(seed) if seed % 4 == 0 else None) for seed in seeds))
    assert ways >= {"changes", "rewriting"}


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(4, quick=1, size=1))
def test_both_ways_agree_on_spark(seeds: range, spark: Any) -> None:
    for seed in seeds:
        check(seed, None, engine="spark", spark=spark)
