"""TPC-H and changes to it: orders come and go with their items, customers and parts are altered.

The rows are those of DuckDB's own generator; a plain DuckDB keeps the present state beside the database.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import pyarrow as pa

import tidings

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

    plain: duckdb.DuckDBPyConnection
    _round: int = 0

    def load(self, db: tidings.Database) -> None:
        """Create the tables and fill them, each sorted by its key."""
        db.sql(SCHEMA)
        for table in TABLES:
            db.load(table, self._rows(f"SELECT * FROM {table}"))

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
        self.plain.execute(
            "CREATE OR REPLACE TEMP TABLE chosen AS SELECT o_orderkey AS key, row_number() OVER (ORDER BY o_orderkey)"
            f" AS n FROM (FROM orders ORDER BY hash(o_orderkey, {self._round}) LIMIT {2 * count})"
        )
        (last,) = self.plain.execute("SELECT max(o_orderkey) FROM orders").fetchone() or (0,)
        out = []
        for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
            went = self._rows(f"SELECT t.* FROM {table} t JOIN chosen ON {key} = key WHERE n % 2 = 0")
            came = self._rows(
                f"SELECT t.* REPLACE (CAST({last} + n AS BIGINT) AS {key})"
                f" FROM {table} t JOIN chosen ON {key} = key WHERE n % 2 = 1"
            )
            out.append(Change(table, went, came))
        return out

    def _altered(self, share: float) -> list[Change]:
        out = []
        for table, key, other in (("customer", "c_custkey", _OTHER_CUSTOMER), ("part", "p_partkey", _OTHER_PART)):
            count = self._share(table, share)
            went = self._rows(f"SELECT * FROM {table} ORDER BY hash({key}, {self._round}) LIMIT {count}")
            self.plain.register("went", went)
            out.append(Change(table, went, self._rows(other)))
            self.plain.unregister("went")
        return out

    def _share(self, table: str, share: float) -> int:
        (count,) = self.plain.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
        return max(1, round(int(count) * share))

    def _rows(self, text: str) -> pa.Table:
        return self.plain.execute(text).to_arrow_table()

    def _apply(self, change: Change) -> None:
        keys = {"lineitem": "l_orderkey", "orders": "o_orderkey", "customer": "c_custkey", "part": "p_partkey"}
        key = keys[change.table]
        self.plain.register("went", change.went)
        self.plain.register("came", change.came)
        self.plain.execute(f"DELETE FROM {change.table} WHERE {key} IN (SELECT {key} FROM went)")
        self.plain.execute(f"INSERT INTO {change.table} SELECT * FROM came")
        self.plain.unregister("went")
        self.plain.unregister("came")
