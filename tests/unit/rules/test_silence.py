"""Silences: what fires meanwhile is recorded, and not told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tidings
from tests.unit.rules.instance.test_lifecycle import low, notices, pass_minutes
from tests.unit.rules.test_agenda import LOW, rows
from tidings import Database, ManualClock
from tidings.errors import (
    InvalidExpression,
    InvalidRule,
    InvalidSyntax,
    UnknownColumn,
    UnknownRelation,
    UnknownRule,
    UnknownSilence,
)


def states(db: Database) -> list[tuple[str, list[Any]]]:
    """How firings stand, and their items."""
    return [(f.state, f.rows.column("item").to_pylist()) for f in db._parts.registry.store.firings()]


def silences(db: Database) -> list[tuple[Any, ...]]:
    found = db.query("SELECT id, rule, condition, comment, active FROM tidings.silences").rows()
    return sorted(tuple(r.values()) for r in found)


def test_a_silence_ends_by_itself(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x'")
    db.sql("SILENCE RULE tell FOR INTERVAL 2 HOURS COMMENT 'we move'")
    assert silences(db) == [(1, "tell", None, "we move", True)]
    low(db, 1)
    clock.advance(timedelta(hours=2, seconds=1))
    low(db, 2)
    assert states(db) == [("silenced", [1]), ("sent", [2])]
    assert notices(db) == [("begins", [2])]
    assert silences(db) == [(1, "tell", None, "we move", False)]


def test_a_silence_of_some_rows(db: Database) -> None:
    db.sql("CREATE RULE tell WHEN SELECT item, qty FROM low DO NOTIFY 'x'")
    db.sql("SILENCE RULE tell WHERE item = 1 AND qty > 2 FOR INTERVAL 1 HOUR")
    db.sql("UPDATE stock SET qty = 5")
    assert states(db) == [("sent", [2]), ("silenced", [1])]
    db.sql("UPDATE stock SET qty = 1")
    assert states(db)[2:] == [("sent", [1, 2])]
    assert silences(db) == [(1, "tell", "item = 1 AND qty > 2", None, True)]


def test_a_silence_is_taken_back(db: Database) -> None:
    db.sql(f"""
        CREATE RULE tell {LOW} DO NOTIFY 'x';
        SILENCE RULE tell WHERE item = 1 FOR INTERVAL 1 HOUR;
        SILENCE RULE tell WHERE item = 2 FOR INTERVAL 1 HOUR;
        UNSILENCE 2
    """)
    low(db, 1)
    low(db, 2)
    assert states(db) == [("silenced", [1]), ("sent", [2])]
    db.sql("UPDATE stock SET qty = 100; UNSILENCE RULE tell")
    low(db, 1)
    assert states(db)[2:] == [("sent", [1])]
    assert [s[-1] for s in silences(db)] == [False, False]


def test_actions_that_run_later_are_silenced_too(db: Database, clock: ManualClock) -> None:
    db.sql(f"""
        CREATE RULE reorder {LOW} DO INSERT INTO orders SELECT item, 50 FROM condition;
        CREATE RULE later {LOW} DO INSERT INTO log SELECT 'low', item FROM condition WITH (condition = 'detached');
        SILENCE RULE reorder FOR INTERVAL 1 HOUR;
        SILENCE RULE later WHERE item = 2 FOR INTERVAL 1 HOUR
    """)
    low(db, 1)
    low(db, 2)
    clock.advance(timedelta(hours=2))
    db.advance()
    assert (rows(db, "orders"), rows(db, "log")) == ([], [("low", 1)])


def test_what_counts_is_when_it_fired_not_when_it_is_judged(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (condition = 'detached')")
    low(db, 1)
    db.sql("SILENCE RULE tell FOR INTERVAL 1 HOUR")
    low(db, 2)
    clock.advance(timedelta(hours=2))
    db.advance()
    assert states(db) == [("sent", [1]), ("silenced", [2])]


def test_what_began_in_silence_is_gone_in_silence(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (resolved)")
    db.sql("SILENCE RULE tell WHERE item = 1 FOR INTERVAL 1 HOUR")
    db.sql("UPDATE stock SET qty = 5")
    pass_minutes(db, clock, 90)
    db.sql("UPDATE stock SET qty = 100")
    db.advance()
    assert notices(db) == [("begins", [2]), ("gone", [2])]
    assert [s for s, _ in states(db)].count("silenced") == 2
    low(db, 1)
    pass_minutes(db, clock, 1)
    low(db, 1, 100)
    db.advance()
    assert notices(db)[2:] == [("begins", [1]), ("gone", [1])]


def test_a_transaction_that_is_given_up_is_silenced_too(db: Database) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (condition = 'immediate', action = 'detached independent')")
    db.sql("SILENCE RULE tell FOR INTERVAL 1 HOUR")
    tx = db.transaction()
    tx.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    tx.rollback()
    assert states(db) == [("silenced", [1])]


def test_silences_survive(tmp_path: Path) -> None:
    clock = ManualClock(1_000_000)
    with tidings.open(tmp_path / "d", engine="duckdb", clock=clock) as db:
        db.sql("""
            CREATE TABLE stock (item INT PRIMARY KEY, qty INT); INSERT INTO stock VALUES (1, 100), (2, 100);
            CREATE RULE tell WHEN SELECT item FROM stock WHERE qty < 10 DO NOTIFY 'x';
            SILENCE RULE tell FOR INTERVAL 1 HOUR COMMENT 'it''s known'
        """)
    with tidings.open(tmp_path / "d", engine="duckdb", clock=clock) as db:
        assert silences(db) == [(1, "tell", None, "it's known", True)]
        low(db, 1)
        clock.advance(timedelta(hours=2))
    with tidings.open(tmp_path / "d", engine="duckdb", clock=clock) as db:
        low(db, 2)
        assert states(db) == [("silenced", [1]), ("sent", [2])]
    with tidings.open(tmp_path / "d", engine="duckdb", clock=clock, read_only=True) as reader:
        assert [s[:2] for s in silences(reader)] == [(1, "tell")]


def test_a_rule_that_goes_takes_its_silences_along(db: Database) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x'; SILENCE RULE tell FOR INTERVAL 1 HOUR; DROP RULE tell")
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x'")
    low(db, 1)
    assert (states(db), silences(db)) == ([("sent", [1])], [])


def test_a_silence_that_fits_no_more_silences_nothing(db: Database) -> None:
    db.sql("CREATE RULE tell WHEN SELECT item, qty FROM low DO NOTIFY 'x'")
    db.sql("SILENCE RULE tell WHERE qty > 0 FOR INTERVAL 1 HOUR")
    db.sql(f"CREATE OR REPLACE RULE tell {LOW} DO NOTIFY 'x'")
    low(db, 1)
    assert states(db) == [("sent", [1])]


def test_old_silences_are_forgotten(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x'")
    for _ in range(3):
        db.sql("SILENCE RULE tell FOR INTERVAL 1 HOUR")
    clock.advance(timedelta(days=8))
    db.advance()
    assert [s[0] for s in silences(db)] == [3]
    db.sql("SILENCE RULE tell FOR INTERVAL 1 HOUR")
    assert [s[0] for s in silences(db)] == [3, 4]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SILENCE RULE nobody FOR INTERVAL 1 HOUR", UnknownRule),
        ("SILENCE RULE tell WHERE nothing = 1 FOR INTERVAL 1 HOUR", UnknownColumn),
        ("SILENCE RULE tell WHERE item + 1 FOR INTERVAL 1 HOUR", InvalidExpression),
        ("SILENCE RULE tell WHERE item IN (SELECT item FROM stock) FOR INTERVAL 1 HOUR", UnknownRelation),
        ("SILENCE RULE tell", InvalidSyntax),
        ("SILENCE RULE tell FOR INTERVAL 1 MONTH", InvalidSyntax),
        ("SILENCE RULE tell WHERE FOR INTERVAL 1 HOUR", InvalidSyntax),
        ("SILENCE RULE tell FOR INTERVAL 1 HOUR COMMENT", InvalidSyntax),
        ("SILENCE RULE acts FOR INTERVAL 1 HOUR", InvalidRule),
        ("UNSILENCE 7", UnknownSilence),
        ("UNSILENCE 1.5", InvalidSyntax),
        ("UNSILENCE RULE nobody", UnknownRule),
    ],
)
def test_silences_that_cannot_be(db: Database, text: str, error: type[Exception]) -> None:
    db.sql(f"""
        CREATE RULE tell {LOW} DO NOTIFY 'x';
        CREATE RULE acts {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition WITH (action = 'deferred')
    """)
    with pytest.raises(error):
        db.sql(text)
    assert silences(db) == []
