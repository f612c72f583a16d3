"""What fails in a transaction or a load names its rule, and keeps what it failed with."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.unit.rules.test_agenda import LOW, NOW
from tidings import Database
from tidings.errors import EngineFailed, RuleFailed, UnknownProcedure

NUMBERS = "CREATE TABLE word (w STRING); CREATE RULE numbers WHEN SELECT CAST(w AS INT) AS n FROM word"


@pytest.mark.parametrize("condition", ["immediate", "deferred"])
def test_a_condition_that_fails(db: Database, condition: str) -> None:
    db.sql(f"{NUMBERS} DO RAISE 'x' WITH (condition = '{condition}')")
    with pytest.raises(RuleFailed) as refused:
        db.sql("INSERT INTO word VALUES ('one')")
    parameters = refused.value.parameters
    assert (parameters["rule"], parameters["part"], parameters["error"]) == ("numbers", "condition", "EngineFailed")
    assert isinstance(refused.value.__cause__, EngineFailed)
    (rule,) = db.query("SELECT error FROM tidings.rules").rows()
    assert rule["error"].startswith("EngineFailed: ")


def test_a_condition_that_fails_in_a_load(db: Database) -> None:
    db.sql(f"{NUMBERS} DO NOTIFY 'x'")
    with pytest.raises(RuleFailed) as refused:
        db.load("word", pa.table({"w": ["one"]}))
    assert (refused.value.parameters["rule"], refused.value.parameters["part"]) == ("numbers", "condition")
    assert isinstance(refused.value.__cause__, EngineFailed)
    assert db.query("word").rows() == []


def test_a_procedure_that_fails(db: Database) -> None:
    @db.procedure("fail")
    def fail(instances: list[dict[str, Any]]) -> None:
        raise ValueError("no such colour")

    db.sql(f"CREATE RULE a {LOW} DO CALL fail() {NOW}")
    with pytest.raises(RuleFailed) as refused:
        db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    parameters = refused.value.parameters
    assert (parameters["rule"], parameters["part"], parameters["error"]) == ("a", "action", "ValueError")
    assert isinstance(refused.value.__cause__, ValueError)
    assert db.query("SELECT error FROM tidings.rules").rows() == [{"error": "ValueError: no such colour"}]


def test_the_place_and_the_hint_are_those_of_the_error(db: Database) -> None:
    db.sql(f"CREATE RULE a {LOW} DO CALL nobody() {NOW}")
    with pytest.raises(RuleFailed) as refused:
        db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    assert isinstance(refused.value.__cause__, UnknownProcedure)
    assert refused.value.hint == refused.value.__cause__.hint
