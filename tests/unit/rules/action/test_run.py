"""Actions run once for all instances: as rows for procedures, as a relation for SQL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.unit.rules.test_agenda import LOW, rows
from tidings import Database
from tidings.errors import RuleRaised, UnknownProcedure
from tidings.write.transaction import Transaction

INSTANCES = pa.table({"item": pa.array([1, 2], pa.int32())})


def run(db: Database, action: str, instances: pa.Table = INSTANCES) -> None:
    rule = db._parts.registry.find_or_propose(f"CREATE RULE r {LOW} DO {action}")
    with db._parts.transactions.begin() as workspace:
        db._parts.rules.actions.run(rule, instances, workspace)


def test_sql_reads_the_instances(db: Database) -> None:
    run(db, "INSERT INTO orders SELECT c.item, s.qty FROM condition c JOIN stock s ON s.item = c.item")
    assert rows(db, "orders") == [(1, 100), (2, 100)]


def test_a_table_named_condition_is_hidden(db: Database) -> None:
    db.sql("CREATE TABLE condition (item INT); INSERT INTO condition VALUES (9)")
    run(db, "INSERT INTO orders SELECT item, 0 FROM condition")
    assert rows(db, "orders") == [(1, 0), (2, 0)]
    assert rows(db, "condition") == [(9,)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("()", [{"item": 1}, {"item": 2}]),
        ("(ITEM)", [{"item": 1}, {"item": 2}]),
        ("(item * 10 AS tens)", [{"tens": 10}, {"tens": 20}]),
    ],
)
def test_arguments_of_a_procedure(db: Database, arguments: str, expected: list[dict[str, Any]]) -> None:
    seen: list[dict[str, Any]] = []

    @db.procedure("note")
    def note(instances: list[dict[str, Any]]) -> None:
        seen.extend(instances)

    run(db, f"CALL note{arguments}")
    assert sorted(seen, key=str) == expected


def test_a_procedure_changes_rows_in_the_transaction_and_cannot_end_it(db: Database) -> None:
    @db.procedure("order", each=True)
    def order(instance: dict[str, Any], tx: Transaction) -> None:
        tx.insert("orders", [(instance["item"], 1)])
        assert tx.query("SELECT count(*) AS n FROM orders").rows()[0]["n"] == instance["item"]

    run(db, "CALL order()")
    assert rows(db, "orders") == [(1, 1), (2, 1)]


def test_raise_refuses_with_the_instances(db: Database) -> None:
    with pytest.raises(RuleRaised) as refused:
        run(db, "RAISE 'too low'")
    assert refused.value.parameters["count"] == 2
    assert rows(db, "orders") == []


def test_procedures_that_are_not_registered(db: Database) -> None:
    rule = db._parts.registry.find_or_propose(f"CREATE RULE r {LOW} DO CALL nobody()")
    assert isinstance(db._parts.rules.actions.missing_procedure(rule), UnknownProcedure)
    with pytest.raises(UnknownProcedure):
        run(db, "CALL nobody()")
    other = db._parts.registry.find_or_propose(f"CREATE RULE r {LOW} DO NOTIFY 'x'")
    assert db._parts.rules.actions.missing_procedure(other) is None
