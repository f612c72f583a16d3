"""Laws: how rows are found does not matter.

The same random statements run on a table with a primary key, where most find their rows in this process, on the same
table without one, where the engine finds them, and on plain Python rows.  After every statement and every transaction
all three hold the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import CheckViolated, DuplicateKey, TidingsError

Row = tuple[int, int | None, str]
Predicate = Callable[[Row], bool]

COLUMNS = "(k INT, v INT, s STRING)"


def where(rng: random.Random) -> tuple[str, Predicate]:
    """A condition in SQL and in Python; NULL counts as no."""
    k = [rng.randrange(12) for _ in range(3)]
    cut = rng.randrange(-5, 30)
    return rng.choice(
        [
            (f"k = {k[0]}", lambda r: r[0] == k[0]),
            (f"k IN ({k[0]}, {k[1]}, {k[2]})", lambda r: r[0] in k),
            (f"k = {k[0]} AND v > {cut}", lambda r: r[0] == k[0] and r[1] is not None and r[1] > cut),
            (f"{k[0]} = k AND s LIKE 'a%'", lambda r: r[0] == k[0] and r[2].startswith("a")),
            (f"v <= {cut}", lambda r: r[1] is not None and r[1] <= cut),
            (f"k IN ({k[0]}, {k[1]}) AND v % 2 = 0", lambda r: r[0] in k[:2] and r[1] is not None and r[1] % 2 == 0),
            ("v IS NULL", lambda r: r[1] is None),
        ]
    )


def setting(rng: random.Random) -> tuple[str, Callable[[Row], Row]]:
    n = rng.randrange(1, 6)
    return rng.choice(
        [
            (f"v = v + {n}", lambda r: (r[0], None if r[1] is None else r[1] + n, r[2])),
            (f"v = {n}, s = upper(s)", lambda r: (r[0], n, r[2].upper())),
            ("v = NULL", lambda r: (r[0], None, r[2])),
            ("s = concat(s, 'x')", lambda r: (r[0], r[1], r[2] + "x")),
            (f"k = k + {n}", lambda r: (r[0] + n, r[1], r[2])),
            (
                "v = CASE WHEN v > 5 THEN 0 ELSE k END",
                lambda r: (r[0], 0 if r[1] is not None and r[1] > 5 else r[0], r[2]),
            ),
        ]
    )


def changed(rng: random.Random, rows: list[Row]) -> tuple[str, list[Row]]:
    """A statement over the table ``{t}``, and what it makes of some rows."""
    match rng.randrange(5):
        case 0:
            text, holds = where(rng)
            return f"DELETE FROM {{t}} WHERE {text}", [r for r in rows if not holds(r)]
        case 1 | 2:
            (text, holds), (new, value) = where(rng), setting(rng)
            return f"UPDATE {{t}} SET {new} WHERE {text}", [value(r) if holds(r) else r for r in rows]
        case 3:
            k, v = rng.randrange(12), rng.choice(["NULL", str(rng.randrange(20))])
            return f"INSERT INTO {{t}} VALUES ({k}, {v}, 'a')", [*rows, (k, None if v == "NULL" else int(v), "a")]
        case _:
            k, put = rng.randrange(12), rng.randrange(20)
            text = (
                f"MERGE INTO {{t}} USING (VALUES ({k}, {put})) AS m (mk, mv) ON k = mk "
                "WHEN MATCHED AND v > 10 THEN DELETE WHEN MATCHED THEN UPDATE SET v = mv "
                "WHEN NOT MATCHED THEN INSERT (k, v, s) VALUES (mk, mv, 'm')"
            )
            if any(r[0] == k for r in rows):
                kept = [r for r in rows if r[0] != k or r[1] is None or r[1] <= 10]
                return text, [(r[0], put, r[2]) if r[0] == k else r for r in kept]
            return text, [*rows, (k, put, "m")]


def ordered(rows: list[Row]) -> list[Any]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("seed", range(12))
def test_how_rows_are_found_does_not_matter(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    folder = tmp_path / "db" if seed % 2 else None
    with tidings.open(folder, engine="duckdb", clock=ManualClock(1000)) as db:
        db.sql(f"""
            CREATE TABLE keyed {COLUMNS.replace("k INT", "k INT PRIMARY KEY").replace("v INT", "v INT CHECK (v < 25)")};
            CREATE TABLE plain {COLUMNS};
        """)
        rows: list[Row] = []
        for _ in range(25):
            rows = transaction(db, rng, rows)
            for table in ("keyed", "plain"):
                found = ordered([(r["k"], r["v"], r["s"]) for r in db.query(table).rows()])
                assert found == ordered(rows), (seed, table)
            if rng.random() < 0.2:
                db.fold()


def transaction(db: Database, rng: random.Random, rows: list[Row]) -> list[Row]:
    """Run some statements on both tables; the rows there are afterwards, which are the old ones if it was refused."""
    new, texts = rows, list[str]()
    for _ in range(rng.randrange(1, 4)):
        text, new = changed(rng, new)
        texts.append(text)
        keys = [r[0] for r in new]
        if len(set(keys)) < len(keys):
            break  # which row a key stands for is open from here on
    keys = [r[0] for r in new]
    expected: type[TidingsError] | None = None
    if any(r[1] is not None and r[1] >= 25 for r in new if r not in rows):
        expected = CheckViolated
    elif len(set(keys)) < len(keys):
        expected = DuplicateKey
    if expected is not None:
        with pytest.raises((CheckViolated, DuplicateKey)):
            run(db, texts, "keyed")
        return rows
    run(db, texts, "keyed")
    run(db, texts, "plain")
    return new


def run(db: Database, texts: list[str], table: str) -> None:
    with db.transaction() as tx:
        for text in texts:
            tx.sql(text.format(t=table))
