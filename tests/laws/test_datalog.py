"""Random stratified programs over random histories: stored, on demand and recomputed answers are the same."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import tidings
from tests.laws.datalog_programs import TABLES, RandomProgram, Row, answers, random_program
from tests.laws.recursive_queries import recursive_query
from tests.laws.seeds import chunks

_COMMITS = 6


def _random_row(rng: random.Random, width: int) -> Row:
    return tuple(None if rng.random() < 0.05 else rng.randint(0, 4) for _ in range(width))


def _open(program: RandomProgram, *, stored: bool, in_memory: bool = True, **options: Any) -> tidings.Database:
    db = tidings.open(**(options or {"engine": "duckdb"}))
    if not options:
        db._parts.runner.rules_in_memory = in_memory
    for name, width in TABLES.items():
        db.sql(f"CREATE TABLE {name} ({', '.join(f'c{n} INT' for n in range(width))})")
    db.datalog(program.text, stored=stored)
    return db


class _History:
    """Random transactions over the tables, with duplicates, NULLs and several tables at once."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.tables: dict[str, list[Row]] = {name: [] for name in TABLES}

    def transaction(self) -> list[tuple[str, Row, int]]:
        changes: list[tuple[str, Row, int]] = []
        for _ in range(self.rng.randint(1, 5)):
            name = self.rng.choice(["e", "e", "f", "n"])
            rows = self.tables[name]
            if rows and self.rng.random() < 0.4:
                row = self.rng.choice(rows)
                changes += [(name, row, -1)] * rows.count(row)
                self.tables[name] = [r for r in rows if r != row]
            else:
                row = _random_row(self.rng, TABLES[name])
                rows.append(row)
                changes.append((name, row, 1))
        return changes


def _commit(db: tidings.Database, changes: list[tuple[str, Row, int]]) -> int:
    with db.transaction() as tx:
        done: set[tuple[str, Row]] = set()
        for name, row, weight in changes:
            if weight > 0:
                tx.insert(name, [dict(zip((f"c{n}" for n in range(len(row))), row, strict=True))])
            elif (name, row) not in done:
                tests = (f"c{n} <=> {'NULL' if v is None else v}" for n, v in enumerate(row))
                tx.sql(f"DELETE FROM {name} WHERE {' AND '.join(tests)}")
    assert tx.time is not None
    return tx.time


def _rows(db: tidings.Database, name: str) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in db.query(name).rows())


def _check(seed: int, *, in_memory: bool = True, commits: int = _COMMITS, **options: Any) -> None:
    rng = random.Random(seed)
    program = random_program(rng)
    history = _History(rng)
    ways = ("stored", "on demand")
    databases = {way: _open(program, stored=way == "stored", in_memory=in_memory, **options) for way in ways}
    since = dict.fromkeys(databases, 0)
    states = {way: answers(program, dict.fromkeys(TABLES, ())) for way in databases}
    pending: dict[str, list[tuple[int, dict[str, set[Row]]]]] = {way: [] for way in databases}
    try:
        for number in range(commits):
            changes = history.transaction()
            expected = answers(program, history.tables)
            for way, db in databases.items():
                pending[way].append((_commit(db, changes), expected))
                if rng.random() < 0.5 or number == commits - 1:
                    _check_batch(seed, program, db, since[way], states[way], pending[way])
                    since[way], states[way] = pending[way][-1]
                    pending[way] = []
    finally:
        for db in databases.values():
            db.close()


def _check_batch(
    seed: int,
    program: RandomProgram,
    db: tidings.Database,
    since: int,
    state: dict[str, set[Row]],
    batch: list[tuple[int, dict[str, set[Row]]]],
) -> None:
    for name in program.predicates:
        told: dict[int, Counter[Row]] = {}
        for row, time, weight in db.changes(name, since=since, per_commit=True).rows():
            told.setdefault(time, Counter())[tuple(row.values())] += weight
        before = state[name]
        for time, expected in batch:
            want = Counter(dict.fromkeys(expected[name] - before, 1))
            want.update(dict.fromkeys(before - expected[name], -1))
            assert told.pop(time, Counter()) == want, f"seed {seed}, {name} at {time}\n{program.text}"
            before = expected[name]
        assert not told, f"seed {seed}, {name}: changes where there are none\n{program.text}"
        assert _rows(db, name) == Counter(before), f"seed {seed}, {name}\n{program.text}"


@pytest.mark.parametrize("seeds", chunks(60, quick=2, size=2))
def test_stored_and_on_demand_tell_the_difference_of_recomputes(seeds: range) -> None:
    for seed in seeds:
        _check(seed)


@pytest.mark.parametrize("seeds", chunks(16, quick=1, size=1))
def test_rounds_of_statements_tell_the_same(seeds: range) -> None:
    for seed in seeds:
        _check(seed, in_memory=False, commits=4)


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(6, quick=1, size=1))
def test_the_same_on_spark(seeds: range, spark: Any) -> None:
    """Some in this process where the touched part is small, some in rounds of statements of Spark."""
    for seed in seeds:
        execution = "spark" if seed % 2 else "auto"
        _check(seed, commits=2, engine="spark", spark=spark, execution=execution)


@pytest.mark.parametrize("seeds", chunks(48, quick=4, size=4))
def test_recursive_sql_is_the_same_program_in_datalog(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        program, query = recursive_query(rng)
        history = _History(rng)
        with _open(program, stored=False) as db:
            db.sql(f"CREATE VIEW in_sql AS {query}")
            since, before = 0, answers(program, history.tables)["p"]
            for _ in range(_COMMITS):
                _commit(db, history.transaction())
                expected = answers(program, history.tables)["p"]
                difference = Counter(dict.fromkeys(expected - before, 1))
                difference.update(dict.fromkeys(before - expected, -1))
                for view in ("p", "in_sql"):
                    told = Counter[Row]()
                    for row, _time, weight in db.changes(view, since=since).rows():
                        told[tuple(row.values())] += weight
                    assert told == difference, f"seed {seed}, {view}\n{program.text}\n{query}"
                assert _rows(db, "in_sql") == Counter(expected), f"seed {seed}\n{query}"
                since, before = db.time, expected
