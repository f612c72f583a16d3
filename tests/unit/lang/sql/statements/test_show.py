"""SHOW and DESCRIBE, as they are read."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidSyntax, UnsupportedStatement
from tidings.lang.sql.statement import Describe, ExplainRule, Query, ShowCreate, ShowNames, read
from tidings.lang.sql.statements.show import DefinedKind


@pytest.mark.parametrize("kind", ["table", "view", "rule"])
def test_names_and_definitions(kind: DefinedKind) -> None:
    names, create = read(f"show {kind}s; SHOW CREATE {kind} `a b`")
    assert names == ShowNames(kind)
    assert isinstance(create, ShowCreate)
    assert (create.kind, create.name) == (kind, "a b")


@pytest.mark.parametrize(
    "text", ["DESCRIBE t", "DESC t", "describe table t", "-- note\nDESCRIBE t;", "SELECT 1 AS n; desc t"]
)
def test_describe(text: str) -> None:
    statement = read(text)[-1]
    assert isinstance(statement, Describe)
    assert statement.name == "t"
    assert text[statement.place.start : statement.place.end] == "t"


def test_a_system_table_has_two_names() -> None:
    (statement,) = read("DESCRIBE tidings.rules")
    assert isinstance(statement, Describe)
    assert statement.name == "tidings.rules"


def test_words_in_queries_stay_words() -> None:
    (statement,) = read("SELECT a AS show FROM t ORDER BY a DESC")
    assert isinstance(statement, Query)


def test_place_of_a_name_after_other_statements() -> None:
    text = "SHOW TABLES; SHOW CREATE TABLE stock"
    statement = read(text)[1]
    assert isinstance(statement, ShowCreate)
    assert text[statement.place.start : statement.place.end] == "stock"


@pytest.mark.parametrize(
    "text", ["SHOW TABLES t", "SHOW CREATE TABLE", "SHOW CREATE EVENT e", "DESCRIBE", "DESCRIBE t u"]
)
def test_refused(text: str) -> None:
    with pytest.raises(InvalidSyntax):
        read(text)


def test_explain_rule() -> None:
    first, query = read("explain rule `a b`; SELECT 1 AS rule")
    assert isinstance(first, ExplainRule)
    assert (first.name, first.place.start) == ("a b", 13)
    assert isinstance(query, Query)
    with pytest.raises(InvalidSyntax):
        read("EXPLAIN RULE r s")
    with pytest.raises(UnsupportedStatement):
        read("EXPLAIN SELECT 1 AS rule")


def test_other_things_are_not_shown() -> None:
    with pytest.raises(UnsupportedStatement) as refused:
        read("SHOW FUNCTIONS")
    assert refused.value.parameters == {"statement": "SHOW FUNCTIONS"}
