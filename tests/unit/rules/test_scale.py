"""Many rules, many activations, and commits that concern nobody: what is asked of the engine is counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tests.unit.rules.test_agenda import fired
from tidings import Database

SHAPES = (
    "qty < {n}",
    "qty > {n} AND item = 1",
    "qty <= {n} AND item <> 2",
    "qty >= 100 AND item < {n}",
    "qty = {n}",
    "qty <> 77 AND item > {n}",
    "qty BETWEEN {n} AND 50",
    "qty + 1 < {n}",
    "qty * 2 > {n}",
    "qty % 7 = {n}",
    "name = 'item {n}'",
    "name <> 'item {n}' AND qty < 0",
    "name < 'item {n}'",
    "'item {n}' < name AND item = 4",
    "qty < {n}.5",
    "qty > {n}.25 AND item = 3",
    "qty - item < -{n}",
    "item = {n} OR qty = 0",
    "abs(qty) = {n}",
    "qty < item * 10 AND qty > {n}",
)


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def shop(request: pytest.FixtureRequest) -> Iterator[Database]:
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    with tidings.open(engine=request.param, spark=session, execution="spark") as db:
        db.sql("""
            CREATE TABLE stock (item INT PRIMARY KEY, name STRING, qty INT); CREATE TABLE log (rule STRING, item INT);
            CREATE TABLE other (x INT);
            CREATE EVENT nobody_cares (x INT)
        """)
        yield db


@pytest.fixture
def asked(shop: Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that the engine is given."""
    texts: list[str] = []
    fetch = shop._parts.backend.fetch

    def noted(text: str, *more: Any, **named: Any) -> Any:
        texts.append(text)
        return fetch(text, *more, **named)

    monkeypatch.setattr(shop._parts.backend, "fetch", noted)
    return texts


def write_rules(db: Database, count: int) -> None:
    """Rules of twenty shapes; those of one shape have other numbers."""
    db.sql(
        "; ".join(
            f"CREATE RULE r{n} WHEN SELECT item FROM stock WHERE {SHAPES[n % 20].format(n=n // 20)}"
            f" DO INSERT INTO log SELECT 'r{n}', item FROM condition"
            for n in range(count)
        )
    )


def test_rules_of_twenty_shapes_are_twenty_queries(shop: Database, asked: list[str]) -> None:
    count, in_one = 60, shop._parts.backend.name == "spark"  # there all share one query
    write_rules(shop, count)
    assert len({id(s) for s in shop._parts.registry.shapes().values()}) == 20
    asked.clear()
    with shop.transaction() as tx:
        tx.insert("stock", [(1, "item 3", 4), (3, "item 9", 30)])
    assert len(asked) == (1 if in_one else 20)
    together = sorted(fired(shop))
    shop.sql("DELETE FROM stock")
    shop._parts.registry._shapes = {}
    asked.clear()
    with shop.transaction() as tx:
        tx.insert("stock", [(1, "item 3", 4), (3, "item 9", 30)])
    assert len(asked) == (2 if in_one else count)  # of up to forty each
    assert sorted(fired(shop)) == sorted(together * 2)
    assert len(together) > 5


def test_commits_that_concern_nobody_ask_nothing(shop: Database, asked: list[str]) -> None:
    write_rules(shop, 40)
    shop.sql("CREATE RULE off WHEN SELECT x FROM other DO NOTIFY 'x' WITH (enabled = false)")
    asked.clear()
    with shop.transaction() as tx:
        tx.insert("other", [(1,), (2,)])
        tx.signal("nobody_cares", [(1,)])
    assert asked == []
    assert fired(shop) == []


def test_an_empty_change_stops_the_wave(shop: Database, asked: list[str]) -> None:
    """What comes and goes again is not looked at."""
    write_rules(shop, 20)
    asked.clear()
    tx = shop.transaction()
    tx.insert("stock", [(1, "x", 4)])
    tx.delete("stock", [(1, "x", 4)])
    before = len(asked)
    tx.commit()
    assert len(asked) == before
    assert fired(shop) == []


def test_many_activations_are_one_join(shop: Database, asked: list[str]) -> None:
    shop.sql("""
        CREATE RULE watch (i INT, least INT) WHEN SELECT item, qty FROM stock WHERE item = i AND qty < least
          DO INSERT INTO log SELECT 'watch', item FROM condition
    """)
    many = 100_000
    columns = {"i": pa.array(range(many), pa.int32()), "least": pa.array([50] * many, pa.int32())}
    shop.load("activations_of_watch", pa.table(columns))
    asked.clear()
    with shop.transaction() as tx:
        tx.insert("stock", [(n, "x", n % 100) for n in range(0, 200, 10)])
    assert len(asked) == 1
    assert fired(shop) == [("watch", 10)]
