"""A Tidings database and a plain DuckDB that see the same changes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import duckdb
from sqlglot import exp

import tidings
from tests.tpc.aim import CALENDAR, FACTS, FEW, Aim, Row, aims, made
from tests.tpc.benchmark import Query
from tidings.write.transaction import Transaction

Bag = Counter[tuple[Any, ...]]

HARMLESS = frozenset("d_day_name d_qoy d_quarter_name d_dow d_holiday d_weekend".split())
"""Scalar subqueries take a week or a month from the calendar, and fail if they find two: only these columns change."""


@dataclass(slots=True)
class Workload:
    """The two databases, and what is needed to change them alike."""

    plain: duckdb.DuckDBPyConnection
    db: tidings.Database
    rng: random.Random
    schema: dict[str, dict[str, str]] = field(default_factory=dict)
    _tx: Transaction | None = None
    _gone: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        for (table,) in self.plain.execute("SHOW TABLES").fetchall():
            described = self.plain.execute(f"DESCRIBE {table}").fetchall()
            self.schema[table] = {name: type for name, type, *_ in described}

    def load(self) -> None:
        """Copy every table into Tidings."""
        for table, columns in self.schema.items():
            types = {name: exp.DataType.build(type, dialect="duckdb").sql("spark") for name, type in columns.items()}
            self.db.sql(f"CREATE TABLE {table} ({', '.join(f'`{name}` {type}' for name, type in types.items())})")
            self.db.load(table, self.plain.execute(f"SELECT * FROM {table}").to_arrow_table())

    def aims(self, queries: list[Query]) -> list[list[Aim]]:
        """What each query wants."""
        return [aims(query.oracle, self.schema) for query in queries]

    # changes

    def season(self, targets: list[list[Aim]]) -> None:
        """Put in rows that queries ask for, before the first transaction: small data has few of them."""
        for wanted in targets:
            self._make(wanted)

    def change(self, each: int, targets: list[list[Aim]] | None = None, shots: int = 0) -> None:
        """One transaction of inserts, updates and deletes: to random rows of each table, and aimed at queries."""
        with self.db.transaction() as self._tx:
            for table in self.schema:
                for row in self._sample(table, each):
                    self._alter(table, row)
            for wanted in self.rng.sample(targets or [], shots):
                aim = self.rng.choice(wanted)
                found = aim.found(self.plain, self.rng) if self.rng.random() < 0.4 else None
                if found is None:
                    self._make(wanted)
                else:
                    alias = self.rng.choice(list(found))
                    self._alter(aim.tables[alias], found[alias])
        self._tx = None

    def batch(self, number: int, targets: list[list[Aim]]) -> None:
        """Two transactions; every fourth time only what queries ask for, so that not every table changes."""
        for each in (number % 4 != 3, 0):
            self.change(each, targets, len(targets) // 2)

    def _make(self, wanted: list[Aim]) -> None:
        """Put in a combination of rows that a query wants, now and then with an extreme measure."""
        taken: set[tuple[str, int]] = set()
        for row in made(wanted, self.plain, self.rng, self.schema):
            if row.table in FACTS:
                for _ in range(self.rng.choice((1, 1, 2))):
                    self._insert(row.table, self._extreme(row.values) if self.rng.random() < 0.3 else row.values)
            elif row.old != row.values and row.table != CALENDAR:
                if self._size(row.table) >= FEW and (row.table, row.place) not in taken:
                    self._delete(row.table, row.place, row.old)
                    taken.add((row.table, row.place))
                self._insert(row.table, row.values)

    def _extreme(self, values: Row) -> Row:
        """The row with its amounts five times as large: queries ask for what is above an average."""
        return [v * 5 if isinstance(v, Decimal) and abs(v) < 1000 else v for v in values]

    def _alter(self, table: str, row: Row) -> None:
        """Delete, update or double a row."""
        place, values = row[0], list(row[1:])
        choice = self.rng.random()
        if table == CALENDAR:
            self._alter_calendar(place, values, choice)
        elif choice < 0.3 and self._size(table) >= FEW:
            self._delete(table, place, values)
        elif choice < 0.7:
            self._delete(table, place, values)
            self._insert(table, self._with_another_value(table, values, list(self.schema[table])))
        else:
            self._insert(table, values)

    def _alter_calendar(self, place: int, values: Row, choice: float) -> None:
        """Days go and come back; no day is there twice."""
        if self._gone:
            self._insert(CALENDAR, self._gone.pop())
        self._delete(CALENDAR, place, values)
        if choice < 0.3:
            self._gone.append(values)
        else:
            self._insert(CALENDAR, self._with_another_value(CALENDAR, values, sorted(HARMLESS)))

    def _with_another_value(self, table: str, values: Row, names: list[str]) -> Row:
        """The row with the value of another row in one column."""
        place = list(self.schema[table]).index(self.rng.choice(names))
        other = self._sample(table, 1)
        return [*values[:place], other[0][place + 1], *values[place + 1 :]] if other else values

    def _sample(self, table: str, size: int) -> list[Row]:
        total = self._size(table)
        places = sorted({self.rng.randrange(total) for _ in range(size)}) if total else []
        rows = (self.plain.execute(f"SELECT rowid, * FROM {table} LIMIT 1 OFFSET {p}").fetchone() for p in places)
        return [list(row) for row in rows if row is not None]

    def _size(self, table: str) -> int:
        total = self.plain.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        assert total is not None
        return int(total[0])

    def _insert(self, table: str, values: Row) -> None:
        self.plain.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
        if self._tx is not None:
            self._tx.insert(table, [values])

    def _delete(self, table: str, place: int, values: Row) -> None:
        self.plain.execute(f"DELETE FROM {table} WHERE rowid = {place}")
        if self._tx is not None:
            self._tx.delete(table, [values])

    # answers

    def answer(self, query: Query) -> Bag:
        """The full recompute."""
        return Counter(tuple(map(comparable, row)) for row in self.plain.execute(query.oracle).fetchall())

    def delta(self, query: Query, since: int) -> Bag:
        """What Tidings says has changed."""
        found: Bag = Counter()
        for change in self.db.changes(query.text, since=since).rows():
            found[tuple(map(comparable, change.row.values()))] += change.weight
        return found


def difference(after: Bag, before: Bag) -> Bag:
    """What lies between two answers."""
    out = after.copy()
    out.subtract(before)
    return out


def disagreement(expected: Bag, found: Bag) -> dict[tuple[Any, ...], tuple[int, int]]:
    """The rows on which two deltas differ, with both weights."""
    return {row: (expected[row], found[row]) for row in {*expected, *found} if expected[row] != found[row]}


def comparable(value: Any) -> Any:
    """Numbers as far as both sides compute them alike: Tidings keeps Spark's types, the oracle DuckDB's.

    Spark's averages of amounts have six places, and are rounded to fewer from there.
    """
    return round(round(float(value), 6), 4) if isinstance(value, float | Decimal) else value
