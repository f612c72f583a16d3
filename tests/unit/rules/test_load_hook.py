"""Rules fire for what is loaded: first rows as a whole, a history transaction by transaction."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tests.unit.rules.test_agenda import fired, rows
from tests.unit.rules.test_coupling import states
from tidings import Database, ManualClock
from tidings.errors import RuleRaised, UnsupportedStatement

LOW = "WHEN SELECT s.item FROM stock s JOIN lim l ON s.item = l.item WHERE s.qty < l.least"
STOCK = pa.table({"item": pa.array([1, 2, 3], pa.int32()), "qty": pa.array([5, 50, 6], pa.int32())})
COUPLINGS = [
    ("immediate", "immediate"),
    ("immediate", "detached"),
    ("deferred", "deferred"),
    ("deferred", "detached"),
    ("detached", "detached"),
]


@pytest.fixture
def shop(clock: ManualClock) -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql("""
            CREATE TABLE stock (item INT PRIMARY KEY, qty INT); CREATE TABLE lim (item INT, least INT);
            CREATE TABLE log (what STRING, item INT); INSERT INTO lim VALUES (1, 10), (2, 10), (3, 10);
        """)
        yield db


@pytest.mark.parametrize(("condition", "action"), COUPLINGS)
def test_first_rows_trigger_rules_of_all_couplings(shop: Database, condition: str, action: str) -> None:
    shop.sql(f"""
        CREATE MATERIALIZED VIEW low AS SELECT s.item FROM stock s JOIN lim l ON s.item = l.item WHERE s.qty < l.least;
        CREATE RULE short WHEN SELECT item FROM low DO INSERT INTO log SELECT 'short', item FROM condition
          WITH (condition = '{condition}', action = '{action}')
    """)
    shop.load("stock", STOCK)
    expected = [("short", 1), ("short", 3)]
    assert rows(shop, "log") == ([] if action == "detached" else expected)
    shop.advance()
    shop.advance()
    assert (rows(shop, "log"), fired(shop)) == (expected, [("short", 2)])
    shop.sql("UPDATE stock SET qty = 7 WHERE item = 3; UPDATE stock SET qty = 8 WHERE item = 2")
    shop.advance()
    assert fired(shop) == [("short", 2), ("short", 1)]


@pytest.mark.spark
def test_first_rows_on_spark(spark: Any) -> None:
    with tidings.open(engine="spark", spark=spark) as db:
        db.sql("CREATE TABLE stock (item INT, qty INT); CREATE TABLE log (what STRING, item INT)")
        db.sql("""
            CREATE MATERIALIZED VIEW low AS SELECT item FROM stock WHERE qty < 10;
            CREATE RULE short WHEN SELECT item FROM low DO INSERT INTO log SELECT 'short', item FROM condition
              WITH (action = 'deferred');
            CREATE RULE came ON INSERT INTO stock WHEN SELECT new.item FROM CHANGES(stock) WHERE new.qty > 10
              DO INSERT INTO log SELECT 'came', item FROM condition WITH (condition = 'detached', action = 'immediate')
        """)
        db.load("stock", spark.createDataFrame(STOCK.to_pandas()).selectExpr("item", "qty"))
        assert rows(db, "log") == [("came", 2), ("short", 1), ("short", 3)]


def test_a_rule_may_refuse_first_rows(shop: Database) -> None:
    shop.sql("CREATE RULE never WHEN SELECT item, qty FROM stock WHERE qty < 6 DO RAISE 'too little'")
    with pytest.raises(RuleRaised) as refused:
        shop.load("stock", STOCK)
    assert refused.value.parameters["rows"] == [{"item": 1, "qty": 5}]
    assert (rows(shop, "stock"), fired(shop)) == ([], [])
    shop.sql("DROP RULE never")
    shop.load("stock", STOCK)
    assert len(rows(shop, "stock")) == 3


def test_events_and_changes_of_first_rows(shop: Database) -> None:
    for name, event in (("came", "INSERT INTO stock"), ("went", "DELETE FROM stock"), ("both", "UPDATE OF stock")):
        shop.sql(f"""
            CREATE RULE {name} ON {event} WHEN SELECT new.item, old.item AS o FROM CHANGES(stock) WHERE new.qty > 5
              DO INSERT INTO log SELECT '{name}', item FROM condition WITH (action = 'deferred')
        """)
    shop.load("stock", STOCK)
    assert rows(shop, "log") == [("came", 2), ("came", 3)]


def test_activations_that_are_loaded(shop: Database) -> None:
    shop.load("stock", STOCK)
    for name, initial in (("fresh", ""), ("known", ", initial")):
        shop.sql(f"""
            CREATE RULE {name} (i INT) WHEN SELECT item FROM stock WHERE item = i
              DO INSERT INTO log SELECT '{name}', item FROM condition WITH (action = 'deferred'{initial})
        """)
        shop.load(f"activations_of_{name}", pa.table({"i": pa.array([1, 2], pa.int32())}))
    assert rows(shop, "log") == [("known", 1), ("known", 2)]


def test_nothing_fires_for_an_empty_load(shop: Database) -> None:
    shop.sql("CREATE RULE any WHEN SELECT count(*) AS item FROM stock DO NOTIFY 'x'")
    shop.load("stock", STOCK.slice(0, 0))
    assert fired(shop) == []


def test_an_event_is_signalled_not_loaded(shop: Database) -> None:
    shop.sql("CREATE EVENT e (x INT)")
    with pytest.raises(UnsupportedStatement):
        shop.load("e", pa.table({"x": [1]}))


def test_what_a_load_makes_rules_do_is_kept_with_it(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        db.sql("CREATE TABLE stock (item INT, qty INT); CREATE TABLE log (what STRING, item INT)")
        db.sql("CREATE RULE tell WHEN SELECT item FROM stock WHERE qty < 10 DO NOTIFY 'buyers'")
        db.sql("CREATE RULE note WHEN SELECT item FROM stock DO INSERT INTO log SELECT 'x', item FROM condition")
        db.load("stock", STOCK)
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        assert states(db) == [("tell", "sent"), ("note", "waiting")]
        db.advance()
        assert len(rows(db, "log")) == 3
        with db.deliveries.listen("buyers") as heard:
            db.deliveries.step()
            notice = heard.get(1)
            assert notice is not None
            assert notice.payload["data"]["rows"] == [{"item": 1}, {"item": 3}]


def history(*minutes_and_values: tuple[int, int]) -> Any:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(minutes=m) for m, _ in minutes_and_values]
    return pa.table(
        {
            "value": pa.array([v for _, v in minutes_and_values], pa.int32()),
            "at": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


@pytest.fixture
def readings(clock: ManualClock) -> Iterator[Database]:
    clock.set(datetime(2026, 2, 1, tzinfo=UTC))
    with tidings.open(engine="duckdb", clock=clock, retention=None) as db:
        db.sql("""
            CREATE TABLE reading (value INT, at TIMESTAMP) WITH (append_only, time = at);
            CREATE TABLE log (what STRING, item INT);
            CREATE VIEW top AS SELECT max(value) AS value FROM reading
        """)
        yield db


@pytest.mark.parametrize(("condition", "action"), COUPLINGS)
def test_a_history_is_judged_transaction_by_transaction(readings: Database, condition: str, action: str) -> None:
    readings.sql(f"""
        CREATE RULE record WHEN SELECT value FROM top DO INSERT INTO log SELECT 'top', value FROM condition
          WITH (condition = '{condition}', action = '{action}')
    """)
    readings.load("reading", history((0, 3), (5, 2), (7, 9), (7, 4), (8, 9)))
    readings.advance()
    readings.advance()
    assert rows(readings, "log") == [("top", 3), ("top", 9)]
    assert fired(readings) == [("record", 1), ("record", 1)]
    readings.sql("INSERT INTO reading (value) VALUES (11)")
    readings.advance()
    assert rows(readings, "log") == [("top", 3), ("top", 9), ("top", 11)]


def test_a_rule_may_refuse_a_history(readings: Database) -> None:
    readings.sql("CREATE RULE never WHEN SELECT value FROM reading WHERE value < 0 DO RAISE 'less than nothing'")
    with pytest.raises(RuleRaised):
        readings.load("reading", history((0, 3), (5, -2)))
    assert (rows(readings, "reading"), fired(readings)) == ([], [])
    readings.load("reading", history((0, 3)))
    assert len(rows(readings, "reading")) == 1
