"""A subscriber that applies what it gets holds what a recompute gives, whatever batches and restarts there are.

Views and histories are random.  Subscribers come and go at random times, take some batches and leave others, forget the
last one they had not acknowledged, and come back with a position or under a name, perhaps after the database was closed
and opened again.  Every batch is the recompute's change at its instant, comes once, in order, and none is left out.
Where changes are kept for a while only, a subscriber that comes too late is told so, and begins anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from pathlib import Path
from random import Random

import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, case, instant
from tests.laws.grouped_views import grouped_case
from tests.laws.history import Change
from tests.laws.keyed_views import keyed_case
from tests.laws.schema import arrow
from tests.laws.seeds import chunks
from tidings import ChangeBatch, Database, errors

KINDS = (
    "CREATE VIEW",
    "CREATE MATERIALIZED VIEW",
    "CREATE MATERIALIZED VIEW immediate",
    "CREATE MATERIALIZED VIEW manual",
)


@dataclass(slots=True)
class Subscriber:
    """Somebody who applies what it gets; its rows and position are its own, and outlive the database's process."""

    text: str
    name: str | None
    answers: oracle.Answers
    held: oracle.Bag = field(default_factory=Counter)
    position: int | None = None
    begun_anew: int = 0

    def take(self, db: Database, rng: Random, present: int) -> None:
        """Take some batches; the last one may be lost before it is dealt with, and comes again."""
        limit = rng.choice([None, None, 1, 2])
        since = None if self.name is not None else self.position
        try:
            batches = list(islice(db.subscribe(self.text, since, name=self.name), limit))
        except errors.MustRefetch as refusal:
            self._begin_anew(db, refusal, present)
            return
        if len(batches) == limit:
            if rng.random() < 0.3:
                batches.pop()
            else:
                batches[-1].ack()
        for batch in batches:
            self.apply(batch)
        if limit is None:
            assert self.held == self.answers.states[present], "something is missing"

    def apply(self, batch: ChangeBatch) -> None:
        if batch.snapshot:
            self.held = Counter()
        else:
            assert self.position is not None
            assert batch.time > self.position, "a batch came twice, or too late"
        table = batch.changes.to_arrow()
        self.held.update(oracle.bag(table.drop_columns(["__t", "__w"])) if batch.snapshot else _signed(table, batch))
        self.held = Counter({row: n for row, n in self.held.items() if n})
        number = batch.time // instant(1)
        assert self.held == self.answers.states[number], f"after the batch of {batch.time}"
        if not batch.snapshot:
            assert self.answers.change(number), "a batch of nothing"
            inside = self.answers.between(self.position or 0, batch.time - 1)
            assert not inside, f"left out: {inside}"
        self.position = batch.time

    def _begin_anew(self, db: Database, refusal: errors.MustRefetch, present: int) -> None:
        kept_since = max(t.forgotten for t in db._parts.storage.tables())
        assert int(str(refusal.parameters["since"])) < kept_since, refusal
        self.begun_anew += 1
        if self.name is not None:
            db.unsubscribe(self.name)
        (batch,) = db.subscribe(self.text, name=self.name)
        self.apply(batch)
        assert self.held == self.answers.states[present]
        if self.name is not None:
            batch.ack()


def _signed(table: object, batch: ChangeBatch) -> oracle.Bag:
    (found,) = oracle.changes(table).items()
    assert found[0] == batch.time
    return found[1]


def check(it: Case, path: Path | None, *, retention: int | None = None, catalog: str | None = None) -> int:
    """How often a subscriber had to begin anew."""
    answers, rng, clock = oracle.recompute_on_duckdb(it)[it.view], Random(it.seed), tidings.ManualClock(0)

    def opened() -> Database:
        kept = None if retention is None else timedelta(microseconds=retention)
        return tidings.open(path, engine="duckdb", clock=clock, retention=kept, catalog=catalog)

    db = opened()
    try:
        for table in it.tables:
            db.sql(table.definition)
            if table.name in it.base:
                db.load(table.name, arrow(table, it.base[table.name]))
        for view in it.views:
            db.sql(_stored(view.definition, rng.choice(KINDS)))
        named = [None, None, "mailer", "printer"]
        subscribers = [Subscriber(it.view, name, answers) for name in named]
        for number in range(len(it.history) + 1):
            if number:
                clock.set(instant(number))
                _apply(db, it.history[number - 1])
            act = rng.random()
            if act < 0.2 and path is not None:
                db.close()
                db = opened()
            elif act < 0.3 or (act < 0.6 and retention is not None):
                db.fold()
            elif act < 0.7:
                db.advance()
            for subscriber in subscribers:
                if rng.random() < 0.3:
                    subscriber.take(db, rng, number)
        for subscriber in subscribers:
            for _ in range(20):
                subscriber.take(db, rng, len(it.history))
            assert subscriber.held == answers.states[-1], "never told of the end"
        return sum(s.begun_anew for s in subscribers)
    except AssertionError as wrong:
        raise AssertionError(f"{it}\n{wrong}") from wrong
    finally:
        db.close()


def _stored(definition: str, kind: str) -> str:
    words, _, refresh = kind.partition("VIEW")
    made = definition.replace("CREATE VIEW", f"{words}VIEW", 1)
    if not refresh:
        return made
    head, _, query = made.partition(" AS ")
    return f"{head} WITH (refresh = '{refresh.strip()}') AS {query}"


def _apply(db: Database, changes: tuple[Change, ...]) -> None:
    with db.transaction() as tx:
        for change in changes:
            if change.removed:
                tx.delete(change.table, change.removed)
            if change.added:
                tx.insert(change.table, change.added)


def _case(seed: int) -> Case:
    return (grouped_case, keyed_case, case)[seed % 3](seed)


@pytest.mark.parametrize("seeds", chunks(60, quick=5, size=5))
def test_in_memory(seeds: range) -> None:
    for seed in seeds:
        check(_case(seed), None)


@pytest.mark.parametrize("seeds", chunks(60, quick=5, size=5))
def test_in_a_folder_that_is_opened_again(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        check(_case(seed), tmp_path / str(seed))


@pytest.mark.parametrize("seeds", chunks(12, quick=0, size=6))
def test_with_a_catalog_in_postgresql(seeds: range, postgresql: Callable[[], str], tmp_path: Path) -> None:
    for seed in seeds:
        kept = (None, 15)[seed % 2]
        check(_case(seed), tmp_path / str(seed), retention=kept, catalog=postgresql())


@pytest.mark.parametrize("seeds", chunks(40, quick=10, size=10))
def test_changes_kept_for_a_while(seeds: range, tmp_path: Path) -> None:
    late = sum(check(_case(seed), tmp_path / str(seed), retention=15) for seed in seeds)
    assert late, "nobody came too late"
