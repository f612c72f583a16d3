"""Random queries over append-only tables, in the class that is rewritten, and random histories of the tables.

Instants are a few dozen microseconds after the epoch, so that a query can be asked at every one of them.  It is, by
DuckDB alone: time is one more table there, and each table has the rows that had come.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import duckdb

LAST = 34
"""No row comes later."""
END = 60
"""No bound of a query lies later."""

TABLES = """
CREATE TABLE p (k INT, v INT, due TIMESTAMP, ts TIMESTAMP) WITH (append_only, time = ts);
CREATE TABLE q (k INT, v INT, due TIMESTAMP, came BIGINT) WITH (append_only, time = came)
"""

FACT = "CONSTRAINT later (k) AFTER p (k) NOT ENFORCED"
TABLES_WITH_FACT = TABLES.replace("came BIGINT)", f"came BIGINT, {FACT})")
"""The same, and it is known that rows of q come after those of p that have the same k."""

_OPERATORS = ("<", "<=", ">", ">=", "=", "<>")


def moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + timedelta(microseconds=microseconds)


History = dict[str, list[dict[str, Any]]]
"""The rows of each table."""


def history(random: Random) -> History:
    """Rows of both tables in the order of their instants, some at the same one, some the same but for it."""
    tables: History = {"p": [], "q": []}
    for _ in range(random.randint(1, 9)):
        name = random.choice("ppq")
        due = None if random.random() < 0.15 else moment(random.randint(0, LAST + 8))
        row: dict[str, Any] = {"k": _small(random), "v": _small(random), "due": due}
        came = random.randint(1, LAST)
        tables[name].append({**row, "ts": moment(came)} if name == "p" else {**row, "came": came})
    return tables


def as_known(rows: History) -> History:
    """A history for which the fact is true."""

    def is_later(row: dict[str, Any]) -> bool:
        same = (r["ts"] for r in rows["p"] if r["k"] == row["k"] and row["k"] is not None)
        return all(came <= moment(row["came"]) for came in same)

    return {"p": rows["p"], "q": [row for row in rows["q"] if is_later(row)]}


def _small(random: Random) -> int | None:
    return None if random.random() < 0.15 else random.randint(1, 3)


@dataclass(frozen=True, slots=True)
class RandomQuery:
    """A query, with marks where what the oracle needs is to be put in: ``«t»`` and ``«when rows came»``."""

    marked: str

    @property
    def text(self) -> str:
        return re.sub("«[^»]*» ?", "", self.marked)

    def answers(self, rows: History) -> dict[int, set[tuple[Any, ...]]]:
        """The answer at every instant."""
        text = re.sub(r"(now|current_timestamp)\(\)", "i.t", self.marked.replace("<=>", "IS NOT DISTINCT FROM"))
        text = (
            text.replace("timestamp_micros(", "make_timestamp(").replace("«t»", "i.n,").replace("«from»", "instants i,")
        )
        text = re.sub("«([^»]*)»", lambda came: " ".join(f"{c} <= i.t AND" for c in came[1].split(",")), text)
        with duckdb.connect() as connection:
            connection.execute(
                "CREATE TABLE instants AS SELECT n, make_timestamp(n) t FROM range(1, ?) r(n)", [END + 1]
            )
            for name, columns in _COLUMNS.items():
                connection.execute(f"CREATE TABLE {name} ({columns})")
                for row in rows[name]:
                    connection.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", list(row.values()))
            found = connection.execute(text).fetchall()
        result: dict[int, set[tuple[Any, ...]]] = {instant: set() for instant in range(END + 1)}
        for instant, *values in found:
            result[instant].add(tuple(values))
        return result


_COLUMNS = {
    "p": "k INT, v INT, due TIMESTAMP, ts TIMESTAMP",
    "q": "k INT, v INT, due TIMESTAMP, came BIGINT",
}


@dataclass(slots=True)
class QueryWriter:
    """Writes random queries."""

    random: Random
    aliases: int = 0

    def query(self) -> RandomQuery:
        text = self._select(self.random.choice((1, 1, 1, 2, 2, 3)))
        return RandomQuery(f"{text} UNION {self._select(1)}" if self.random.random() < 0.1 else text)

    def _select(self, tables: int) -> str:
        uses = [self._table() for _ in range(tables)]
        names = [alias for alias, _ in uses]
        items = ", ".join(f"{self.random.choice(names)}.{c} AS {c}" for c in ("k", "v"))
        if tables == 1 and self.random.random() < 0.15:
            items = f"{names[0]}.k, {names[0]}.v"
        joins = [f"{a}.k = {b}.k" for a, b in pairwise(names)]
        condition = " AND ".join([*joins, self._condition(uses, 2)])
        return f"SELECT «t» {items} FROM «from» {_tables(uses)} WHERE «{_came(uses)}» {condition}"

    def _table(self) -> tuple[str, str]:
        self.aliases += 1
        return f"x{self.aliases}", self.random.choice("ppq")

    def _condition(self, uses: list[tuple[str, str]], depth: int) -> str:
        terms = [self._term(uses, depth) for _ in range(self.random.choice((1, 2, 2, 3)))]
        text = terms[0]
        for term in terms[1:]:
            text = f"{text} AND {term}" if self.random.random() < 0.75 else f"({text} OR {term})"
        return f"NOT ({text})" if self.random.random() < 0.1 else text

    def _term(self, uses: list[tuple[str, str]], depth: int) -> str:
        kind = self.random.random()
        if kind < 0.2:
            return self._plain(uses)
        if kind < 0.6 or depth == 0:
            return self._time(uses)
        return self._subquery(uses, depth)

    def _plain(self, uses: list[tuple[str, str]]) -> str:
        a, b = (self.random.choice(uses)[0] for _ in range(2))
        return self.random.choice((f"{a}.v < 3", f"{a}.k <> {b}.v", f"{a}.v IS NULL", f"({a}.k = 1 OR {b}.v = 2)"))

    def _moment(self, uses: list[tuple[str, str]]) -> str:
        alias, table = self.random.choice(uses)
        base = self.random.choice((_came([(alias, table)]), f"{alias}.due"))
        shift = self.random.choice((0, 0, 1, 2, 5, 12, -3))
        sign = "+" if shift > 0 else "-"
        return base if not shift else f"{base} {sign} INTERVAL {abs(shift)} MICROSECONDS"

    def _time(self, uses: list[tuple[str, str]]) -> str:
        value, operator = self._moment(uses), self.random.choice(_OPERATORS)
        now = self.random.choice(("now()", "now()", "now() - INTERVAL 4 MICROSECONDS", "current_timestamp()"))
        kind = self.random.random()
        if kind < 0.06:
            return f"now() BETWEEN {value} AND {self._moment(uses)}"
        if kind < 0.1:
            return f"{value} IN (now(), now() + INTERVAL 3 MICROSECONDS)"
        if kind < 0.13:
            return f"NOT ({value} <=> now())"
        return f"{value} {operator} {now}" if self.random.random() < 0.5 else f"{now} {operator} {value}"

    def _subquery(self, uses: list[tuple[str, str]], depth: int) -> str:
        alias, table = self._table()
        outer = self.random.choice(uses)[0]
        inner = [(alias, table)]
        if self.random.random() < 0.2:
            inner.append(self._table())
        tied = [f"{alias}.k = {outer}.{self.random.choice('kv')}"] if self.random.random() < 0.9 else []
        more = [self._term([*inner, *inner, *uses], depth - 1) for _ in range(self.random.choice((0, 1, 1, 2)))]
        where = " AND ".join([*tied, *more]) or "TRUE"
        body = f"FROM {_tables(inner)} WHERE «{_came(inner)}» {where}"
        sign = "NOT " if self.random.random() < 0.75 else ""
        if self.random.random() < 0.15:
            return f"{outer}.k {sign}IN (SELECT {alias}.v {body})"
        return f"{sign}EXISTS (SELECT * {body})"


def _tables(uses: list[tuple[str, str]]) -> str:
    return ", ".join(f"{table} {alias}" for alias, table in uses)


def _came(uses: list[tuple[str, str]]) -> str:
    """When the rows of some tables came."""
    return ",".join(f"{alias}.ts" if table == "p" else f"timestamp_micros({alias}.came)" for alias, table in uses)


def rows_of(answer: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in answer}
