"""Sentinel's survey of active databases: what it says of events, coupling modes and conditions, as rules.

The rule is event, condition and action.  Events are of the database, external and temporal, composed by disjunction,
sequence and closure, and by the operators of Snoop.  Conditions read what was inserted, deleted and updated, in stored
and in derived relations.  The seven ways to couple condition and action are numbered as in the text.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import tidings
from tidings import Database, ManualClock

EMP = "CREATE TABLE emp (name STRING PRIMARY KEY, dept STRING, salary INT); CREATE TABLE log (what STRING)"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def db(clock: ManualClock) -> Database:
    db = tidings.open(engine="duckdb", clock=clock)
    db.sql(EMP)
    return db


def log(db: Database) -> list[str]:
    return [row["what"] for row in db.query("log").rows()]


# 2.1 expressiveness


@pytest.mark.parametrize(
    "rule",
    [
        "WHEN SELECT name FROM emp WHERE salary > 100",
        "ON INSERT INTO emp",
        "ON INSERT INTO emp WHEN SELECT name FROM emp WHERE salary > 100",
    ],
    ids=["condition and action", "event and action", "event, condition and action"],
)
def test_the_formats_of_rules(db: Database, rule: str) -> None:
    db.sql(f"CREATE RULE r {rule} DO INSERT INTO log VALUES ('fired') WITH (action = 'deferred')")
    db.sql("INSERT INTO emp VALUES ('ann', 'toy', 200)")
    assert log(db) == ["fired"]


@pytest.mark.parametrize(
    ("event", "done"),
    [
        ("INSERT INTO emp", "INSERT INTO emp VALUES ('bob', 'toy', 1)"),
        ("DELETE FROM emp", "DELETE FROM emp"),
        ("UPDATE OF emp(salary)", "UPDATE emp SET salary = 0"),
        ("SIGNAL bell", "SIGNAL bell"),
        ("EVERY INTERVAL 1 MINUTE", ""),
        ("AT TIMESTAMP '1970-01-01 00:01:00'", ""),
        ("EVERY '* * * * *'", ""),
    ],
)
def test_database_external_and_temporal_events(db: Database, clock: ManualClock, event: str, done: str) -> None:
    db.sql("CREATE EVENT bell; INSERT INTO emp VALUES ('ann', 'toy', 200)")
    db.sql(f"CREATE RULE r ON {event} DO INSERT INTO log VALUES ('happened')")
    db.advance()
    assert log(db) == []
    if done:
        db.sql(done)
    clock.advance(MINUTE)
    db.advance()
    assert log(db) == ["happened"]


@pytest.mark.parametrize(
    ("event", "signals", "expected"),
    [
        ("SIGNAL e OR SIGNAL f", "e f", 2),
        ("SIGNAL e AND SIGNAL f WITHIN INTERVAL 1 HOUR", "f e", 1),
        ("SIGNAL e THEN SIGNAL f WITHIN INTERVAL 1 HOUR", "f e f", 1),
        ("ALL SIGNAL e BETWEEN SIGNAL f AND SIGNAL g", "f e e e g", 1),
        ("ANY 2 OF (SIGNAL e, SIGNAL f, SIGNAL g) WITHIN INTERVAL 1 HOUR", "e e g", 1),
        ("NOT SIGNAL g BETWEEN SIGNAL e AND SIGNAL f", "e g f e f", 1),
        ("EACH SIGNAL g BETWEEN SIGNAL e AND SIGNAL f", "e g g f g", 2),
        ("EVERY INTERVAL 1 MINUTE BETWEEN SIGNAL e AND SIGNAL f", "e g g f g", 2),
        ("SIGNAL e PLUS INTERVAL 2 MINUTES", "e g g g", 1),
    ],
    ids=["disjunction", "conjunction", "sequence", "closure", "any", "not", "aperiodic", "periodic", "plus"],
)
def test_complex_events(db: Database, clock: ManualClock, event: str, signals: str, expected: int) -> None:
    db.sql("CREATE EVENT e; CREATE EVENT f; CREATE EVENT g")
    db.sql(f"CREATE RULE r ON {event} DO INSERT INTO log VALUES ('happened')")
    for signal in signals.split():
        db.sql(f"SIGNAL {signal}")
        clock.advance(MINUTE)
        db.advance()
    assert len(log(db)) == expected


def test_conditions_read_what_was_inserted_deleted_and_updated(db: Database) -> None:
    db.sql("""
        INSERT INTO emp VALUES ('ann', 'toy', 100), ('bob', 'toy', 100);
        CREATE RULE r ON INSERT INTO emp OR DELETE FROM emp OR UPDATE OF emp
          WHEN SELECT coalesce(old.name, '-') AS o, coalesce(new.name, '-') AS n FROM CHANGES(emp)
          DO INSERT INTO log SELECT concat(o, '>', n) FROM condition WITH (action = 'deferred')
    """)
    with db.transaction() as tx:
        tx.sql("INSERT INTO emp VALUES ('cid', 'shoe', 50)")
        tx.sql("DELETE FROM emp WHERE name = 'ann'")
        tx.sql("UPDATE emp SET salary = 120 WHERE name = 'bob'")
    assert sorted(log(db)) == ["->cid", "ann>-", "bob>bob"]


def test_conditions_read_changes_of_derived_relations(db: Database) -> None:
    db.sql("""
        CREATE VIEW total AS SELECT dept, sum(salary) AS salary FROM emp GROUP BY dept;
        CREATE RULE r
          WHEN SELECT new.dept, old.salary, new.salary FROM CHANGES(total, dept) WHERE new.salary > old.salary
          DO INSERT INTO log SELECT concat(dept, ': ', old_salary, '>', salary) FROM condition
          WITH (action = 'deferred');
        INSERT INTO emp VALUES ('ann', 'toy', 100); INSERT INTO emp VALUES ('bob', 'toy', 20)
    """)
    assert log(db) == ["toy: 100>120"]


# 2.2 execution semantics


def test_a_rule_is_given_a_set_of_changes(db: Database) -> None:
    calls: list[int] = []
    db.procedure("seen")(lambda rows: calls.append(len(rows)))
    db.sql("CREATE RULE r WHEN SELECT name FROM emp DO CALL seen() WITH (action = 'deferred')")
    db.sql("INSERT INTO emp VALUES ('ann', 'toy', 1), ('bob', 'toy', 2)")
    assert calls == [2]


@pytest.mark.parametrize(
    ("number", "condition", "action", "expected"),
    [
        (1, "immediate", "immediate", ["1", "act", "2", "commit"]),
        (2, "immediate", "deferred", ["1", "2", "act", "commit"]),
        (3, "deferred", "deferred", ["1", "2", "act", "commit"]),
        (4, "immediate", "detached", ["1", "2", "commit", "act"]),
        (5, "deferred", "detached", ["1", "2", "commit", "act"]),
        (6, "detached", "immediate", ["1", "2", "commit", "act"]),
        (7, "detached", "detached", ["1", "2", "commit", "act"]),
    ],
)
def test_the_seven_couplings(db: Database, number: int, condition: str, action: str, expected: list[str]) -> None:
    steps: list[str] = []
    db.procedure("act")(lambda rows: steps.append("act"))
    options = f"condition = '{condition}', action = '{action}'"
    db.sql(f"CREATE RULE r{number} WHEN SELECT name FROM emp WHERE salary > 10 DO CALL act() WITH ({options})")
    tx = db.transaction()
    for step in ("1", "2"):
        steps.append(step)
        tx.sql(f"INSERT INTO emp VALUES ('{step}', 'toy', {11 if step == '1' else 1})")
    tx.commit()
    steps.append("commit")
    db.advance()
    assert steps == expected


@pytest.mark.parametrize(("mode", "expected"), [("detached", []), ("detached independent", ["tried"])])
def test_causally_dependent_and_independent(db: Database, mode: str, expected: list[str]) -> None:
    db.sql(f"""
        CREATE RULE r WHEN SELECT name FROM emp DO INSERT INTO log VALUES ('tried')
          WITH (condition = 'immediate', action = '{mode}')
    """)
    tx = db.transaction()
    tx.sql("INSERT INTO emp VALUES ('ann', 'toy', 1)")
    tx.rollback()
    db.advance()
    assert log(db) == expected


def test_rules_trigger_rules_up_to_a_limit(db: Database) -> None:
    db.sql("""
        CREATE RULE raised WHEN SELECT name FROM emp WHERE salary = 1 DO UPDATE emp SET salary = 2 WHERE salary = 1
          WITH (action = 'deferred');
        CREATE RULE noted WHEN SELECT name FROM emp WHERE salary = 2 DO INSERT INTO log VALUES ('two')
          WITH (action = 'deferred');
        INSERT INTO emp VALUES ('ann', 'toy', 1)
    """)
    assert log(db) == ["two"]
    db.sql(
        "CREATE RULE lowered WHEN SELECT name FROM emp WHERE salary = 2 DO UPDATE emp SET salary = 1 WHERE salary = 2"
        " WITH (action = 'deferred')"
    )
    with pytest.raises(tidings.errors.CascadeTooLong):
        db.sql("INSERT INTO emp VALUES ('bob', 'toy', 1)")


def test_several_rules_of_one_event_in_the_order_of_their_priorities(db: Database) -> None:
    for name, priority in (("second", 1), ("third", 0), ("first", 2)):
        db.sql(f"""
            CREATE RULE {name} ON INSERT INTO emp DO INSERT INTO log VALUES ('{name}')
              WITH (action = 'deferred', priority = {priority})
        """)
    db.sql("INSERT INTO emp VALUES ('ann', 'toy', 1)")
    assert log(db) == ["first", "second", "third"]


# 2.3 management of rules


def test_rules_are_created_switched_grouped_and_removed(db: Database) -> None:
    db.sql("""
        CREATE RULE a ON INSERT INTO emp DO INSERT INTO log VALUES ('a') WITH (action = 'deferred', group = payroll);
        CREATE RULE b ON INSERT INTO emp DO INSERT INTO log VALUES ('b') WITH (action = 'deferred', group = payroll);
        INSERT INTO emp VALUES ('1', 'toy', 1); DISABLE GROUP payroll; INSERT INTO emp VALUES ('2', 'toy', 1);
        ENABLE RULE b; INSERT INTO emp VALUES ('3', 'toy', 1); DROP RULE b; INSERT INTO emp VALUES ('4', 'toy', 1)
    """)
    assert log(db) == ["a", "b", "b"]
