"""A table larger than memory: a stored view over 100 million rows, with 2 GB for Spark and 1 GB for this process.

Spark makes the rows and writes them, and the rows of the table are never all in memory.  A batch updates some of them
by their keys; then the stored view, which joins the table with a small one, is brought up to date.

    python -m benchmarks.large [rows]
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import tidings
from benchmarks.measure import Figure, measure_in_turns, peaks, progress, timed
from benchmarks.report import Bar, Report, Table, finished, ms
from benchmarks.setting import database, never_fold, stop_spark
from tidings.engine.spark import Spark
from tidings.store.relation.row_groups import RowGroups

ROWS = 100_000_000
BATCHES = (1, 10)
"""How many rows a batch updates."""
MEMORY = "1GB"
SPARK_MEMORY = "2g"
WATCHED = 1_000
GROUPS = 20
"""A wave is to decode at most so many row groups per updated row."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured."""

    rows: int
    loading: float
    row_groups: int
    waves: dict[int, Figure]
    decoded: dict[int, int]
    """The row groups that were decoded for the last batch, by its commit and its wave."""
    process: float
    jvm: float
    """Peaks of memory, in GiB."""


def main(rows: int = ROWS) -> None:
    os.environ.setdefault("TIDINGS_SPARK_MEMORY", SPARK_MEMORY)
    found = measured(rows)
    stop_spark()
    report(found).publish()


def measured(rows: int, *, runs: int = 5) -> Found:
    """Load, store a view, update some rows and refresh it."""
    rng, clock = random.Random(3), tidings.ManualClock(1)
    with database(execution="auto", clock=clock, memory=MEMORY) as db:
        backend = db._parts.backend
        assert isinstance(backend, Spark)
        db.sql("CREATE TABLE item (id BIGINT PRIMARY KEY, value INT); CREATE TABLE watched (id BIGINT PRIMARY KEY)")
        never_fold(db)
        progress(f"large: loading {rows:,} rows …")
        given = backend.session.range(rows).selectExpr("id", "CAST(id % 1000 AS INT) AS value")
        loading = timed(lambda: db.load("item", given))
        db.load("watched", backend.session.range(0, rows, max(1, rows // WATCHED)).toArrow())
        progress(f"large: loaded in {loading:.0f} s; storing the view …")
        db.sql(
            "CREATE MATERIALIZED VIEW high AS SELECT i.id, i.value FROM item i JOIN watched w ON w.id = i.id"
            " WHERE i.value >= 500"
        )
        snapshot = db._parts.storage.snapshots.files[db._parts.relations.table("item").id]
        waves, decoded = {}, {}
        for count in BATCHES:
            groups: set[tuple[str, int]] = set()

            def change(count: int = count, groups: set[tuple[str, int]] = groups) -> None:
                groups.clear()
                keys = {rng.randrange(WATCHED) * max(1, rows // WATCHED) for _ in range(count)}
                db.sql(f"UPDATE item SET value = (value + 500) % 1000 WHERE id IN ({', '.join(map(str, keys))})")

            with _decoding(groups):
                waves[count] = measure_in_turns({"": (change, db.advance)}, runs=runs, warm=1)[""]
            decoded[count] = len(groups)
            progress(f"large: a wave of {count} takes {waves[count].median:.3f} s")
        process, jvm = peaks()
        return Found(rows, loading, snapshot.row_groups, waves, decoded, process, jvm)


@contextmanager
def _decoding(groups: set[tuple[str, int]]) -> Iterator[None]:
    """Note which row groups are decoded."""
    read = RowGroups._read

    def noted(file: RowGroups, group: int, names: list[str]) -> Any:
        groups.add((str(file.path), group))
        return read(file, group, names)

    with patch.object(RowGroups, "_read", noted):
        yield


def report(found: Found) -> Report:
    rows = [
        (
            str(count),
            ms(figure.median),
            ms(figure.low),
            ms(figure.high),
            f"{found.decoded[count]} of {found.row_groups:,}",
        )
        for count, figure in found.waves.items()
    ]
    header = ("rows updated", "wave", "lowest", "highest", "row groups decoded")
    most = max(found.decoded[count] / count for count in found.decoded)
    bars = [
        Bar("row groups per updated row", most, GROUPS, True),
        Bar(f"peak memory of the process in GiB, memory={MEMORY}", found.process, 1.5, True),
        Bar(f"peak memory of the JVM in GiB, with a heap of {SPARK_MEMORY}", found.jvm, 3.0, True),
    ]
    about = (
        f"A stored view over {found.rows:,} rows, joined with {WATCHED:,} that are watched; {SPARK_MEMORY} for Spark"
        f" and {MEMORY} for the process.\nRows are updated by key, then db.advance() is timed."
    )
    notes = [f"loading took {found.loading:.0f} s, {found.rows / found.loading:,.0f} rows per second"]
    return finished("large", about, [Table("one wave", header, tuple(rows))], bars, notes=notes)


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))
