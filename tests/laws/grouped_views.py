"""Random groupings whose aggregates can be carried on from their old values, over a fixed schema."""

from __future__ import annotations

from random import Random

from tests.laws import history
from tests.laws.generate import Case, View
from tests.laws.schema import Column, Table

SALE = Table(
    "sale",
    tuple(Column(n, k) for n, k in (("k", "int"), ("s", "str"), ("x", "int"), ("y", "dec"), ("z", "int"))),
    ("int", "string", "smallint", "decimal(10,2)", "bigint"),
)
SHOP = Table("shop", (Column("k", "int"), Column("f", "int")), ("int", "int"))
KEYS: tuple[tuple[str, ...], ...] = ((), ("k",), ("s",), ("k", "s"), ("k + 1",), ("COALESCE(s, 'none')",))
AGGREGATES = (
    "COUNT(*)",
    "COUNT(x)",
    "SUM(x)",
    "SUM(y)",
    "SUM(z)",
    "AVG(x)",
    "SUM(x) FILTER (WHERE k = 1)",
    "COUNT(*) FILTER (WHERE x > 1)",
    "SUM(x * 2 - 1)",
    "SUM(y * x)",
    "MIN(x)",
    "MAX(y)",
    "MAX(s)",
    "MIN(x) FILTER (WHERE k > 0)",
)
SOURCES = ("sale", "sale JOIN shop USING (k)", "(SELECT * FROM sale WHERE x > 0 UNION ALL SELECT * FROM sale) AS twice")


def grouped_case(seed: int) -> Case:
    """A grouping, alone or below what reads it; half of the histories only insert."""
    rng = Random(seed)
    tables = (SALE, SHOP)
    loaded = history.base(rng, tables)
    transactions = history.history(rng, tables, loaded, 7)
    if rng.random() < 0.5:
        growing = (tuple(history.Change(c.table, (), c.added) for c in t if c.added) for t in transactions)
        transactions = tuple(growing)
    return Case(seed, tables, (View("v", _query(rng)),), loaded, transactions)


def _query(rng: Random) -> str:
    key, source = rng.choice(KEYS), rng.choice(SOURCES)
    chosen = rng.sample(AGGREGATES, k=rng.randint(1, 4))
    items = [*(f"{k} AS g{n}" for n, k in enumerate(key)), *(f"{a} AS a{n}" for n, a in enumerate(chosen))]
    grouped = f"SELECT {', '.join(items)} FROM {source}" + (f" GROUP BY {', '.join(key)}" if key else "")
    if key and rng.random() < 0.3:
        grouped += f" HAVING {rng.choice(['COUNT(*) > 1', 'SUM(x) > 0', 'COUNT(x) = COUNT(*)'])}"
    above = [
        grouped,
        grouped,
        f"SELECT COUNT(*) AS n, MAX(a0) AS m FROM ({grouped}) AS inner_groups",
        f"SELECT g.*, shop.f FROM ({grouped}) AS g JOIN shop ON g.a0 = shop.f",
        f"SELECT a0 + a0 AS twice FROM ({grouped}) AS g WHERE a0 > 0",
    ]
    if chosen[0] == "MAX(s)":
        above[3:] = [grouped, grouped]
    return rng.choice(above)
