"""Rules that differ in constants are judged by one query."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rules.test_agenda import NOW, fired, rows
from tidings import Database
from tidings.read.slice_deltas import SliceDeltas


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is judged."""
    names: list[str] = []
    ask = SliceDeltas.delta

    def noted(deltas: SliceDeltas, name: str, *more: Any, **options: Any) -> Any:
        names.append(name)
        return ask(deltas, name, *more, **options)

    monkeypatch.setattr(SliceDeltas, "delta", noted)
    return names


def test_one_query_for_all_rules_of_a_shape(db: Database, asked: list[str]) -> None:
    for n in range(30):
        db.sql(f"""
            CREATE RULE r{n} WHEN SELECT item FROM stock WHERE qty < {n} AND item = {n % 2 + 1}
              DO INSERT INTO log SELECT 'r{n}', item FROM condition {NOW}
        """)
    db.sql("UPDATE stock SET qty = 27")
    assert fired(db) == [("r28", 1), ("r29", 1)]
    assert rows(db, "log") == [("r28", 1), ("r29", 2)]
    assert len(asked) == 1
    db.sql("UPDATE stock SET qty = 26")
    assert [name for name, _ in fired(db)][2:] == ["r27"]
    assert len(asked) == 2


def test_dropped_and_replaced_rules_leave_their_shape(db: Database) -> None:
    for n in (10, 20, 30):
        db.sql(f"CREATE RULE r{n} WHEN SELECT item FROM stock WHERE qty < {n} DO RAISE 'r{n}' {NOW}")
    db.sql("DROP RULE r20; DISABLE RULE r10")
    db.sql("CREATE OR REPLACE RULE r30 WHEN SELECT item FROM stock WHERE qty < 3 DO RAISE 'r3'")
    db.sql("UPDATE stock SET qty = 5")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT item FROM stock WHERE item = 1 OR qty > (SELECT max(qty) FROM stock WHERE item < {n})",
        "SELECT count(*) AS item FROM stock WHERE qty < {n}",
        "SELECT item + {n} AS item FROM stock WHERE qty < 50",
    ],
)
def test_other_queries_are_judged_alone(db: Database, asked: list[str], query: str) -> None:
    for n in (1, 2):
        text = query.format(n=n)
        db.sql(f"CREATE RULE r{n} WHEN {text} DO INSERT INTO log SELECT 'x', CAST(item AS INT) FROM condition {NOW}")
    db.sql("UPDATE stock SET qty = 5")
    assert set(asked) == {"r1", "r2"}


def test_constants_below_zero(db: Database, asked: list[str]) -> None:
    for n in range(10):
        db.sql(f"""
            CREATE RULE r{n} WHEN SELECT item FROM stock WHERE qty < -{n}
              DO INSERT INTO log SELECT 'r{n}', item FROM condition {NOW}
        """)
    db.sql("UPDATE stock SET qty = -3 WHERE item = 1")
    assert rows(db, "log") == [("r0", 1), ("r1", 1), ("r2", 1)]
    assert len(asked) == 1
