"""Upserts: ON CONFLICT in SQL, and ``tx.upsert``, against a dictionary that does the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import (
    AmbiguousUpsert,
    DuplicateKey,
    InvalidExpression,
    InvalidRow,
    KeyNeeded,
    NotATable,
    NullNotAllowed,
    UnknownColumn,
)


@pytest.fixture(params=["memory", "folded"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    folder = None if request.param == "memory" else tmp_path / "shop"
    with tidings.open(folder, engine="duckdb", clock=ManualClock(1_000_000)) as database:
        database.sql("""
            CREATE TABLE stock (item BIGINT PRIMARY KEY, qty INT DEFAULT 7, name STRING);
            CREATE TABLE bag (x INT);
            CREATE MATERIALIZED VIEW total AS SELECT sum(qty) AS qty FROM stock;
            INSERT INTO stock VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')
        """)
        if request.param == "folded":
            database.fold()
        yield database


def rows(db: Database) -> dict[int, tuple[Any, Any]]:
    return {r["item"]: (r["qty"], r["name"]) for r in db.query("stock")}


BEFORE: dict[int, tuple[int | None, str | None]] = {1: (10, "a"), 2: (20, "b"), 3: (30, "c")}


@pytest.mark.parametrize(
    ("statement", "changed", "counts"),
    [
        ("VALUES (2, 5, 'x'), (4, 5, 'y') ON CONFLICT DO NOTHING", {4: (5, "y")}, (1, 0)),
        ("VALUES (4, 5, 'y'), (4, 5, 'y') ON CONFLICT (item) DO NOTHING", {4: (5, "y")}, (1, 0)),
        (
            "VALUES (2, 5, 'x'), (4, 5, 'y') ON CONFLICT (ITEM) DO UPDATE SET qty = excluded.qty",
            {2: (5, "b"), 4: (5, "y")},
            (1, 1),
        ),
        (
            "VALUES (2, 5, 'x') ON CONFLICT DO UPDATE SET qty = qty + excluded.qty, name = EXCLUDED.name",
            {2: (25, "x")},
            (0, 1),
        ),
        (
            "VALUES (1, 5, 'x'), (2, 5, 'x') ON CONFLICT DO UPDATE SET qty = stock.qty + 1 WHERE stock.qty > 15",
            {2: (21, "b")},
            (0, 1),
        ),
        ("VALUES (1, NULL, 'x') ON CONFLICT DO UPDATE SET name = 'z' WHERE excluded.qty > 1", {}, (0, 0)),
        ("VALUES (2, 5, 'x') ON CONFLICT DO UPDATE SET qty = DEFAULT, item = 9", {2: None, 9: (7, "b")}, (0, 1)),
        (
            "SELECT item, 1, upper(name) FROM stock ON CONFLICT DO UPDATE SET name = concat(name, excluded.name)",
            {1: (10, "aA"), 2: (20, "bB"), 3: (30, "cC")},
            (0, 3),
        ),
        (
            "VALUES (2, 5, 'x') ON CONFLICT DO UPDATE SET qty = (SELECT max(s.qty) FROM stock s) + excluded.qty",
            {2: (35, "b")},
            (0, 1),
        ),
        (
            "VALUES (2, 5, 'x'), (3, 1, 'x') ON CONFLICT DO UPDATE SET name = 'in' "
            "WHERE EXISTS (SELECT 1 FROM stock s WHERE s.qty = 4 * excluded.qty + stock.qty - 20 + 10 * s.item - 20)",
            {2: (20, "in")},
            (0, 1),
        ),
    ],
)
def test_on_conflict(db: Database, statement: str, changed: dict[int, Any], counts: tuple[int, int]) -> None:
    affected = db.sql(f"INSERT INTO stock {statement}")
    assert isinstance(affected, tidings.AffectedRows)
    assert (affected.inserted, affected.updated, affected.deleted) == (*counts, 0)
    assert rows(db) == {k: v for k, v in {**BEFORE, **changed}.items() if v is not None}
    assert db.query("total").rows() == [{"qty": sum(qty or 0 for qty, _ in rows(db).values())}]


def test_under_an_alias(db: Database) -> None:
    db.sql("INSERT INTO stock AS s (item, qty) VALUES (1, 1) ON CONFLICT DO UPDATE SET qty = s.qty - excluded.qty")
    assert rows(db)[1] == (9, "a")


def test_in_a_transaction_the_rows_before_count(db: Database) -> None:
    with db.transaction() as tx:
        tx.sql("INSERT INTO stock VALUES (8, 1, 'n')")
        tx.sql("DELETE FROM stock WHERE item = 1")
        result = tx.sql("""INSERT INTO stock VALUES (8, 2, 'm'), (1, 2, 'm')
                           ON CONFLICT DO UPDATE SET qty = stock.qty + excluded.qty""")
        assert isinstance(result, tidings.AffectedRows)
        assert (result.inserted, result.updated) == (1, 1)
    assert (rows(db)[8], rows(db)[1]) == ((3, "n"), (2, "m"))


def test_an_action_of_a_rule_may_upsert(db: Database) -> None:
    db.sql("""
        CREATE TABLE peak (item BIGINT PRIMARY KEY, qty INT);
        CREATE RULE peaks WHEN SELECT item, qty FROM stock WHERE qty > 50
        DO INSERT INTO peak SELECT item, qty FROM condition
           ON CONFLICT (item) DO UPDATE SET qty = greatest(peak.qty, excluded.qty)
    """)
    for qty in (60, 10, 90, 55):
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
        db.advance()
    assert db.query("peak").rows() == [{"item": 1, "qty": 90}]


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("INSERT INTO stock VALUES (1, 1, 'x'), (1, 2, 'x') ON CONFLICT DO NOTHING", AmbiguousUpsert),
        ("INSERT INTO stock VALUES (1, 1, 'x'), (1, 1, 'x') ON CONFLICT DO UPDATE SET qty = 1", AmbiguousUpsert),
        ("INSERT INTO stock VALUES (1, 1, 'x') ON CONFLICT (qty) DO NOTHING", InvalidExpression),
        ("INSERT INTO stock VALUES (1, 1, 'x') ON CONFLICT (no) DO NOTHING", UnknownColumn),
        ("INSERT INTO stock VALUES (1, 1, 'x') ON CONFLICT DO UPDATE SET no = 1", UnknownColumn),
        ("INSERT INTO stock VALUES (1, 1, 'x') ON CONFLICT DO UPDATE SET qty = excluded.no", UnknownColumn),
        ("INSERT INTO stock VALUES (1, 1, 'x') ON CONFLICT DO UPDATE SET item = 2", DuplicateKey),
        ("INSERT INTO stock VALUES (NULL, 1, 'x') ON CONFLICT DO NOTHING", NullNotAllowed),
        ("INSERT INTO bag VALUES (1) ON CONFLICT DO NOTHING", KeyNeeded),
        ("INSERT INTO stock AS excluded VALUES (1, 1, 'x') ON CONFLICT DO NOTHING", InvalidExpression),
        ("INSERT INTO total VALUES (1) ON CONFLICT DO NOTHING", NotATable),
    ],
)
def test_refusals(db: Database, statement: str, condition: type[Exception]) -> None:
    with pytest.raises(condition):
        db.sql(statement)
    assert rows(db) == BEFORE


def test_by_rows(db: Database) -> None:
    with db.transaction() as tx:
        affected = tx.upsert("stock", [{"item": 2, "qty": 1}, (4, 4, "d"), {"item": 5}, {"item": 5, "name": "e"}])
        assert (affected.inserted, affected.updated, affected.count) == (2, 1, 3)
    assert rows(db) == {**BEFORE, 2: (1, "b"), 4: (4, "d"), 5: (7, "e")}


@pytest.mark.parametrize("shape", ["arrow", "pandas", "polars", "generator", "file"])
def test_by_rows_of_every_kind(db: Database, shape: str, tmp_path: Path) -> None:
    table = pa.table({"item": [2, 4], "qty": [1, 4]})
    given: Any = table
    if shape == "pandas":
        given = table.to_pandas()
    elif shape == "polars":
        given = pytest.importorskip("polars").from_arrow(table)
    elif shape == "generator":
        given = (row for row in table.to_pylist())
    elif shape == "file":
        given = tmp_path / "rows.csv"
        given.write_text("item,qty\n2,1\n4,4\n")
    with db.transaction() as tx:
        tx.upsert("stock", given)
    assert rows(db) == {**BEFORE, 2: (1, "b"), 4: (4, None)}


def test_by_rows_refusals(db: Database) -> None:
    with pytest.raises(KeyNeeded), db.transaction() as tx:
        tx.upsert("bag", [{"x": 1}])
    with pytest.raises(InvalidRow), db.transaction() as tx:
        tx.upsert("stock", [{"qty": 1}])
    with pytest.raises(InvalidRow), db.transaction() as tx:
        tx.upsert("stock", [{"item": 1, "no": 1}])
    assert rows(db) == BEFORE


@pytest.mark.parametrize("seed", range(4))
def test_random_histories(db: Database, seed: int) -> None:
    """Upserts by SQL and by rows beside plain changes, against a dictionary; a stored view keeps up."""
    choose = random.Random(seed)
    model = dict(BEFORE)
    for _ in range(12):
        with db.transaction() as tx:
            for _ in range(choose.randint(1, 3)):
                items = choose.sample(range(1, 9), choose.randint(1, 4))
                new = [(item, choose.choice([None, 1, 2, 50]), choose.choice("xyz")) for item in items]
                values = ", ".join(f"({i}, {'NULL' if q is None else q}, '{n}')" for i, q, n in new)
                match choose.randrange(4):
                    case 0:
                        tx.upsert("stock", new)
                        model |= {i: (q, n) for i, q, n in new}
                    case 1:
                        tx.sql(f"INSERT INTO stock VALUES {values} ON CONFLICT DO NOTHING")
                        model = {i: (q, n) for i, q, n in new} | model
                    case 2:
                        tx.sql(f"""INSERT INTO stock VALUES {values} ON CONFLICT (item)
                                   DO UPDATE SET qty = stock.qty + excluded.qty WHERE excluded.name <> 'x'""")
                        for i, q, n in new:
                            old = model.get(i)
                            if old is None:
                                model[i] = (q, n)
                            elif n != "x":
                                model[i] = (None if q is None or old[0] is None else old[0] + q, old[1])
                    case _:
                        tx.sql(f"DELETE FROM stock WHERE item IN ({', '.join(map(str, items))})")
                        model = {i: row for i, row in model.items() if i not in items}
        assert rows(db) == model
        known = [qty for qty, _ in model.values() if qty is not None]
        assert db.query("total").rows() == [{"qty": sum(known) if known else None}]
        if choose.random() < 0.2:
            db.fold()
