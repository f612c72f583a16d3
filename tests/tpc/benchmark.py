"""TPC-H and TPC-DS at test size: schema, rows and queries, all from DuckDB's own extensions."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

import tidings

Bag = Counter[tuple[Any, ...]]


def connect(name: str, scale: float) -> duckdb.DuckDBPyConnection:
    """A DuckDB of its own with the benchmark's tables filled; the extension's file comes with a package."""
    folder = Path(str(import_module(f"duckdb_extension_{name}").__file__)).parent
    extension = next(folder.rglob("*.duckdb_extension"))
    connection = duckdb.connect()
    connection.execute(f"INSTALL '{extension}'")
    connection.execute(f"LOAD {name}")
    connection.execute(f"CALL {'dbgen' if name == 'tpch' else 'dsdgen'}(sf = {scale})")
    return connection


@dataclass(frozen=True, slots=True)
class Query:
    """One of the benchmark's queries: as DuckDB answers it, and as Spark would read it."""

    number: int
    oracle: str
    text: str


def queries(connection: duckdb.DuckDBPyConnection, name: str) -> list[Query]:
    """The benchmark's queries; an order that decides which rows a LIMIT keeps is made total in the oracle."""
    found = connection.execute(f"SELECT query_nr, query FROM {name}_queries() ORDER BY query_nr").fetchall()
    out = []
    for number, text in found:
        tree = sqlglot.parse_one(text.strip().rstrip(";"), read="duckdb")
        limited = [node for node in tree.find_all(exp.Query) if node.args.get("limit") is not None]
        assert all(node is tree for node in limited), f"query {number} has a LIMIT in a subquery"
        spark = tree.sql("spark")
        if limited:
            width = len(connection.execute(f"DESCRIBE {text}").fetchall())
            columns = [exp.Ordered(this=exp.Literal.number(n + 1), nulls_first=True) for n in range(width)]
            given = tree.args["order"].expressions if tree.args.get("order") else []
            tree.set("order", exp.Order(expressions=[*given, *columns]))
        out.append(Query(number, tree.sql("duckdb"), spark))
    return out


@dataclass(slots=True)
class Workload:
    """A Tidings database and a plain DuckDB that see the same changes."""

    plain: duckdb.DuckDBPyConnection
    db: tidings.Database
    rng: random.Random
    tables: list[str] = field(default_factory=list)

    def load(self) -> None:
        """Copy every table into Tidings."""
        self.tables = [row[0] for row in self.plain.execute("SHOW TABLES").fetchall()]
        for table in self.tables:
            described = self.plain.execute(f"DESCRIBE {table}").fetchall()
            types = {name: exp.DataType.build(type, dialect="duckdb").sql("spark") for name, type, *_ in described}
            columns = ", ".join(f"`{name}` {type}" for name, type in types.items())
            self.db.sql(f"CREATE TABLE {table} ({columns})")
            self.db.load(table, self.plain.execute(f"SELECT * FROM {table}").to_arrow_table())

    def change(self, most: int) -> None:
        """One transaction of deletes, updates and duplicates over all tables."""
        with self.db.transaction() as tx:
            for table in self.tables:
                rows = self._sample(table, self.rng.randint(0, most))
                for rowid, *values in rows:
                    choice = self.rng.random()
                    if choice < 0.6:
                        tx.delete(table, [values])
                        self.plain.execute(f"DELETE FROM {table} WHERE rowid = {rowid}")
                    if choice > 0.3:
                        new = self._altered(table, values) if choice < 0.6 else values
                        tx.insert(table, [new])
                        self.plain.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(new))})", new)

    def _sample(self, table: str, size: int) -> list[Any]:
        total = self.plain.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        assert total is not None
        places = {self.rng.randrange(total[0]) for _ in range(size)} if total[0] else set()
        rows = (self.plain.execute(f"SELECT rowid, * FROM {table} LIMIT 1 OFFSET {p}").fetchone() for p in places)
        return [row for row in rows if row is not None]

    def _altered(self, table: str, values: list[Any]) -> list[Any]:
        """A row with the value of another row in one column."""
        place = self.rng.randrange(len(values))
        other = self._sample(table, 1)
        return [*values[:place], other[0][place + 1], *values[place + 1 :]] if other else values

    def answer(self, query: Query) -> Bag:
        """The full recompute."""
        return Counter(tuple(map(comparable, row)) for row in self.plain.execute(query.oracle).fetchall())

    def delta(self, query: Query, since: int) -> Bag:
        """What Tidings says has changed."""
        found: Bag = Counter()
        for change in self.db.changes(query.text, since=since).rows():
            found[tuple(map(comparable, change.row.values()))] += change.weight
        return found


def comparable(value: Any) -> Any:
    """Numbers as far as both sides compute them alike: Tidings keeps Spark's types, the oracle DuckDB's."""
    return round(float(value), 4) if isinstance(value, float | Decimal) else value
