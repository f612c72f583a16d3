"""Random views with conditions on time, and their answers at every instant that could matter, computed plainly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

import duckdb

import tidings
from tests.laws.oracle import translated
from tidings.clock import instant, micros

Bag = Counter[tuple[Any, ...]]
Row = tuple[Any, ...]

START = datetime(2026, 3, 28, tzinfo=UTC)
DAY = timedelta(days=1)
TABLES = {"a": "k INT, at TIMESTAMP, d DATE, n INT", "b": "k INT, at TIMESTAMP, d DATE, n INT"}
HOURS = (0, 1, 23, 24, 36, 48, 71, 72)


@dataclass(frozen=True, slots=True)
class TimedCase:
    """One view and a history: transactions as (instant, table, row, sign)."""

    seed: int
    query: str
    commits: tuple[tuple[int, tuple[tuple[str, Row, int], ...]], ...]
    end: int

    def __str__(self) -> str:
        lines = [f"seed {self.seed}", self.query]
        lines += [f"{instant(at)}: {changes}" for at, changes in self.commits]
        return "\n".join(lines)


def timed_case(seed: int) -> TimedCase:
    rng = Random(seed)
    held: dict[str, list[Row]] = {"a": [], "b": []}
    at, commits = micros(START), []
    for _ in range(rng.randint(2, 6)):
        at += rng.choice((1, 3_600_000_000, 5 * 3_600_000_000, 86_400_000_000)) * rng.randint(1, 3)
        changes: list[tuple[str, Row, int]] = []
        for _ in range(rng.randint(1, 4)):
            table = rng.choice("ab")
            if held[table] and rng.random() < 0.4:
                changes.append((table, held[table].pop(rng.randrange(len(held[table]))), -1))
            else:
                row = _row(rng)
                held[table].append(row)
                changes.append((table, row, 1))
        commits.append((at, tuple(changes)))
    return TimedCase(seed, _view(rng), tuple(commits), at + rng.randint(0, 4) * 86_400_000_000)


def _row(rng: Random) -> Row:
    moment = START + timedelta(hours=rng.choice(HOURS), microseconds=rng.choice((0, 0, 1)))
    day = (START + DAY * rng.randint(-1, 4)).date()
    return (
        rng.choice((None, 1, 2)),
        rng.choice((None, moment, moment, moment)),
        rng.choice((None, day, day, day)),
        rng.choice((None, 1, 2, 3)),
    )


def _view(rng: Random) -> str:
    """One of several shapes around random conditions."""
    one, other = _condition(rng, "a", 2), _condition(rng, "b", 2)
    both = _condition(rng, rng.choice("ab"), 1)
    shapes = (
        f"SELECT a.k, a.n FROM a WHERE {one}",
        f"SELECT a.k, b.n FROM a JOIN b ON a.k = b.k WHERE {one} AND {other}",
        f"SELECT a.k, b.n FROM a JOIN b ON a.k = b.k AND {other} WHERE {one} OR {both}",
        f"SELECT a.k, count(*) AS c, sum(a.n) AS s FROM a WHERE {one} GROUP BY a.k",
        "SELECT a.k, max(a.n) AS m FROM a GROUP BY a.k HAVING max(a.at) < now()",
        f"SELECT a.k, a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {other})",
        f"SELECT a.k FROM a WHERE {one} AND NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {other})",
        "SELECT a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.at < a.at AND b.at < now())",
        f"SELECT a.k, b.n FROM a LEFT JOIN b ON a.k = b.k AND {other}",
        f"SELECT a.k, a.n FROM a WHERE {one} UNION ALL SELECT b.k, b.n FROM b WHERE {other}",
        f"SELECT DISTINCT a.k FROM a WHERE {one}",
        f"SELECT a.k, a.n FROM a WHERE {one} ORDER BY a.n LIMIT 2",
        f"SELECT a.n, (SELECT max(b.n) FROM b WHERE b.k = a.k AND {other}) AS m FROM a",
        "SELECT a.n FROM a WHERE a.at <= now() AND a.n > (SELECT count(*) FROM b WHERE b.at > now())",
    )
    return rng.choice(shapes)


def _condition(rng: Random, table: str, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return _atom(rng, table)
    left, right = (_condition(rng, table, depth - 1) for _ in range(2))
    forms = (
        f"({left} AND {right})",
        f"({left} OR {right})",
        f"NOT ({left})",
        f"CASE WHEN {left} THEN {right} ELSE {table}.n > 1 END",
    )
    return rng.choice(forms)


def _atom(rng: Random, t: str) -> str:
    op = rng.choice(("<", "<=", ">", ">=", "=", "<>"))
    n, unit = rng.choice(((1, "DAY"), (24, "HOURS"), (90, "MINUTES"), (2, "DAYS")))
    atoms = (
        f"{t}.at {op} now()",
        f"{t}.at + INTERVAL {n} {unit} {op} now()",
        f"now() - INTERVAL {n} {unit} {op} {t}.at",
        f"now() - {t}.at {op} INTERVAL {n} {unit}",
        f"{t}.at - now() {op} INTERVAL {n} {unit}",
        f"{t}.at BETWEEN now() - INTERVAL {n} {unit} AND now()",
        f"{t}.d {op} current_date()",
        f"current_date() - {n % 3} {op} {t}.d",
        f"DATEDIFF(current_date(), {t}.d) {op} {n % 3}",
        f"DATEDIFF({t}.d, current_date()) {op} {n % 3}",
        f"CAST(now() AS DATE) {op} {t}.d",
        f"{t}.at {op} current_date()",
        f"{t}.d {op} now()",
        f"CAST(now() - INTERVAL {n} {unit} AS DATE) {op} {t}.d",
        f"current_date() {op} DATE '2026-03-30'",
        f"{t}.n > 1",
        f"{t}.k IS NULL",
    )
    return rng.choice(atoms)


# what is expected


def expected(case: TimedCase) -> dict[int, Bag]:
    """The change at every instant: the difference of answers at consecutive instants of a grid that misses none."""
    out: dict[int, Bag] = {}
    with duckdb.connect(":memory:", config={"threads": 1}) as plain:
        plain.execute("SET TimeZone = 'UTC'")
        for table, columns in TABLES.items():
            plain.execute(translated(f"CREATE TABLE {table} ({columns})"))
        before: Bag = Counter()
        waiting = list(case.commits)
        for at in _grid(case):
            while waiting and waiting[0][0] <= at:
                _apply(plain, waiting.pop(0)[1])
            after = _answer(plain, case.query, at)
            change = Counter(after)
            change.subtract(before)
            if any(change.values()):
                out[at] = Counter({row: n for row, n in change.items() if n})
            before = after
    return out


def _grid(case: TimedCase) -> list[int]:
    """Every instant at which a commit or the clock can matter: each value moved by each distance the views use."""
    points = {at for at, _ in case.commits}
    values = {v for _, changes in case.commits for _, row, _ in changes for v in row[1:3] if v is not None}
    values |= {(START + DAY * n).date() for n in range(-2, 10)}
    hours = (0, 1.5, 24, 48)
    for value in values:
        moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)
        shifted = [moment + timedelta(hours=sign * h) for h in hours for sign in (-1, 1)]
        shifted += [s.replace(hour=0, minute=0, microsecond=0) + n * DAY for s in shifted for n in (0, 1, 2)]
        shifted += [s + timedelta(hours=h) for s in shifted for h in hours]
        points |= {micros(s) + n for s in shifted for n in (0, 1)}
    first = case.commits[0][0]
    return sorted(p for p in points if first <= p <= case.end)


def _apply(plain: duckdb.DuckDBPyConnection, changes: tuple[tuple[str, Row, int], ...]) -> None:
    for table, row, sign in changes:
        if sign > 0:
            plain.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", row)
        else:
            same = " AND ".join(f"{table}.{c} IS NOT DISTINCT FROM ?" for c in ("k", "at", "d", "n"))
            one = f"SELECT rowid FROM {table} WHERE {same} LIMIT 1"
            plain.execute(f"DELETE FROM {table} WHERE rowid = ({one})", row)


def _answer(plain: duckdb.DuckDBPyConnection, query: str, at: int) -> Bag:
    now = instant(at)
    text = _plain(query).replace("NOON", f"{now:%Y-%m-%d %H:%M:%S.%f}").replace("TODAY", f"{now:%Y-%m-%d}")
    return Counter(tuple(map(comparable, row)) for row in plain.execute(text).fetchall())


@lru_cache(maxsize=1)
def _plain(query: str) -> str:
    """DuckDB's words, with texts in place of what the clock says; the whole row breaks the ties of a LIMIT."""
    text = query.replace("now()", "CAST('NOON' AS TIMESTAMP)").replace("current_date()", "CAST('TODAY' AS DATE)")
    return translated(text.replace("ORDER BY a.n LIMIT", "ORDER BY a.n, a.k LIMIT"))


def comparable(value: Any) -> Any:
    return int(value) if isinstance(value, int) or type(value).__name__ == "Decimal" else value


# what Tidings says


def replay(case: TimedCase, db: tidings.Database, clock: tidings.ManualClock) -> None:
    """Run the history; the clock ends at the case's end."""
    for table, columns in TABLES.items():
        db.sql(f"CREATE TABLE {table} ({columns})")
    for at, changes in case.commits:
        clock.set(at)
        with db.transaction() as tx:
            for table, row, sign in changes:
                (tx.insert if sign > 0 else tx.delete)(table, [list(row)])
        assert tx.time == at
    clock.set(case.end)


def reported(db: tidings.Database, query: str, since: int, until: int | None) -> dict[int, Bag]:
    out: dict[int, Bag] = {}
    for change in db.changes(query, since=since, until=until, per_commit=True).rows():
        row = tuple(map(comparable, change.row.values()))
        out.setdefault(change.time, Counter())[row] += change.weight
    return out
