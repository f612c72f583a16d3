"""Transactions are watched by rules, if there are any."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW, NOW, rows
from tidings import Database
from tidings.errors import RuleRaised
from tidings.rules.coupling import RuleHook
from tidings.write.transaction import Transaction


def test_without_rules_there_is_no_hook(db: Database) -> None:
    with db._parts.transactions.begin() as workspace:
        assert workspace.hook is None


def test_rules_watch_a_transaction_and_know_its_depth(db: Database) -> None:
    db.sql(f"CREATE RULE refuse {LOW} DO RAISE 'too low' {NOW}")
    workspace = db._parts.transactions.begin(depth=3)
    assert isinstance(workspace.hook, RuleHook)
    assert workspace.hook.depth == 3
    Transaction(workspace).sql("UPDATE stock SET qty = 1 WHERE item = 1")
    with pytest.raises(RuleRaised):
        workspace.commit()
    assert rows(db, "stock") == [(1, 100), (2, 100)]


def test_a_commit_hook_is_called_with_the_commit_time(db: Database) -> None:
    times: list[int] = []
    with db._parts.transactions.begin(commit_hook=times.append) as workspace:
        Transaction(workspace).insert("log", [("x", 1)])
    assert times == [workspace.time] == [db.time]
