"""SQL as expressions, and expressions as SQL and plans."""

from __future__ import annotations

import pytest

import tidings
from tidings.algebra import UserOperator, relation, show, to_plan, to_sql
from tidings.errors import InvalidExpression, InvalidOperator


@pytest.fixture
def shop() -> tidings.Database:
    db = tidings.open(engine="duckdb")
    db.sql("CREATE TABLE emp (name STRING, dept STRING, salary INT); CREATE TABLE dept (dept STRING, floor INT)")
    return db


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("SELECT * FROM emp", "emp"),
        ("SELECT * FROM emp WHERE salary > 3", "σ[`salary` > 3](emp)"),
        ("SELECT DISTINCT name FROM emp WHERE salary > 3", "Π[name](σ[`salary` > 3](emp))"),
        ("SELECT name FROM emp UNION SELECT dept FROM dept", None),
        ("SELECT DISTINCT e.name, d.floor FROM emp e JOIN dept d ON e.dept = d.dept", None),
        ("SELECT name FROM emp EXCEPT SELECT dept FROM dept", None),
        ("SELECT name FROM emp INTERSECT SELECT dept FROM dept", None),
    ],
)
def test_queries_become_expressions(shop: tidings.Database, text: str, expression: str | None) -> None:
    shop.sql("INSERT INTO emp VALUES ('Joe', 'toys', 3), ('toys', 'books', 4), ('Ann', 'toys', 5)")
    shop.sql("INSERT INTO dept VALUES ('toys', 1), ('books', 2), ('Joe', 3)")
    read = shop.expression(text)
    if expression is not None:
        assert show(read) == expression
    again = {tuple(row.values()) for row in shop.query(to_sql(read)).rows()}
    assert again == {tuple(row.values()) for row in shop.query(text).rows()}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT name FROM emp", "keeps duplicates"),
        ("SELECT * FROM emp UNION ALL SELECT * FROM emp", "keeps duplicates"),
        ("SELECT DISTINCT salary + 1 AS more FROM emp", "more"),
        ("SELECT dept, count(*) AS n FROM emp GROUP BY dept", "Aggregate"),
        ("SELECT DISTINCT name, name AS again FROM emp", "twice"),
        ("SELECT name, name AS again FROM emp UNION SELECT dept, name FROM emp", "twice"),
    ],
)
def test_what_is_no_expression_is_refused_by_name(shop: tidings.Database, text: str, what: str) -> None:
    with pytest.raises(InvalidExpression) as caught:
        shop.expression(text)
    assert what in str(caught.value)


def test_plans_need_types_and_operators_need_names() -> None:
    emp = relation("emp", "name")
    with pytest.raises(InvalidExpression):
        to_plan(emp)
    first = UserOperator("first", ("name",), lambda relation: relation)
    assert to_sql(emp.apply(first)) == "SELECT `name` FROM `first`(TABLE `emp`)"
    with pytest.raises(InvalidOperator):
        to_sql(emp.select("name = 'Joe'").apply(first))
    with pytest.raises(InvalidOperator):
        to_plan(emp.apply(first))
