"""Rosenthal, Chakravarthy, Blaustein and Blakeley, "Situation Monitoring for Active Databases" (HiPAC), as rules.

A situation is an event and a condition; its action is given the condition's rows.  Each example has the rows of the
paper, and its result.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tidings

RowSet = list[tuple[Any, ...]]


def collected(db: tidings.Database, name: str) -> list[RowSet]:
    """A procedure that keeps what it is given, call by call."""
    calls: list[RowSet] = []

    @db.procedure(name)
    def keep(rows: list[dict[str, Any]]) -> None:
        calls.append(sorted((tuple(r.values()) for r in rows), key=repr))

    return calls


LINK_STATUS = "CREATE EVENT link_status (link STRING, occurrence STRING, severity INT)"
SIGNAL = "SIGNAL link_status VALUES ('link1', 'occ_a', 1), ('link2', 'occ_b', 6)"


def test_example_1_1_severe_failures(db: tidings.Database) -> None:
    calls = collected(db, "act")
    db.sql(f"""
        {LINK_STATUS};
        CREATE RULE severe_failures ON SIGNAL link_status WHEN SELECT * FROM link_status WHERE severity > 5
          DO CALL act() WITH (action = 'deferred')
    """)
    db.sql(SIGNAL)
    assert calls == [[("link2", "occ_b", 6)]]


MICROWAVE = """
    CREATE TABLE link_technology (l STRING, mode STRING);
    INSERT INTO link_technology VALUES ('link1', 'microwave'), ('link2', 'microwave'), ('link3', 'fibre');
    CREATE RULE severe_failures_on_microwave_links ON SIGNAL link_status
      WHEN SELECT s.*, t.mode FROM link_status s JOIN link_technology t ON s.link = t.l
        WHERE s.severity > 5 AND t.mode = 'microwave'
      DO CALL act() WITH (action = 'deferred')
"""


def test_example_1_2_severe_failures_on_microwave_links(db: tidings.Database) -> None:
    """The signal is joined with a table of the database; the database itself does not change."""
    calls = collected(db, "act")
    db.sql(LINK_STATUS + ";" + MICROWAVE)
    db.sql(SIGNAL)
    db.sql("SIGNAL link_status VALUES ('link3', 'occ_b', 9)")
    db.sql("INSERT INTO link_technology VALUES ('link2', 'fibre')")
    assert calls == [[("link2", "occ_b", 6, "microwave")]]
    assert db.query("link_status").rows() == []


EMP = """
    CREATE TABLE emp (tid STRING PRIMARY KEY, name STRING, salary INT);
    INSERT INTO emp VALUES ('0123', 'Joe', 30), ('0456', 'Lynn', 40), ('0321', 'Ann', 28);
    CREATE VIEW high_salary_emp AS SELECT * FROM emp WHERE salary > 32
