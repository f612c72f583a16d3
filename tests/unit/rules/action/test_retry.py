"""Detached actions that fail are tried again, given up in the end, and shown all the while."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tidings
from tests.unit.rules.test_coupling import states
from tidings import Database, ManualClock
from tidings.deliver.deliveries import DeliverySettings
from tidings.errors import RuleFailed, RuleRaised
from tidings.retry_policy import SECOND, RetryPolicy

PATIENT = DeliverySettings(policy=RetryPolicy(attempts=3, first=10 * SECOND, factor=2, jitter=0))
RULE = "CREATE RULE reorder WHEN SELECT item FROM stock WHERE qty < 10 DO CALL order_item(item)"


class Supplier:
    """Fails for as long as it is told to."""

    def __init__(self, db: Database) -> None:
        self.calls: list[list[int]] = []
        self.fails = True
        db.procedure("order_item")(self)

    def __call__(self, rows: list[dict[str, Any]]) -> None:
        self.calls.append([r["item"] for r in rows])
        if self.fails:
            raise ValueError("no luck")


def opened(path: Path, clock: ManualClock) -> Database:
    return tidings.open(path, engine="duckdb", clock=clock, deliveries=PATIENT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "d"


@pytest.fixture
def shop(path: Path, clock: ManualClock) -> Iterator[Database]:
    with opened(path, clock) as db:
        db.sql(f"CREATE TABLE stock (item INT PRIMARY KEY, qty INT); {RULE}")
        db.sql("INSERT INTO stock VALUES (1, 5)")
        yield db


def error(db: Database) -> str | None:
    (row,) = db.query("SELECT error FROM tidings.rules").rows()
    return row["error"]  # type: ignore[no-any-return]


def test_tried_again_after_a_while(shop: Database, clock: ManualClock) -> None:
    supplier = Supplier(shop)
    shop.advance()
    shop.advance()
    assert (supplier.calls, states(shop), error(shop)) == ([[1]], [("reorder", "retrying")], "ValueError: no luck")
    supplier.fails = False
    clock.advance(timedelta(seconds=9))
    shop.advance()
    assert len(supplier.calls) == 1
    clock.advance(timedelta(seconds=1))
    shop.advance()
    assert (supplier.calls, states(shop), error(shop)) == ([[1], [1]], [("reorder", "done")], None)
    (sent,) = shop.query("SELECT channel, target, state, attempts FROM tidings.deliveries").rows()
    assert sent == {"channel": "action", "target": "call order_item", "state": "delivered", "attempts": 2}


def test_given_up_in_the_end_and_redelivered(shop: Database, clock: ManualClock) -> None:
    supplier = Supplier(shop)
    for _ in range(5):
        shop.advance()
        clock.advance(timedelta(seconds=20))
    assert len(supplier.calls) == 3
    assert (states(shop), error(shop)) == ([("reorder", "failed")], "ValueError: no luck")
    (dead,) = shop.deliveries.dead()
    assert (dead.attempts, dead.error) == (3, "ValueError: no luck")
    supplier.fails = False
    shop.advance()
    assert len(supplier.calls) == 3
    assert shop.deliveries.redeliver(dead.message.id) == 1
    shop.advance()
    assert (len(supplier.calls), states(shop), error(shop)) == (4, [("reorder", "done")], None)


def test_what_is_to_be_tried_survives(shop: Database, path: Path, clock: ManualClock) -> None:
    Supplier(shop)
    shop.advance()
    shop.close()
    clock.advance(timedelta(seconds=10))
    with opened(path, clock) as again:
        assert (states(again), error(again)) == ([("reorder", "retrying")], "ValueError: no luck")
        supplier = Supplier(again)
        supplier.fails = False
        again.advance()
        assert (supplier.calls, states(again)) == ([[1]], [("reorder", "done")])


def test_an_action_whose_procedure_is_not_registered_waits(shop: Database, clock: ManualClock) -> None:
    for _ in range(5):
        shop.advance()
        clock.advance(timedelta(hours=1))
    assert states(shop) == [("reorder", "waiting")]
    assert str(error(shop)).startswith("UnknownProcedure")
    supplier = Supplier(shop)
    supplier.fails = False
    shop.advance()
    assert (supplier.calls, states(shop), error(shop)) == ([[1]], [("reorder", "done")], None)


def test_others_are_not_held_up_and_show_that_the_rule_works(shop: Database, clock: ManualClock) -> None:
    supplier = Supplier(shop)
    shop.advance()
    supplier.fails = False
    shop.sql("INSERT INTO stock VALUES (2, 5)")
    shop.advance()
    assert supplier.calls == [[1], [2]]
    assert (states(shop), error(shop)) == ([("reorder", "retrying"), ("reorder", "done")], "ValueError: no luck")


def test_sql_is_tried_again_too_and_done_once(shop: Database, clock: ManualClock) -> None:
    """Nothing remains of an attempt that fails, and what another rule refuses may be taken later."""
    shop.sql("""
        DROP RULE reorder; CREATE TABLE orders (item INT); CREATE TABLE closed (day INT); INSERT INTO closed VALUES (1);
        CREATE RULE reorder WHEN SELECT item FROM stock WHERE qty < 10 DO INSERT INTO orders SELECT item FROM condition;
        CREATE RULE never WHEN SELECT o.item FROM orders o CROSS JOIN closed c DO RAISE 'closed';
        INSERT INTO stock VALUES (2, 5)
    """)
    shop.advance()
    assert [f.state for f in shop._parts.registry.store.firings()][1:] == ["retrying"]
    with pytest.raises(RuleRaised):
        shop.sql("INSERT INTO orders VALUES (7)")
    shop.sql("DELETE FROM closed")
    clock.advance(timedelta(seconds=10))
    shop.advance()
    shop.advance()
    assert shop.query("orders").rows() == [{"item": 2}]


def test_a_dropped_rule_is_not_tried_again(shop: Database, clock: ManualClock) -> None:
    supplier = Supplier(shop)
    shop.advance()
    shop.sql("DROP RULE reorder")
    clock.advance(timedelta(minutes=1))
    shop.advance()
    assert (len(supplier.calls), states(shop)) == (1, [("reorder", "failed")])
    assert [e.error for e in shop.deliveries.dead()] == ["the rule was dropped"]


def test_what_is_to_be_tried_is_not_forgotten(shop: Database, clock: ManualClock) -> None:
    supplier = Supplier(shop)
    for _ in range(3):
        shop.advance()
        clock.advance(timedelta(seconds=20))
    shop.sql("INSERT INTO stock VALUES (2, 5)")
    clock.advance(timedelta(days=30))
    supplier.fails = False
    shop.advance()
    (dead,) = shop.deliveries.dead()
    shop.deliveries.redeliver(dead.message.id)
    shop.advance()
    assert supplier.calls[-1] == [1]
    shop.sql("INSERT INTO stock VALUES (3, 5)")
    clock.advance(timedelta(days=30))
    shop.advance()
    assert [f.id for f in shop._parts.registry.store.firings()] == [3]


def test_a_deferred_rule_is_shown_as_failing_until_it_works(shop: Database) -> None:
    shop.sql("DROP RULE reorder")
    shop.sql(f"{RULE} WITH (action = 'deferred')")
    with pytest.raises(RuleFailed):
        shop.sql("INSERT INTO stock VALUES (2, 5)")
    assert str(error(shop)).startswith("UnknownProcedure")
    supplier = Supplier(shop)
    supplier.fails = False
    shop.sql("INSERT INTO stock VALUES (2, 5)")
    assert error(shop) is None


def test_what_cannot_be_delivered_is_shown_at_the_rule(shop: Database) -> None:
    shop.sql("DROP RULE reorder; CREATE RULE tell WHEN SELECT item FROM stock DO NOTIFY 'buyers'")
    shop.deliveries.disable("notify", "buyers", "moved")
    shop.sql("INSERT INTO stock VALUES (2, 5)")
    assert error(shop) == "the target was disabled before"
    shop.deliveries.enable("notify", "buyers")
    shop.deliveries.step()
    assert error(shop) is None
