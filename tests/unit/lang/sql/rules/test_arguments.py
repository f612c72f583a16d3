"""Arguments of ``CALL`` are columns of the rule's rows, or expressions over them."""

from __future__ import annotations

import pytest

from tidings.errors import UnknownColumn
from tidings.ir.relation import Column
from tidings.lang.sql import statement as sql
from tidings.lang.sql.rules.arguments import argument_columns, arguments_query, check_arguments
from tidings.lang.sql.statements.action import Call
from tidings.lang.sql.statements.rule import CreateRule

COLUMNS = (Column("Item", "int"), Column("qty", "int"))


def call(arguments: str) -> tuple[Call, str]:
    (statement,) = sql.read(f"CREATE RULE r WHEN SELECT 1 AS n DO CALL p{arguments}")
    assert isinstance(statement, CreateRule)
    assert isinstance(statement.action, Call)
    return statement.action, statement.text


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [("(qty, ITEM, qty)", ["qty", "Item"]), ("(qty + 1)", None), ("(condition.qty)", None), ("(qty, nothing)", None)],
)
def test_columns(arguments: str, columns: list[str] | None) -> None:
    assert argument_columns(call(arguments)[0], COLUMNS) == columns


def test_a_query_computes_expressions() -> None:
    assert (
        arguments_query(call("(qty + 1 AS n, item)")[0], "condition").sql()
        == "SELECT qty + 1 AS n, item FROM condition"
    )


def test_unknown_columns_are_refused_where_they_stand() -> None:
    check_arguments(call("(qty + item)")[0], COLUMNS, "")
    unknown, text = call("(qty + colour)")
    with pytest.raises(UnknownColumn) as refused:
        check_arguments(unknown, COLUMNS, text)
    at = refused.value.place
    assert at is not None
    assert at.text[at.start : at.end] == "colour"
