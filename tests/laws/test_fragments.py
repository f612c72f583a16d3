"""Fragments = whole: a fragmented table and a plain one, changed alike, have the same rows and report the same changes.

The histories move rows between fragments, set NULLs, repeat rows, and change several fragments in one transaction.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import case
from tests.laws.replay import replayed
from tests.laws.seeds import chunks
from tidings import Database, ManualClock
from tidings.errors import TidingsError

COLUMNS = "k INT, a INT, b STRING, c INT"
CUTS = {
    "union": ("", "UNION (f1 WHERE a < 3, f2 WHERE a >= 3, f3 WHERE a IS NULL)"),
    "union with a key": (", PRIMARY KEY (k)", "UNION (f1 WHERE a < 3, f2 WHERE a >= 3 OR a IS NULL)"),
    "join": (", PRIMARY KEY (k)", "JOIN (f1 (a), f2 (b, c)) ON k"),
    "hybrid": (
        ", PRIMARY KEY (k)",
        "JOIN (UNION (f1 (a) WHERE a < 3, f2 (a) WHERE coalesce(a, 9) >= 3), JOIN (f3 (b), f4 (c)) ON k) ON k",
    ),
    "join in union": (
        ", PRIMARY KEY (k)",
        "UNION (JOIN (f1 (a), f2 (b, c)) ON k WHERE k < 4, f3 WHERE k >= 4)",
    ),
}
QUERIES = (
    "SELECT * FROM {t}",
    "SELECT b, count(*) AS n, sum(a) AS total FROM {t} GROUP BY b",
    "SELECT x.k, y.c FROM {t} x JOIN {t} y ON x.a = y.c WHERE x.b IS NOT NULL",
    "SELECT x.k, x.c, y.b FROM {t} x LEFT JOIN {t} y ON x.c = y.a WHERE x.a = 1 OR (x.a < 3 AND x.k < 4)",
)
"""The last asks for rows of some fragments alone."""


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("cases", chunks(8, quick=1, size=1))
def test_fragments_are_the_whole(cut: str, cases: range) -> None:
    for seed in cases:
        _check(cut, seed)


def _check(cut: str, seed: int) -> None:
    rng, (key, parts) = random.Random(f"{cut} {seed}"), CUTS[cut]
    with tidings.open(engine="duckdb", clock=ManualClock(1_000_000)) as db:
        db.sql(f"CREATE TABLE plain ({COLUMNS}{key}); CREATE TABLE whole ({COLUMNS}{key}) FRAGMENTED BY {parts}")
        for n, query in enumerate(QUERIES):
            for table in ("plain", "whole"):
                db.sql(f"CREATE {'MATERIALIZED ' if n == 1 else ''}VIEW {table}{n} AS {query.format(t=table)}")
        start, steps = db.time, dict[int, int]()
        for step in range(12):
            texts = [_statement(rng, has_key=bool(key)) for _ in range(rng.randint(1, 4))]
            refused = _run(db, texts, "whole", step, steps)
            if refused == "DuplicateKey" and "JOIN" in parts:
                continue  # a plain table may have a key twice before the commit, parts of a join may not
            assert refused == _run(db, texts, "plain", step, steps), (cut, seed, texts)
            if step % 4 == 3:
                db.advance()
                _compare(db, start, steps, f"{cut}, seed {seed}, step {step}")


def _run(db: Database, texts: list[str], table: str, step: int, steps: dict[int, int]) -> str | None:
    """Run statements as one transaction; the name of the condition that refuses it, if one does."""
    try:
        with db.transaction() as tx:
            for text in texts:
                tx.sql(text.format(t=table))
    except TidingsError as error:
        return type(error).__name__
    assert tx.time is not None
    steps[tx.time] = step
    return None


def _statement(rng: random.Random, *, has_key: bool) -> str:
    k, a, b, c = rng.randint(0, 7), _maybe(rng, rng.randint(0, 5)), _maybe(rng, "'x'"), rng.randint(0, 3)
    row = f"({k}, {a}, {b}, {c})"
    statements = [
        f"INSERT INTO {{t}} VALUES {row}",
        f"UPDATE {{t}} SET a = {a} WHERE c = {c}",
        f"UPDATE {{t}} SET a = a + 1, b = {b} WHERE k <= {k}",
        f"UPDATE {{t}} SET c = {c}, a = NULL WHERE k = {k}",
        f"DELETE FROM {{t}} WHERE k = {k}",
        f"DELETE FROM {{t}} WHERE a IS NULL AND c = {c}",
        f"MERGE INTO {{t}} USING (SELECT {k} AS k, {c} AS c) s ON {{t}}.k = s.k WHEN MATCHED THEN UPDATE SET a = s.c "
        f"WHEN NOT MATCHED THEN INSERT (k, a, b, c) VALUES (s.k, s.c, {b}, 0)",
    ]
    upsert = f"INSERT INTO {{t}} VALUES {row} ON CONFLICT (k) DO UPDATE SET a = excluded.a, c = {{t}}.c + 1"
    repeated = f"INSERT INTO {{t}} VALUES {row}, {row}"
    return rng.choice([*statements, upsert if has_key else repeated, upsert if has_key else statements[0]])


def _maybe(rng: random.Random, value: object) -> object:
    return "NULL" if rng.random() < 0.2 else value


def _compare(db: Database, start: int, steps: dict[int, int], case: str) -> None:
    for n in range(len(QUERIES)):
        assert _bag(db.query(f"whole{n}").rows()) == _bag(db.query(f"plain{n}").rows()), case
        changes = [db.changes(f"{t}{n}", since=start, per_commit=True).rows() for t in ("whole", "plain")]
        whole, plain = ({(tuple(r.items()), steps[t]): w for r, t, w in found} for found in changes)
        assert whole == plain, case


def _bag(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.items()) for row in rows)


@pytest.mark.parametrize("seeds", chunks(24, quick=4, size=4))
def test_generated_views_say_the_same_over_fragments(seeds: range) -> None:
    """Any view over any tables: cut or not, they have the same rows and the same changes."""
    for seed in seeds:
        _agree(seed, {"engine": "duckdb"})


@pytest.mark.spark
@pytest.mark.parametrize("seed", [3])
def test_generated_views_say_the_same_over_fragments_on_spark(spark: Any, seed: int) -> None:
    _agree(seed, {"engine": "spark", "spark": spark})


def _agree(seed: int, engine: dict[str, Any]) -> None:
    it = case(seed)
    end = it.instants[-1]
    with replayed(it) as whole, replayed(it, cut=True, **engine) as cut:
        found = [oracle.changes(db.changes(it.view, 0, end, per_commit=True).to_arrow()) for db in (whole, cut)]
        oracle.assert_same(it, it.view, found[1], found[0])
        assert oracle.bag(cut.query(it.view).to_arrow()) == oracle.bag(whole.query(it.view).to_arrow()), it
