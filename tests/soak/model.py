"""A plain database beside the real one: the same statements, run by a plain DuckDB, and nothing incremental."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeAlias

import duckdb

Bag: TypeAlias = Counter[tuple[Any, ...]]

TABLES = {
    "done": "n BIGINT",
    "t": "k INT, x INT",
    "u": "k INT, y INT",
    "orders": "id BIGINT",
    "booked": "id BIGINT",
    "audit": "k INT, x INT",
    "visits": "k INT, until TIMESTAMP",
}
KEYS = {"u": "k"}
VIEWS = {
    "totals": ("MATERIALIZED VIEW", "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k"),
    "joined": ("MATERIALIZED VIEW", "SELECT t.k, t.x, u.y FROM t JOIN u ON t.k = u.k"),
    "lonely": ("VIEW", "SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)"),
    "present": ("MATERIALIZED VIEW", "SELECT k, count(*) AS n FROM visits WHERE until > now() GROUP BY k"),
    "most": ("MATERIALIZED VIEW", "SELECT y, max(s) AS s FROM totals JOIN u ON totals.k = u.k GROUP BY y"),
}
RULES = (  # "big" is in Model.rules too
    "CREATE RULE book WHEN SELECT id FROM orders DO INSERT INTO booked SELECT id FROM condition",
    "CREATE RULE big WHEN SELECT k, x FROM t WHERE x > 90 DO INSERT INTO audit SELECT k, x FROM condition "
    "WITH (action = 'deferred')",
    "CREATE RULE tell WHEN SELECT id FROM orders WHERE id % 5 = 0 DO FILE 'told.jsonl'",
)
BIG = "SELECT k, x FROM t WHERE x > 90"
"""The condition of the rule ``big``."""
TEMPLATES = (
    "SELECT k, x FROM {a} WHERE {c}",
    "SELECT x, count(*) AS n, sum(k) AS s FROM {a} p WHERE {c} GROUP BY x",
    "SELECT x, max(k) AS m, min(k) AS l FROM {a} p GROUP BY x HAVING count(*) > {n}",
    "SELECT p.k, p.x, q.x AS y FROM {a} p JOIN {b} q ON p.k = q.k",
    "SELECT k FROM {a} p WHERE {c} AND NOT EXISTS (SELECT 1 FROM {b} q WHERE q.k = p.k AND q.x > {n})",
    "SELECT p.k, q.x FROM {a} p LEFT JOIN {b} q ON p.k = q.k AND q.x < {n}",
    "SELECT DISTINCT x FROM {a} p WHERE {c}",
    "SELECT k, x FROM {a} p WHERE {c} UNION ALL SELECT x, k FROM {b} q",
    "SELECT k FROM {a} p EXCEPT SELECT k FROM {b} q WHERE q.x > {n}",
)
CONDITIONS = (
    "x > {n}", "x IS NULL", "k + x < {n}", "k % 3 = 1 OR x = {n}", "x BETWEEN 3 AND {n}", "NOT (x > {n} AND k > 7)",
)  # fmt: skip
COLUMNS = (
    "STRING DEFAULT 'a'", "DATE DEFAULT DATE '2026-01-02'", "DECIMAL(12, 2) DEFAULT 1.5", "BOOLEAN DEFAULT true",
    "DOUBLE", "BIGINT DEFAULT 7", "TIMESTAMP",
)  # fmt: skip
"""Types of the columns that tables have beside ``k`` and ``x``."""


def random_query(rng: Random, tables: list[str]) -> str:
    """A query over one or two of some tables that have ``k`` and ``x``."""
    a, b, n = rng.choice(tables), rng.choice(tables), rng.randint(0, 60)
    return rng.choice(TEMPLATES).format(a=a, b=b, n=n, c=rng.choice(CONDITIONS).format(n=n))


def random_condition(rng: Random, tables: list[str]) -> str:
    """What a rule waits for: rows with ``k`` and ``x``."""
    return f"SELECT k, x FROM {rng.choice(tables)} WHERE {rng.choice(CONDITIONS).format(n=rng.randint(40, 99))}"


def random_columns(rng: Random, number: int) -> str:
    """The columns of a table."""
    more = rng.sample(COLUMNS, k=rng.randint(0, 3))
    return ", ".join(["k INT", "x INT", *(f"o{number}_{n} {column}" for n, column in enumerate(more))])


def definitions() -> list[str]:
    """What every life begins with."""
    tables = [f"CREATE TABLE {n} ({c}{', PRIMARY KEY (k)' if n in KEYS else ''})" for n, c in TABLES.items()]
    views = [f"CREATE {kind} {name} AS {query}" for name, (kind, query) in VIEWS.items()]
    return [*tables, *views, *RULES, "INSERT INTO done VALUES (0)"]


class Refused(Exception):
    """A transaction breaks a key."""


@dataclass(slots=True)
class Model:
    """What must be there."""

    tables: dict[str, str] = field(default_factory=lambda: dict(TABLES))
    views: dict[str, str] = field(default_factory=lambda: {name: query for name, (_, query) in VIEWS.items()})
    rules: dict[str, str] = field(default_factory=lambda: {"big": BIG})
    """The conditions of rules that note in ``audit`` what holds anew, in their transaction."""
    plain: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        for name, columns in self.tables.items():
            self.plain.execute(f"CREATE TABLE {name} ({columns})")
        self.plain.execute("INSERT INTO done VALUES (0)")

    @property
    def number(self) -> int:
        """The number of the last transaction."""
        ((number,),) = self.plain.execute("SELECT n FROM done").fetchall()
        return int(number)

    def run(self, number: int, statements: list[str]) -> None:
        """A whole transaction, with what the rules in it do; nothing of one that breaks a key."""
        self.plain.execute("BEGIN")
        for name, condition in self.rules.items():
            self.plain.execute(f"CREATE OR REPLACE TEMP TABLE held_{name} AS {condition}")
        for statement in statements:
            self.plain.execute(statement)
        for name, condition in self.rules.items():
            self.plain.execute(f"INSERT INTO audit ({condition}) EXCEPT SELECT * FROM held_{name}")
        self.plain.execute("UPDATE done SET n = ?", [number])
        doubled = self.plain.execute("SELECT k FROM u GROUP BY k HAVING count(*) > 1 OR k IS NULL").fetchall()
        self.plain.execute("ROLLBACK" if doubled else "COMMIT")
        if doubled:
            raise Refused

    def settle(self) -> None:
        """What rules do after commits."""
        self.plain.execute("INSERT INTO booked SELECT id FROM orders EXCEPT SELECT id FROM booked")

    def rows(self, name: str, present: int) -> Bag:
        """The rows of a relation at an instant."""
        query, now = self.views.get(name, f"SELECT * FROM {name}"), datetime.fromtimestamp(present / 1e6, UTC)
        for view in self.views:
            if f" {view} " in query:
                query = query.replace(f" {view} ", f" ({self.views[view]}) {view} ")
        text = query.replace("now()", f"TIMESTAMP '{now:%Y-%m-%d %H:%M:%S.%f}'")
        return Counter(self.plain.execute(text).fetchall())

    def orders(self) -> list[int]:
        return [id for (id,) in self.plain.execute("SELECT id FROM orders").fetchall()]


def plain_rows(rows: list[tuple[Any, ...]]) -> Bag:
    """Rows of the real database in the form of the plain one: instants without a zone."""
    return Counter(tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row) for row in rows)
