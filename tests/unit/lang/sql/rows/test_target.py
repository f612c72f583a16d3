"""The table that a statement changes, as the trees of the statement see it."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tidings.errors import InvalidExpression, UnknownColumn
from tidings.ir.relation import Column
from tidings.lang.sql.parse import parsed
from tidings.lang.sql.rows.target import Target, with_distinct_names
from tidings.lang.sql.statement import Insert, Update, read

COLUMNS = (Column("item", "bigint"), Column("qty", "int"))


@pytest.fixture
def target() -> Target:
    (statement,) = read("UPDATE stock AS s SET qty = DEFAULT")
    assert isinstance(statement, Update)
    return Target(statement, "stock", COLUMNS, {"qty": "7"}, 5)


def test_columns_by_name(target: Target) -> None:
    assert target.column(parsed("s.QTY")).name == "qty"
    for text in ("s.qt", "other.qty"):
        with pytest.raises(UnknownColumn) as refused:
            target.column(parsed(text))
        assert refused.value.hint == "did you mean qty?"


def test_default_and_clock_are_filled_in(target: Target) -> None:
    ((column, value),) = target.assignments(((parsed("qty"), parsed("DEFAULT")),))
    assert (column.name, value.sql()) == ("qty", "7")
    assert isinstance(target.value(parsed("DEFAULT"), COLUMNS[0]), exp.Null)
    assert not list(target.value(parsed("now()"), column).find_all(exp.CurrentTimestamp))


def test_one_value_per_column(target: Target) -> None:
    with pytest.raises(InvalidExpression):
        target.assignments(((parsed("qty"), parsed("1")), (parsed("QTY"), parsed("2"))))


def test_a_column_named_default(target: Target) -> None:
    other = Target(target.statement, "t", (Column("default", "int"),), {}, 5)
    assert not other.is_default(parsed("default"))
    assert target.is_default(parsed("default"))


def test_the_table_goes_by_the_name_that_the_statement_gives_it(target: Target) -> None:
    assert target.source().sql() == '"stock" AS "s"'
    assert [node.sql() for node in target.column_nodes()] == ['s."item"', 's."qty"']
    (statement,) = read("INSERT INTO STOCK VALUES (1, 2)")
    assert isinstance(statement, Insert)
    assert Target(statement, "stock", COLUMNS, {}, 5).alias == "STOCK"


def test_items_have_names_of_their_own() -> None:
    assert [node.alias for node in with_distinct_names([parsed("a"), parsed("a")])] == ["c0", "c1"]
