"""For what a rule would have fired over retained history."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW, fired
from tidings import Database, ManualClock
from tidings.errors import InvalidRule
from tidings.rules.detached.backtest import Backtested, backtest


@pytest.fixture
def history(db: Database, clock: ManualClock) -> Database:
    for second, qty in ((3, 5), (4, 100), (5, 3)):
        clock.set(second * 1_000_000)
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    return db


def test_transaction_by_transaction_and_nothing_is_recorded(history: Database) -> None:
    rule = history._parts.registry.find_or_propose(
        f"CREATE RULE r {LOW} DO INSERT INTO log SELECT 'x', item FROM condition"
    )
    expected = [Backtested(3_000_000, [{"item": 1}]), Backtested(5_000_000, [{"item": 1}])]
    assert backtest(history._parts.rules, rule, 0) == expected
    assert backtest(history._parts.rules, rule, 3_000_000) == expected[1:]
    assert backtest(history._parts.rules, rule, history.time) == []
    assert fired(history) == []


def test_only_while_it_is_effective(history: Database) -> None:
    text = f"CREATE RULE r {LOW} DO NOTIFY 'x' WITH (effective = '1970-01-01 00:00:04')"
    rule = history._parts.registry.find_or_propose(text)
    assert [b.time for b in backtest(history._parts.rules, rule, 0)] == [5_000_000]


def test_the_order_in_a_transaction_is_not_known(history: Database) -> None:
    text = f"CREATE RULE r ON INSERT INTO log THEN INSERT INTO orders {LOW} DO NOTIFY 'x'"
    with pytest.raises(InvalidRule):
        backtest(history._parts.rules, history._parts.registry.find_or_propose(text), 0)
