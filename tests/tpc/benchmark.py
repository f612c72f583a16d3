"""TPC-H and TPC-DS at test size: schema, rows and queries, all from DuckDB's own extensions.

Trap: ``dsdgen`` never comes back for a scale between 0 and 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp


def connect(name: str, scale: float) -> duckdb.DuckDBPyConnection:
    """A DuckDB of its own with the benchmark's tables filled; the extension's file comes with a package."""
    folder = Path(str(import_module(f"duckdb_extension_{name}").__file__)).parent
    extension = next(folder.rglob("*.duckdb_extension"))
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET ieee_floating_point_ops = false")  # x / 0 is NULL, as Tidings has it, not infinity
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