"""


def transaction(db: tidings.Database) -> None:
    """The transaction T of example 2.1."""
    with db.transaction() as tx:
        tx.update("emp", [{"tid": "0123", "salary": 33}])
        tx.insert("emp", [("0789", "Ed", 25)])
        tx.delete("emp", [{"tid": "0456"}])


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (
            "emp",
            [
                ("0123", "Joe", 30, "0123", "Joe", 33),
                ("0456", "Lynn", 40, None, None, None),
                (None, None, None, "0789", "Ed", 25),
            ],
        ),
        (
            "high_salary_emp, tid",
            [("0456", "Lynn", 40, None, None, None), (None, None, None, "0123", "Joe", 33)],
        ),
    ],
)
def test_examples_2_1_and_2_4_changes(db: tidings.Database, relation: str, expected: RowSet) -> None:
    """ΔEMP, and the changes of the view of high salaries."""
    calls = collected(db, "act")
    db.sql(EMP)
    db.sql(f"""
        CREATE RULE watch WHEN SELECT old.tid AS a, old.name AS b, old.salary AS c, new.tid, new.name, new.salary
          FROM CHANGES({relation}) DO CALL act() WITH (action = 'deferred')
    """)
    transaction(db)
    assert calls == [expected]


def test_example_2_2_removals_and_additions(db: tidings.Database) -> None:
    removals, additions = collected(db, "removals"), collected(db, "additions")
    db.sql(EMP)
    db.sql("""
        CREATE RULE removals WHEN GONE SELECT * FROM emp DO CALL removals() WITH (action = 'deferred');
        CREATE RULE additions WHEN SELECT * FROM emp DO CALL additions() WITH (action = 'deferred')
    """)
    transaction(db)
    assert removals == [[("0123", "Joe", 30), ("0456", "Lynn", 40)]]
    assert additions == [[("0123", "Joe", 33), ("0789", "Ed", 25)]]
    assert sorted(r["name"] for r in db.query("emp").rows()) == ["Ann", "Ed", "Joe"]


def test_changes_caused_only_by_certain_events(db: tidings.Database) -> None:
    """After example 2.4: the changes of a view that an abstract event causes, here Hire_Employee."""
    calls = collected(db, "act")
    db.sql(EMP)
    db.sql("""
        CREATE EVENT hire_employee (tid STRING);
        CREATE RULE hired ON SIGNAL hire_employee AND INSERT INTO emp WHEN SELECT name FROM high_salary_emp
          DO CALL act() WITH (action = 'deferred')
    """)
    db.sql("INSERT INTO emp VALUES ('1', 'Bo', 50)")
    with db.transaction() as tx:
        tx.sql("INSERT INTO emp VALUES ('2', 'Cy', 60)")
        tx.signal("hire_employee", [("2",)])
    assert calls == [[("Cy",)]]


def test_example_3_filtered_sensor_data(db: tidings.Database) -> None:
    """Changes of filtered temperature and pressure: other attributes, and values that are filtered out, are none.

    The paper's filter removes outliers and smooths, of the relation as a whole: here it removes what is more than 25
    degrees from the middle one, and draws the rest half way to it.
    """
    calls = collected(db, "act")
    columns = "tid INT, temperature DOUBLE, pressure DOUBLE"

    @db.operator("smoothed", takes=columns, returns=columns)
    def smoothed(readings: pa.Table) -> pa.Table:
        if not readings.num_rows:
            return readings
        middle = sorted(readings["temperature"].to_pylist())[(readings.num_rows - 1) // 2]
        rows = [row for row in readings.to_pylist() if abs(row["temperature"] - middle) <= 25]
        drawn = [{**row, "temperature": (row["temperature"] + middle) / 2} for row in rows]
        return pa.Table.from_pylist(drawn, readings.schema)

    db.sql("""
        CREATE TABLE sensor_data (tid INT PRIMARY KEY, temperature DOUBLE, pressure DOUBLE, other STRING);
        INSERT INTO sensor_data VALUES (1, 20, 1000, 'a'), (2, 22, 1010, 'b'), (3, 24, 1020, 'c');
        CREATE VIEW filtered AS SELECT * FROM smoothed(TABLE sensor_data);
        CREATE RULE watch ON UPDATE OF sensor_data WHEN SELECT new.tid, old.temperature, new.temperature
          FROM CHANGES(filtered, tid) DO CALL act() WITH (action = 'deferred')
    """)
    assert [row["temperature"] for row in db.query("SELECT * FROM filtered ORDER BY tid")] == [21, 22, 23]
    db.sql("UPDATE sensor_data SET other = 'd'")
    assert calls == []
    db.sql("UPDATE sensor_data SET temperature = 26 WHERE tid = 3")
    db.sql("UPDATE sensor_data SET temperature = 900 WHERE tid = 3")
    db.sql("UPDATE sensor_data SET temperature = 901 WHERE tid = 3")
    db.sql("UPDATE sensor_data SET temperature = temperature + 1 WHERE tid = 2")
    assert calls == [[(3, 23.0, 24.0)], [(None, 24.0, None)], [(1, 21.0, 21.5), (2, 22.0, 23.0)]]
