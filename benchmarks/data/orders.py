"""TPC-H and changes to it: orders come and go with their items, customers and parts are altered.

The rows are those of DuckDB's own generator; a plain DuckDB keeps the present state beside the database.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import tidings
from benchmarks.peers.duckdb import PlainTpch
from tidings.engine.spark import Spark

SCHEMA = """
CREATE TABLE region (r_regionkey INT PRIMARY KEY, r_name STRING, r_comment STRING);
CREATE TABLE nation (n_nationkey INT PRIMARY KEY, n_name STRING, n_regionkey INT, n_comment STRING);
CREATE TABLE supplier (
  s_suppkey BIGINT PRIMARY KEY, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING,
  s_acctbal DECIMAL(15, 2), s_comment STRING
);
CREATE TABLE customer (
  c_custkey BIGINT PRIMARY KEY, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING,
  c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING
);
CREATE TABLE part (
  p_partkey BIGINT PRIMARY KEY, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT,
  p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING
);
CREATE TABLE partsupp (
  ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty BIGINT, ps_supplycost DECIMAL(15, 2), ps_comment STRING,
  PRIMARY KEY (ps_partkey, ps_suppkey)
);
CREATE TABLE orders (
  o_orderkey BIGINT PRIMARY KEY, o_custkey BIGINT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2),
  o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING
);
CREATE TABLE lineitem (
  l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber BIGINT, l_quantity DECIMAL(15, 2),
  l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING,
  l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING,
  l_shipmode STRING, l_comment STRING, PRIMARY KEY (l_orderkey, l_linenumber)
);
"""
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")

_OTHER_CUSTOMER = """
SELECT * REPLACE (
  CAST(c_acctbal + 1 AS DECIMAL(15, 2)) AS c_acctbal,
  CASE WHEN c_custkey % 2 = 0 THEN 'BUILDING' ELSE c_mktsegment END AS c_mktsegment)
FROM went
"""
_OTHER_PART = """
SELECT * REPLACE (
  CAST(p_retailprice + 1 AS DECIMAL(15, 2)) AS p_retailprice, CAST(p_size % 50 + 1 AS INTEGER) AS p_size)
FROM went
"""


@dataclass(frozen=True, slots=True)
class Change:
    """Rows of one table that go, and rows that come."""

    table: str
    went: pa.Table
    came: pa.Table


@dataclass(slots=True)
class Orders:
    """The present state in a plain DuckDB, and changes to it."""

    plain: PlainTpch
    _round: int = 0

    def load(self, db: tidings.Database) -> None:
        """Create the tables and fill them, each sorted by its key; Spark reads them from files."""
        db.sql(SCHEMA)
        backend = db._parts.backend
        with tempfile.TemporaryDirectory(prefix="tidings-tpch-") as folder:
            for table in TABLES:
                path = Path(folder, f"{table}.parquet")
                if isinstance(backend, Spark):
                    self.plain.write(table, path)
                    db.load(table, backend.session.read.parquet(str(path)))
                else:
                    db.load(table, self.plain.run(f"FROM {table}"))

    def change(self, db: tidings.Database, share: float) -> int:
        """Change a share of the rows in one transaction, on both sides; how many rows went or came.

        Half of it are orders that go and half orders that come, with their items; the same share of customers and parts
        is altered.
        """
        self._round += 1
        changes = [*self._orders(share), *self._altered(share)]
        with db.transaction() as tx:
            for change in changes:
                tx.delete(change.table, change.went)
                tx.insert(change.table, change.came)
        for change in changes:
            self._apply(change)
        return sum(c.went.num_rows + c.came.num_rows for c in changes)

    def _orders(self, share: float) -> list[Change]:
        count = self._share("orders", share / 2)
        self.plain.run(
            "CREATE OR REPLACE TEMP TABLE chosen AS SELECT o_orderkey AS key, row_number() OVER (ORDER BY o_orderkey)"
            f" AS n FROM (FROM orders ORDER BY hash(o_orderkey, {self._round}) LIMIT {2 * count})"
        )
        last = self._number("SELECT max(o_orderkey) FROM orders")
        out = []
        for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
            went = self.plain.run(f"SELECT t.* FROM {table} t JOIN chosen ON {key} = key WHERE n % 2 = 0")
            came = self.plain.run(
                f"SELECT t.* REPLACE (CAST({last} + n AS BIGINT) AS {key})"
                f" FROM {table} t JOIN chosen ON {key} = key WHERE n % 2 = 1"
            )
            out.append(Change(table, went, came))
        return out

    def _altered(self, share: float) -> list[Change]:
        out = []
        for table, key, other in (("customer", "c_custkey", _OTHER_CUSTOMER), ("part", "p_partkey", _OTHER_PART)):
            count = self._share(table, share)
            went = self.plain.run(f"SELECT * FROM {table} ORDER BY hash({key}, {self._round}) LIMIT {count}")
            out.append(Change(table, went, self.plain.run(other, went=went)))
        return out

    def _share(self, table: str, share: float) -> int:
        return max(1, round(self._number(f"SELECT count(*) FROM {table}") * share))

    def _number(self, text: str) -> int:
        return int(self.plain.run(text).column(0)[0].as_py())

    def _apply(self, change: Change) -> None:
        keys = {"lineitem": "l_orderkey", "orders": "o_orderkey", "customer": "c_custkey", "part": "p_partkey"}
        key = keys[change.table]
        self.plain.run(f"DELETE FROM {change.table} WHERE {key} IN (SELECT {key} FROM went)", went=change.went)
        self.plain.run(f"INSERT INTO {change.table} FROM came", came=change.came)
