"""The second law: how often and when one asks changes nothing.

Cut a history at any instants: the changes of the pieces, put together, are those of the whole, and their sum is
the net change.  States obey the same: ``query(t0)`` plus the net change over ``(t0, t1]`` is ``query(t1)``.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, case
from tests.laws.oracle import Bag
from tests.laws.replay import replayed
from tests.laws.seeds import chunks


@pytest.mark.parametrize("seeds", chunks(120, quick=10, size=10))
def test_batching_does_not_matter(seeds: range) -> None:
    for seed in seeds:
        it = case(seed)
        with replayed(it) as db:
            whole = per_commit(db, it, 0, it.instants[-1])
            pieces: dict[int, Bag] = {}
            for since, until in pairwise(cuts(it)):
                pieces |= per_commit(db, it, since, until)
            oracle.assert_same(it, it.view, pieces, whole)
            assert net(db, it, 0, it.instants[-1]) == total(whole), it


@pytest.mark.parametrize("seeds", chunks(90, quick=10, size=10))
def test_states_and_changes_fit(seeds: range) -> None:
    for seed in seeds:
        it = case(seed)
        answers = oracle.recompute_on_duckdb(it)[it.view]
        with replayed(it) as db:
            states = {t: oracle.bag(db.query(it.view, as_of=t).to_arrow()) for t in it.instants}
            assert states == dict(zip(it.instants, answers.states, strict=True)), it
            for since, until in pairwise(sorted(Random(seed).sample(it.instants, k=2))):
                moved = oracle.difference(states[until], states[since])
                assert net(db, it, since, until) == moved, it


def cuts(it: Case) -> list[int]:
    """Instants to cut at, between commits and at them, with both ends."""
    end = it.instants[-1]
    rng = Random(it.seed)
    return sorted({0, end, *rng.sample(range(1, end), k=rng.randint(1, 4))})


def per_commit(db: tidings.Database, it: Case, since: int, until: int) -> dict[int, Bag]:
    return oracle.changes(db.changes(it.view, since, until, per_commit=True).to_arrow())


def net(db: tidings.Database, it: Case, since: int, until: int) -> Bag:
    """The net change, whose entries all stand at one instant."""
    found = oracle.changes(db.changes(it.view, since, until).to_arrow())
    assert len(found) <= 1, it
    return next(iter(found.values()), Counter())


def total(parts: dict[int, Bag]) -> Bag:
    """The sum of changes; what cancels is gone."""
    out: Bag = Counter()
    for part in parts.values():
        for row, weight in part.items():
            out[row] += weight
    return Counter({row: n for row, n in out.items() if n})
