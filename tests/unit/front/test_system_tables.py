"""The system tables of rules, deliveries and continuous queries, by one name each."""

from __future__ import annotations

import pytest

from tidings import Database
from tidings.continuous.descriptions import CONTINUOUS_QUERIES, QueryDescriptions
from tidings.errors import TidingsError
from tidings.front.system_tables import COLUMNS, DELIVERIES, SystemTables
from tidings.ir.expression import WEIGHT
from tidings.read.descriptions import SYSTEM_TABLES, Descriptions
from tidings.rules.system_tables import RULES, TABLES, RuleSystemTables


@pytest.fixture
def system_tables(db: Database) -> SystemTables:
    db.sql("CREATE RULE tell WHEN SELECT item FROM quantity DO NOTIFY 'buyers'")
    db.sql("INSERT INTO quantity VALUES (1, 2)")
    db.advance()
    rules, timeline = db._parts.rules, db._parts.timeline
    rule_tables = RuleSystemTables(rules.registry, rules.silences.store, timeline)
    queries = QueryDescriptions(db._parts.continuous, timeline)
    return SystemTables(Descriptions(db._parts.relations), rule_tables, queries, db._parts.storage)


def test_every_table_has_the_columns_it_declares(system_tables: SystemTables) -> None:
    assert set(COLUMNS) == {*SYSTEM_TABLES, *TABLES, DELIVERIES, CONTINUOUS_QUERIES}
    for name, columns in COLUMNS.items():
        assert [c.name for c in columns] == system_tables.changes(name).column_names[: len(columns)]


def test_rows_are_inserts(system_tables: SystemTables) -> None:
    (rule,) = system_tables.changes(RULES).to_pylist()
    assert (rule["name"], rule[WEIGHT]) == ("tell", 1)
    (delivery,) = system_tables.changes(DELIVERIES).to_pylist()
    assert (delivery["rule"], delivery["target"], delivery["state"]) == ("tell", "buyers", "waiting")


def test_queries_read_them_and_views_do_not(db: Database) -> None:
    assert len(db.query(f"SELECT * FROM {DELIVERIES}")) == 0
    with pytest.raises(TidingsError):
        db.sql(f"CREATE VIEW v AS SELECT id FROM {DELIVERIES}")


def test_what_is_defined_can_be_queried(db: Database) -> None:
    db.sql("CREATE TABLE made (id INT PRIMARY KEY, note STRING DEFAULT 'x') ")
    db.sql("CREATE MATERIALIZED VIEW seen AS SELECT id FROM made")
    assert {"name": "made", "primary_key": "id"} in db.query("SELECT name, primary_key FROM tidings.tables").rows()
    assert db.query("SELECT stored FROM tidings.views WHERE name = 'seen'").rows() == [{"stored": True}]
    query = "SELECT position, column, type, default FROM tidings.columns WHERE relation = 'made' ORDER BY position"
    assert [tuple(row.values()) for row in db.query(query).rows()] == [
        (1, "id", "int", None),
        (2, "note", "string", "'x'"),
    ]
    assert db.query("tidings.columns", as_of=db.time).columns[:2] == ["relation", "position"]
