"""Deferred rules: judged before the commit over what the transaction did, run one after the other."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

import tidings
from tidings import Database
from tidings.errors import CascadeTooLong, RuleFailed, RuleRaised, UnknownProcedure, UnknownTransactionState
from tidings.read.slice_deltas import SliceDeltas
from tidings.write.transaction import Transaction

LOW = "WHEN SELECT item FROM low"
NOW = "WITH (action = 'deferred')"


def rows(db: Database, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(r.values()) for r in db.query(table).rows())


def fired(db: Database) -> list[tuple[str, int]]:
    found = db.query("SELECT id, rule, instances FROM tidings.firings").rows()
    return [(r["rule"], r["instances"]) for r in sorted(found, key=lambda r: r["id"])]


def test_sql_over_the_condition(db: Database) -> None:
    db.sql(f"CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition {NOW}")
    db.sql("UPDATE stock SET qty = 5 WHERE item IN (1, 2)")
    assert rows(db, "orders") == [(1, 50), (2, 50)]
    assert fired(db) == [("reorder", 2)]


def test_once_per_shortage(db: Database) -> None:
    db.sql(f"CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition {NOW}")
    for qty in (5, 4, 100, 3):
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    assert rows(db, "orders") == [(1, 50), (1, 50)]


def test_what_comes_and_goes_within_a_transaction_does_not_fire(db: Database) -> None:
    db.sql(f"CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition {NOW}")
    with db.transaction() as tx:
        tx.sql("UPDATE stock SET qty = 5 WHERE item = 1")
        tx.sql("UPDATE stock SET qty = 50 WHERE item = 1")
    assert fired(db) == []


def test_gone_and_changed(db: Database) -> None:
    db.sql(f"""
        CREATE RULE back WHEN GONE SELECT item FROM low DO INSERT INTO log SELECT 'back', item FROM condition {NOW};
        CREATE RULE moved WHEN CHANGED SELECT item, qty FROM low
          DO INSERT INTO log SELECT concat(change, ' ', qty, ' ', coalesce(old_qty, 0)), item FROM condition
          WITH (action = 'deferred', key = item)
    """)
    for qty in (5, 4, 100):
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    assert rows(db, "log") == [("back", 1), ("came 5 0", 1), ("changed 4 5", 1), ("went 4 0", 1)]


def test_instances_by_key(db: Database) -> None:
    db.sql("""
        CREATE RULE reorder WHEN SELECT item, 100 - qty AS amount FROM low
          DO INSERT INTO orders SELECT item, amount FROM condition WITH (action = 'deferred', key = item)
    """)
    for qty in (5, 4, 100, 3):
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    assert rows(db, "orders") == [(1, 95), (1, 97)]


def test_nervous_fires_for_what_is_touched_and_still_true(db: Database) -> None:
    db.sql(f"""
        CREATE RULE calm {LOW} DO INSERT INTO log SELECT 'calm', item FROM condition {NOW};
        CREATE RULE nervous {LOW} DO INSERT INTO log SELECT 'nervous', item FROM condition
          WITH (action = 'deferred', semantics = 'nervous')
    """)
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    db.sql("UPDATE stock SET qty = 4 WHERE item = 1")
    db.sql("UPDATE stock SET qty = 99 WHERE item = 2")
    assert fired(db) == [("calm", 1), ("nervous", 1), ("nervous", 1)]


def test_procedures_get_all_rows_or_one_by_one(db: Database) -> None:
    seen: list[object] = []

    @db.procedure("all_of_them")
    def all_of_them(rows: list[dict[str, Any]]) -> None:
        seen.append(sorted(r["item"] for r in rows))

    @db.procedure("one", each=True)
    def one(row: dict[str, Any], tx: Transaction) -> None:
        tx.insert("orders", [{"item": row["item"], "qty": row["wanted"]}])
        assert tx.query("orders").rows()

    db.sql(f"""
        CREATE RULE a {LOW} DO CALL all_of_them(item) {NOW};
        CREATE RULE b WHEN SELECT item, qty FROM low DO CALL one(item, 100 - qty AS wanted) {NOW}
    """)
    db.sql("UPDATE stock SET qty = 5")
    assert seen == [[1, 2]]
    assert rows(db, "orders") == [(1, 95), (2, 95)]


def test_an_action_cannot_end_the_transaction(db: Database) -> None:
    @db.procedure("end")
    def end(rows: list[dict[str, Any]], tx: Transaction) -> None:
        tx.commit()

    db.sql(f"CREATE RULE a {LOW} DO CALL end() {NOW}")
    with pytest.raises(RuleFailed) as refused:
        db.sql("UPDATE stock SET qty = 5")
    assert isinstance(refused.value.__cause__, UnknownTransactionState)
    assert rows(db, "stock") == [(1, 100), (2, 100)]


def test_raise_refuses_the_transaction_and_carries_the_rows(db: Database) -> None:
    db.sql("CREATE RULE never WHEN SELECT item, qty FROM stock WHERE qty < 0 DO RAISE 'less than nothing'")
    with pytest.raises(RuleRaised) as refused:
        db.sql("UPDATE stock SET qty = -1 WHERE item = 2")
    assert refused.value.parameters["rows"] == [{"item": 2, "qty": -1}]
    assert rows(db, "stock") == [(1, 100), (2, 100)]
    assert fired(db) == []
    with pytest.raises(RuleRaised), db.transaction() as tx:
        tx.insert("stock", [(3, -5)])
    with pytest.raises(UnknownTransactionState):
        tx.commit()


def test_by_priority_then_by_age(db: Database) -> None:
    for name, priority in (("first", 0), ("second", 0), ("third", 5), ("fourth", -1)):
        db.sql(f"""
            CREATE RULE {name} {LOW} DO INSERT INTO log SELECT '{name}', item FROM condition
              WITH (priority = {priority}, action = 'deferred')
        """)
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    assert [name for name, _ in fired(db)] == ["third", "first", "second", "fourth"]


def test_effects_propagate_before_the_next_choice(db: Database) -> None:
    """The first rule takes the second one's instance away, and gives the third one one."""
    db.sql(f"""
        CREATE RULE refill {LOW} DO UPDATE stock SET qty = 100 WHERE item IN (SELECT item FROM condition)
          WITH (priority = 9, action = 'deferred');
        CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition {NOW};
        CREATE RULE much WHEN SELECT item FROM stock WHERE qty > 99
          DO INSERT INTO log SELECT 'much', item FROM condition {NOW}
    """)
    db.sql("INSERT INTO lim VALUES (3, 10); INSERT INTO stock VALUES (3, 1)")
    assert fired(db) == [("refill", 1), ("much", 1)]
    assert rows(db, "orders") == []


