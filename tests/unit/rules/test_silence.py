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
    UnknownGroup,
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


GROUPED = f"""
    CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (group = 'shop');
    CREATE RULE mail WHEN SELECT item, qty FROM low DO NOTIFY 'y' WITH (group = 'Shop');
    CREATE RULE acts {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition
      WITH (action = 'deferred', group = 'shop');
    CREATE RULE other {LOW} DO NOTIFY 'z'
"""


def by_rule(db: Database) -> dict[str, list[str]]:
    """How the firings of each rule stand."""
    found: dict[str, list[str]] = {}
    for firing in db._parts.registry.store.firings():
        found.setdefault(firing.rule, []).append(firing.state)
    return found


def test_a_silence_of_a_group(db: Database, clock: ManualClock) -> None:
    db.sql(GROUPED)
    db.sql("SILENCE GROUP SHOP FOR INTERVAL 1 HOUR COMMENT 'we move'")
    low(db, 1)
    assert by_rule(db) == {"tell": ["silenced"], "mail": ["silenced"], "acts": ["done"], "other": ["sent"]}
    assert silences(db) == [(1, None, None, "we move", True)]
    assert db.query("SELECT groups FROM tidings.silences").rows() == [{"groups": "SHOP"}]
    clock.advance(timedelta(hours=2))
    low(db, 2)
    assert by_rule(db)["tell"] == ["silenced", "sent"]


def test_rules_that_join_a_group_later_are_silenced_too(db: Database) -> None:
    db.sql(GROUPED)
    db.sql("SILENCE GROUP shop FOR INTERVAL 1 HOUR")
    db.sql(f"CREATE RULE late {LOW} DO NOTIFY 'x' WITH (group = 'shop')")
    db.sql(f"CREATE OR REPLACE RULE tell {LOW} DO NOTIFY 'x'")
    low(db, 1)
    assert by_rule(db) | {"acts": []} == {
        "late": ["silenced"],
        "mail": ["silenced"],
        "tell": ["sent"],
        "other": ["sent"],
        "acts": [],
    }


def test_a_condition_of_a_group_fits_all_its_rules(db: Database) -> None:
    db.sql(GROUPED)
    with pytest.raises(UnknownColumn) as refused:
        db.sql("SILENCE GROUP shop WHERE qty > 2 FOR INTERVAL 1 HOUR")
    assert refused.value.parameters == {"name": "qty"}
    assert refused.value.hint is not None
    assert "tell" in refused.value.hint
    db.sql("SILENCE GROUP shop WHERE item = 1 FOR INTERVAL 1 HOUR")
    low(db, 1)
    low(db, 2)
    assert by_rule(db)["tell"] == by_rule(db)["mail"] == ["silenced", "sent"]


def test_a_later_rule_without_the_column_is_heard(db: Database) -> None:
    db.sql(GROUPED)
    db.sql("SILENCE GROUP shop WHERE item = 1 FOR INTERVAL 1 HOUR")
    db.sql("CREATE RULE late WHEN SELECT qty FROM low DO NOTIFY 'x' WITH (group = 'shop')")
    low(db, 1)
    assert by_rule(db)["late"] == ["sent"]
    assert by_rule(db)["tell"] == ["silenced"]
    assert silences(db) == [(1, None, "item = 1", None, True)]
    assert db.status().failing_rules == ()


def test_a_silence_of_a_group_is_taken_back(db: Database) -> None:
    db.sql(GROUPED)
    db.sql("SILENCE GROUP shop FOR INTERVAL 1 HOUR; SILENCE RULE mail FOR INTERVAL 1 HOUR; UNSILENCE GROUP Shop")
    low(db, 1)
    assert by_rule(db)["tell"] == ["sent"]
    assert by_rule(db)["mail"] == ["silenced"]
    db.sql("SILENCE GROUP shop FOR INTERVAL 1 HOUR; UNSILENCE RULE mail")
    assert [s[-1] for s in silences(db)] == [False, False, True]
    db.sql("UNSILENCE 3; UNSILENCE GROUP shop")
    assert [s[-1] for s in silences(db)] == [False, False, False]


def test_a_silence_of_a_group_outlives_its_rules(db: Database) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (group = 'shop'); SILENCE GROUP shop FOR INTERVAL 1 HOUR")
    db.sql(f"DROP RULE tell; CREATE RULE again {LOW} DO NOTIFY 'x' WITH (group = 'shop')")
    low(db, 1)
    assert by_rule(db)["again"] == ["silenced"]
    db.sql("DROP RULE again; UNSILENCE GROUP shop")
    assert [s[-1] for s in silences(db)] == [False]


def test_instances_with_a_life_are_silenced_by_group(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (for = INTERVAL 1 MINUTE, resolved, group = 'shop')")
    db.sql("SILENCE GROUP shop WHERE item = 1 FOR INTERVAL 1 HOUR")
    db.sql("UPDATE stock SET qty = 5")
    pass_minutes(db, clock, 2)
    assert notices(db) == [("begins", [2])]
    assert sorted(states(db)) == [("sent", [2]), ("silenced", [1])]


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
        ("SILENCE GROUP nobody FOR INTERVAL 1 HOUR", UnknownGroup),
        ("UNSILENCE GROUP nobody", UnknownGroup),
        ("SILENCE GROUP acting FOR INTERVAL 1 HOUR", InvalidRule),
        ("SILENCE GROUP telling WHERE nothing = 1 FOR INTERVAL 1 HOUR", UnknownColumn),
        ("SILENCE GROUP telling WHERE item + 1 FOR INTERVAL 1 HOUR", InvalidExpression),
        ("UNSILENCE 7", UnknownSilence),
        ("UNSILENCE 1.5", InvalidSyntax),
        ("UNSILENCE RULE nobody", UnknownRule),
    ],
)
def test_silences_that_cannot_be(db: Database, text: str, error: type[Exception]) -> None:
    db.sql(f"""
        CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (group = 'telling');
        CREATE RULE acts {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition
          WITH (action = 'deferred', group = 'acting')
    """)
    with pytest.raises(error):
        db.sql(text)
    assert silences(db) == []
