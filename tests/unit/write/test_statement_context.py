"""What statements that change rows have in common: queries become rows of the table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidings import Database
from tidings.ir.expression import Expression
from tidings.lang.sql.statement import Query, Update, read
from tidings.write.statement_context import StatementContext
from tidings.write.workspace import Workspace


@pytest.fixture
def context(db: Database) -> StatementContext:
    db.sql("CREATE TABLE stock (item BIGINT PRIMARY KEY, qty INT DEFAULT 7); INSERT INTO stock VALUES (1, 10)")
    workspace = Workspace(db._parts.transactions.write_parts)
    (statement,) = read("UPDATE stock AS s SET qty = DEFAULT")
    assert isinstance(statement, Update)
    return StatementContext.of(workspace, workspace.target("stock"), statement, 5)


def query(text: str) -> Expression:
    (statement,) = read(text)
    assert isinstance(statement, Query)
    return statement.query


def test_the_target_is_the_table(context: StatementContext) -> None:
    assert (context.target.name, context.target.alias, context.target.now) == ("stock", "s", 5)
    assert context.target.columns == context.table.columns
    assert context.target.defaults == {"qty": "7"}


def test_an_answer_has_the_types_of_the_columns(context: StatementContext) -> None:
    answer = context.answer(query("SELECT qty + 1L AS x, item AS y FROM stock"), list(context.table.columns))
    assert answer.schema.types == [pa.int64(), pa.int32()]
    assert [tuple(row.values()) for row in answer.to_pylist()] == [(11, 1)]


def test_rows_that_are_known_stand_for_the_table(context: StatementContext) -> None:
    known_rows = context.table.schema.empty_table()
    answer = context.answer(query("SELECT item, qty FROM stock"), list(context.table.columns), known_rows)
    assert answer.num_rows == 0


def test_rows_with_other_values(context: StatementContext) -> None:
    answer = pa.table({"c0": pa.array([1], pa.int64()), "c1": pa.array([10], pa.int32())})
    assert context.rows(answer).to_pylist() == [{"item": 1, "qty": 10}]
    new = {"qty": pa.chunked_array([pa.array([8], pa.int32())])}
    assert context.rows(answer, new).to_pylist() == [{"item": 1, "qty": 8}]
