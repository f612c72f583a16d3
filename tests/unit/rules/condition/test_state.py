"""Conditions on a state: all that holds when the event happens fires."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import tidings
from tests.unit.rules.test_agenda import rows
from tidings import Database
from tidings.errors import InvalidRule, InvalidSyntax

COUPLINGS = ["immediate", "deferred", "detached"]


@pytest.fixture
def db() -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(0)) as db:
        db.sql("""
            CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE log (n INT); CREATE TABLE words (w STRING);
            CREATE EVENT e (a INT); INSERT INTO t VALUES (1, 1)
        """)
        yield db


def log(db: Database) -> list[tuple[object, ...]]:
    db.advance()
    return rows(db, "log")


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("INSERT INTO t", [1]),
        ("UPDATE OF t", [2]),
        ("SIGNAL e", [1]),
        ("SIGNAL e OR INSERT INTO t", [1, 1]),
        ("DELETE FROM t", []),
    ],
)
def test_a_state_is_judged_whenever_the_event_happens(
    db: Database, coupling: str, event: str, expected: list[int]
) -> None:
    db.sql(f"""
        CREATE RULE r ON {event} WHEN SELECT CAST(count(*) AS INT) AS n FROM t WHERE v > 0
          DO INSERT INTO log SELECT n FROM condition WITH (when = 'state', condition = '{coupling}');
        SIGNAL e VALUES (1); INSERT INTO t VALUES (2, 0); UPDATE t SET v = 5 WHERE id = 2
    """)
    assert log(db) == [(n,) for n in expected]


def test_an_empty_state_does_not_fire(db: Database) -> None:
    db.sql("CREATE RULE r ON UPDATE OF t WHEN SELECT id AS n FROM t WHERE v > 9 DO NOTIFY 'x' WITH (when = 'state')")
    db.sql("UPDATE t SET v = 5; UPDATE t SET v = 10; UPDATE t SET v = 11")
    assert rows(db, "SELECT instances FROM tidings.firings") == [(1,), (1,)]


def test_what_begins_to_hold_where_the_event_is_a_signal(db: Database) -> None:
    db.sql("""
        CREATE RULE r ON SIGNAL e WHEN SELECT id AS n FROM t DO INSERT INTO log SELECT n FROM condition
          WITH (when = 'change');
        SIGNAL e VALUES (1)
    """)
    assert log(db) == []
    with db.transaction() as tx:
        tx.sql("INSERT INTO t VALUES (2, 2)")
        tx.signal("e", [(1,)])
    assert log(db) == [(2,)]


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_without_a_condition(db: Database, coupling: str) -> None:
    option = f"WITH (condition = '{coupling}')"
    db.sql(f"CREATE RULE inserted ON INSERT INTO t DO INSERT INTO log VALUES (7) {option}")
    db.sql(f"CREATE RULE signalled ON SIGNAL e DO INSERT INTO log SELECT a FROM condition {option}")
    db.sql("INSERT INTO t VALUES (2, 2); UPDATE t SET v = 0; SIGNAL e VALUES (8), (9)")
    assert log(db) == [(7,), (8,), (9,)]


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize(
    "condition", ["EXISTS (SELECT 1 FROM t WHERE v > 5)", "(SELECT max(v) FROM t) > 5", "5 < (SELECT max(v) FROM t)"]
)
def test_a_condition_that_is_true_or_false(db: Database, coupling: str, condition: str) -> None:
    for when in ("", "GONE "):
        name = when.strip().lower() or "begins"
        action = f"INSERT INTO words SELECT '{name}' FROM condition WHERE holds"
        db.sql(f"CREATE RULE {name} WHEN {when}{condition} DO {action} WITH (condition = '{coupling}')")
    db.sql("INSERT INTO t VALUES (2, 6); INSERT INTO t VALUES (3, 7); DELETE FROM t WHERE id = 2")
    db.advance()
    assert rows(db, "words") == [("begins",)]
    db.sql("DELETE FROM t WHERE id = 3")
    db.advance()
    assert rows(db, "words") == [("begins",), ("gone",)]


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_state_may_read_changes(db: Database, coupling: str) -> None:
    """That nothing was deleted holds before and after, so it never begins to hold."""
    db.sql(f"""
        CREATE RULE r ON INSERT INTO t
          WHEN SELECT id AS n FROM t WHERE NOT EXISTS (SELECT 1 FROM CHANGES(t) WHERE new.id IS NULL) AND v > 0
          DO INSERT INTO log SELECT n FROM condition WITH (when = 'state', condition = '{coupling}')
    """)
    with db.transaction() as tx:
        tx.update("t", [{"id": 1, "v": 0}])
        tx.insert("t", [(2, 2)])
    assert log(db) == [(2,)]
    db.sql("INSERT INTO t VALUES (3, 3)")
    assert log(db) == [(2,), (2,), (3,)]


def test_a_load_is_an_insertion(db: Database) -> None:
    db.sql("""
        CREATE TABLE loaded (x INT);
        CREATE RULE r ON INSERT INTO loaded WHEN SELECT id AS n FROM t DO INSERT INTO log SELECT n FROM condition
          WITH (when = 'state')
    """)
    db.load("loaded", pa.table({"x": pa.array([1, 2], pa.int32())}))
    assert log(db) == [(1,)]


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("WHEN SELECT id FROM t DO NOTIFY 'x' WITH (when = 'state')", InvalidRule),
        ("ON INSERT INTO t WHEN GONE SELECT id FROM t DO NOTIFY 'x' WITH (when = 'state')", InvalidRule),
        (
            "ON INSERT INTO t WHEN SELECT id FROM t DO NOTIFY 'x' WITH (when = 'state', semantics = 'nervous')",
            InvalidRule,
        ),
        ("ON INSERT INTO t WHEN SELECT id FROM t DO NOTIFY 'x' WITH (when = 'sometimes')", InvalidSyntax),
        ("DO NOTIFY 'x'", InvalidSyntax),
        ("WHEN DELETE FROM t DO NOTIFY 'x'", InvalidSyntax),
    ],
)
def test_what_is_refused(db: Database, rule: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        db.sql(f"CREATE RULE r {rule}")
