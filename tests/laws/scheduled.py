"""A database whose continuous queries run at random moments, and which is closed and opened again at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import tidings
from tests.laws.oracle import Bag, plain
from tidings.clock import micros
from tidings.front.choices import Engine

SCHEDULES = ("", "WITH (on = 'commit')", "WITH (on = 'manual')", "WITH (every = INTERVAL 7 MICROSECONDS)")
SLOW_SCHEDULES = (*SCHEDULES, "WITH (every = INTERVAL 5 HOURS)", "WITH (every = '0 8 * * *')")

Matched = dict[tuple[Any, ...], int]
"""Rows by the values of their columns, each with the instant at which it first matched."""


@dataclass(slots=True)
class ScheduledDatabase:
    """A database, and what happens to it between its transactions."""

    rng: Random
    path: Path | None
    engine: Engine = "duckdb"
    spark: Any = None
    catalog: str | None = None
    clock: tidings.ManualClock = field(default_factory=tidings.ManualClock)
    db: tidings.Database = field(init=False)

    def __post_init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self.db = tidings.open(
            self.path,
            engine=self.engine,
            spark=self.spark,
            catalog=self.catalog,
            clock=self.clock,
            execution="spark",
            retention=None,
        )

    def disturb(self, queries: list[str]) -> None:
        """Do some of what must not matter."""
        for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
            acts: list[Callable[[], object]] = [
                self.db.advance,
                lambda: self.db.sql(f"REFRESH CONTINUOUS QUERY {self.rng.choice(queries)}"),
                self.db.fold,
            ]
            if self.path is not None:
                acts.append(self.restart)
            self.rng.choice(acts)()

    def restart(self) -> None:
        self.db.close()
        self._open()

    def finish(self, queries: list[str]) -> None:
        """Let all queries run up to the present; what is wrong with one is said."""
        for query in queries:
            self.db.sql(f"REFRESH CONTINUOUS QUERY {query}")


@contextmanager
def scheduled(rng: Random, path: Path | None, **kind: Any) -> Iterator[ScheduledDatabase]:
    database = ScheduledDatabase(rng, path, **kind)
    try:
        yield database
    finally:
        database.db.close()


def delivered(db: tidings.Database, query: str, *, by_name: bool = False) -> Matched:
    """What a query delivered; no row twice.  The columns are in their order, or in that of their names."""
    table = db.query(query).to_arrow()
    names = [n for n in table.column_names if n != "matched_at"]
    names = sorted(names) if by_name else names
    rows = [tuple(plain(row[n]) for n in names) for row in table.to_pylist()]
    assert len(rows) == len(set(rows)), f"{query} delivered twice: {[r for r, n in Counter(rows).items() if n > 1]}"
    return dict(zip(rows, (micros(at) for at in table["matched_at"].to_pylist()), strict=True))


def first_matches(states: Mapping[int, Bag]) -> Matched:
    """The rows of all states, each with the instant of the first one that has it."""
    found: Matched = {}
    for at in sorted(states):
        for row, count in states[at].items():
            if count > 0:
                found.setdefault(row, at)
    return found


def assert_delivered(about: object, got: Matched, want: Matched) -> None:
    """Fail with what is missing, what is too much and what has the wrong instant."""
    if got != want:
        missing = {row: at for row, at in want.items() if row not in got}
        too_much = {row: at for row, at in got.items() if row not in want}
        wrong = {row: (got[row], at) for row, at in want.items() if got.get(row, at) != at}
        raise AssertionError(f"{about}\nmissing {missing}\ntoo much {too_much}\nat the wrong instant {wrong}")
