"""What statements that change rows have in common."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tidings import Database
from tidings.errors import InvalidExpression, UnknownColumn
from tidings.lang.sql.parse import parsed
from tidings.lang.sql.statement import Update, read
from tidings.write.statement_context import StatementContext, is_default, named
from tidings.write.workspace import Workspace


@pytest.fixture
def context(db: Database) -> StatementContext:
    db.sql("CREATE TABLE stock (item BIGINT PRIMARY KEY, qty INT DEFAULT 7)")
    workspace = Workspace(db._parts.transactions.write_parts)
    (statement,) = read("UPDATE stock AS s SET qty = DEFAULT")
    assert isinstance(statement, Update)
    return StatementContext(workspace, workspace.target("stock"), statement, 5)


def test_columns_by_name(context: StatementContext) -> None:
    assert context.column(parsed("s.QTY"), "s").name == "qty"
    for text in ("s.qt", "other.qty"):
        with pytest.raises(UnknownColumn) as refused:
            context.column(parsed(text), "s")
        assert refused.value.hint == "did you mean qty?"


def test_default_and_clock_are_filled_in(context: StatementContext) -> None:
    ((column, value),) = context.settings(((parsed("qty"), parsed("DEFAULT")),), "s")
    assert (column.name, value.sql()) == ("qty", "7")
    assert isinstance(context.value(parsed("DEFAULT"), context.table.columns[0]), exp.Null)
    assert not list(context.value(parsed("now()"), column).find_all(exp.CurrentTimestamp))


def test_one_value_per_column(context: StatementContext) -> None:
    with pytest.raises(InvalidExpression):
        context.settings(((parsed("qty"), parsed("1")), (parsed("QTY"), parsed("2"))), "s")


def test_a_column_named_default(db: Database) -> None:
    db.sql("CREATE TABLE t (`default` INT)")
    assert not is_default(parsed("default"), db._parts.relations.table("t"))
    assert is_default(parsed("default"), db._parts.relations.table("quantity"))


def test_items_have_names_of_their_own() -> None:
    assert [node.alias for node in named([parsed("a"), parsed("a")])] == ["c0", "c1"]