def test_a_cascade_ends_where_nothing_is_triggered(db: Database) -> None:
    db.sql(f"""
        CREATE RULE down WHEN SELECT item, qty FROM stock WHERE qty BETWEEN 1 AND 30
          DO UPDATE stock SET qty = qty - 1 WHERE item IN (SELECT item FROM condition) {NOW}
    """)
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    assert rows(db, "stock") == [(1, 0), (2, 100)]
    assert len(fired(db)) == 5


def test_a_cascade_without_end_is_refused_and_named(db: Database) -> None:
    db.sql(f"""
        CREATE RULE up WHEN SELECT item, qty FROM stock WHERE qty % 2 = 1
          DO UPDATE stock SET qty = qty + 1 WHERE item IN (SELECT item FROM condition) {NOW};
        CREATE RULE on_and_on WHEN SELECT item, qty FROM stock WHERE qty % 2 = 0
          DO UPDATE stock SET qty = qty + 1 WHERE item IN (SELECT item FROM condition) {NOW}
    """)
    with pytest.raises(CascadeTooLong) as refused:
        db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    assert refused.value.parameters == {"bound": 64, "cycle": "up → on_and_on → up"}
    assert rows(db, "stock") == [(1, 100), (2, 100)]


def test_how_many_actions_may_follow_is_a_setting() -> None:
    for bound, expected in ((4, CascadeTooLong), (5, None)):
        with tidings.open(engine="duckdb", cascade=bound) as small:
            small.sql(f"""
                CREATE TABLE t (n INT);
                CREATE RULE down WHEN SELECT n FROM t WHERE n > 0 DO UPDATE t SET n = n - 1 {NOW}
            """)
            with pytest.raises(expected) if expected else nullcontext():
                small.sql("INSERT INTO t VALUES (5)")


def test_an_error_in_an_action_rolls_everything_back(db: Database) -> None:
    db.sql(f"CREATE RULE a {LOW} DO CALL nobody(item) {NOW}")
    with pytest.raises(RuleFailed) as refused:
        db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    assert isinstance(refused.value.__cause__, UnknownProcedure)
    assert rows(db, "stock") == [(1, 100), (2, 100)]
    (rule,) = db.query("SELECT error FROM tidings.rules").rows()
    assert rule["error"].startswith("UnknownProcedure")


def test_what_does_not_concern_a_rule_costs_no_wave(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = SliceDeltas.delta

    def noted(deltas: SliceDeltas, name: str, *more: Any, **options: Any) -> Any:
        asked.append(name)
        return ask(deltas, name, *more, **options)

    monkeypatch.setattr(SliceDeltas, "delta", noted)
    db.sql(f"CREATE RULE a {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition {NOW}")
    db.sql("INSERT INTO log VALUES ('x', 1)")
    assert asked == []
    db.sql("INSERT INTO stock VALUES (3, 1)")
    assert asked == ["a"]


def test_what_others_commit_meanwhile_counts(db: Database) -> None:
    db.sql(f"CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition {NOW}")
    first = db.transaction()
    first.sql("INSERT INTO stock VALUES (3, 1)")
    with db.transaction() as second:
        second.sql("INSERT INTO lim VALUES (3, 10)")
    first.commit()
    assert rows(db, "orders") == [(3, 50)]


@pytest.mark.parametrize("refresh", ["on advance", "immediate", "manual"])
def test_conditions_over_stored_views(db: Database, refresh: str) -> None:
    """A stored view is what the transaction would see, wherever its rows are."""
    db.sql(f"""
        CREATE MATERIALIZED VIEW total WITH (refresh = '{refresh}') AS SELECT count(*) AS n, sum(qty) AS qty FROM stock;
        CREATE RULE little WHEN SELECT n FROM total WHERE qty < 100
          DO INSERT INTO log SELECT 'little', CAST(n AS INT) FROM condition {NOW}
    """)
    db.sql("UPDATE stock SET qty = 60")
    db.sql("UPDATE stock SET qty = 40")
    db.advance()
    db.sql("UPDATE stock SET qty = 30")
    db.sql("UPDATE stock SET qty = 300")
    db.sql("UPDATE stock SET qty = 30")
    assert rows(db, "log") == [("little", 2), ("little", 2)]


def test_several_changes_of_one_transaction_meet(db: Database) -> None:
    db.sql(f"CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition {NOW}")
    with db.transaction() as tx:
        tx.insert("stock", [(3, 1)])
        tx.insert("lim", [(3, 10)])
        tx.delete("lim", [(1,)])
        tx.update("stock", [{"item": 1, "qty": 0}])
    assert rows(db, "orders") == [(3, 50)]
