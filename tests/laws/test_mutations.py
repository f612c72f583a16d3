"""Whatever a text says, it has an answer or is refused by a condition with a hint of where: nothing else leaves.

Texts are those of the other laws with words dropped, doubled, exchanged, and replaced by others of their kind.  An
``InternalError`` is a mistake of ours, and a case that fails.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from threading import Timer

import pytest

import tidings
from tests.laws.constructs import BASE, OURS, SCHEMA, SPARK
from tests.laws.seeds import chunks
from tidings.errors import InternalError, TidingsError

_WORDS = re.compile(r"[\d.]+|\w+|'[^']*'|`[^`]*`|<=>|<=|>=|<>|->|\|\||[^\w\s]")

STATEMENTS = [
    *(f"CREATE OR REPLACE VIEW v AS {q}" for q in SPARK[::7]),
    *(f"INSERT INTO u {q}" for q in SPARK[::9]),
    "UPDATE t SET b = b + 1, s = upper(s) WHERE a IN (SELECT x FROM u WHERE u.y > t.b)",
    "DELETE FROM t WHERE NOT EXISTS (SELECT count(*) FROM u WHERE u.x = t.a HAVING count(*) > 1)",
    "MERGE INTO t USING u ON a = x WHEN MATCHED THEN UPDATE SET b = y WHEN NOT MATCHED THEN INSERT (a) VALUES (x)",
    "CREATE RULE r WHEN SELECT a, b FROM t WHERE b > 3 DO INSERT INTO u SELECT a, b FROM condition WITH (priority = 2)",
    "WITH q AS (SELECT a FROM t), r (k) AS (SELECT x FROM u) SELECT q.a, r.k FROM q LEFT JOIN r ON q.a = r.k",
    "SELECT a, rank() OVER w, last_value(b) IGNORE NULLS OVER (w RANGE CURRENT ROW) FROM t WINDOW w AS (ORDER BY b)",
]
TEXTS = [*SPARK, *OURS, *STATEMENTS]
VOCABULARY = sorted({word for text in TEXTS for word in _WORDS.findall(text)} | {"NULL", "1e9", "''", "{", ":", "?"})


def mutated(seed: int) -> str:
    """The text of a seed: one of the texts with one to three mistakes in it."""
    rng = Random(seed)
    words = re.findall(rf"(?:{_WORDS.pattern})\s*", rng.choice(TEXTS))
    for _ in range(rng.choice([1, 1, 2, 3])):
        at, other = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.choice(["drop", "double", "exchange", "end", *["replace"] * 6]):
            case "drop" if len(words) > 1:
                del words[at]
            case "double":
                words.insert(at, words[at])
            case "exchange":
                words[at], words[other] = words[other], words[at]
            case "end" if rng.random() < 0.3:
                words = words[: at + 1]
            case _:
                kind, space = _kind(words[at].strip()), words[at][len(words[at].rstrip()) :]
                words[at] = rng.choice([w for w in VOCABULARY if _kind(w) == kind or rng.random() < 0.01]) + space
    return "".join(words)


def _kind(word: str) -> str:
    """A key word, a name, a number, or something else."""
    return next(k for k in ("isupper", "isidentifier", "isalnum", "") if not k or getattr(word, k)())


@pytest.fixture(scope="module")
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1000)) as db:
        for name, columns in SCHEMA.items():
            db.sql(f"CREATE TABLE {name} ({columns})")
        with db.transaction() as tx:
            for name, rows in BASE.items():
                tx.insert(name, rows)
        yield db


THOROUGH = 3_000
"""So many texts are asked for in every way, the others in one."""

LONGEST = 30.0
"""After so many seconds a text is shown that is not done yet."""


@pytest.mark.parametrize("seeds", chunks(100_000, quick=100, size=500))
def test_a_text_is_answered_or_refused(seeds: range, db: tidings.Database) -> None:
    messages: list[str] = []
    for seed in seeds:
        text = mutated(seed)
        asks = (db.sql, lambda text: db.changes(text, since=0), db.explain)
        for ask in asks if seed % 1_000_000 < THOROUGH else [asks[seed % len(asks)]]:
            try:
                with shown_if_it_hangs(f"{seed}: {text}"), db.transaction() as tx:  # what a statement does is forgotten
                    ask(text) if ask != db.sql else tx.sql(text)
                    tx.rollback()
            except TidingsError as error:
                if isinstance(error, InternalError):
                    raise AssertionError(f"{seed}: {text}") from error
                messages.append(str(error))
            except Exception as error:
                raise AssertionError(f"{seed}: {text}") from error
    assert all(messages)
    assert len(db.query("t").rows()) == len(BASE["t"])
    assert db.check() == []


@contextmanager
def shown_if_it_hangs(text: str) -> Iterator[None]:
    """Say which text is not done after a while: pytest ends the process some time later, and knows only the chunk."""
    watchdog = Timer(LONGEST, lambda: print(f"not done yet: {text}", file=sys.__stderr__, flush=True))
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
