"""Conditions of rules: parameters are put into the query before it is bound."""

from __future__ import annotations

import pytest

from tests.unit.schema import Known, analyzer
from tidings.analysis.influents import reads
from tidings.errors import InvalidRule
from tidings.ir.relation import Column
from tidings.lang.sql import statement as sql
from tidings.lang.sql.changes import ChangeSource
from tidings.lang.sql.context import ExtendedNamespace
from tidings.lang.sql.rules.condition import BoundCondition, bind_condition
from tidings.lang.sql.statements.rule import CreateRule

KNOWN = Known({})


def rule(rest: str, name: str = "r") -> CreateRule:
    (statement,) = sql.read(f"CREATE RULE {name} {rest} DO NOTIFY 'x'")
    assert isinstance(statement, CreateRule)
    return statement


def find_source(name: str) -> ChangeSource | None:
    known = KNOWN.columns(name)
    return None if known is None else ChangeSource(*known, ("a",) if known[0] == "u" else ())


def bound(rest: str, name: str = "r") -> BoundCondition:
    return bind_condition(rule(rest, name), KNOWN, find_source, analyzer())


def columns(condition: BoundCondition) -> list[tuple[str, str]]:
    return [(f.name, f.type) for f in condition.plan.fields]


def test_a_plain_query() -> None:
    condition = bound("WHEN SELECT a FROM u WHERE c > 3")
    assert (columns(condition), condition.changes, condition.activations) == ([("a", "int")], (), None)


def test_parameters_are_joined_into_every_select() -> None:
    condition = bound("(i INT) WHEN SELECT a FROM u WHERE a = i UNION ALL SELECT a FROM t WHERE a > i", "p")
    assert condition.activations == "activations_of_p"
    assert reads(condition.plan) == {"u", "t", "activations_of_p"}
    assert columns(condition) == [("a", "int"), ("i", "int")]
    assert columns(bound("(i INT) WHEN SELECT a, i + 1 AS i FROM u", "p")) == [("a", "int"), ("i", "int")]


@pytest.mark.parametrize(
    ("rest", "error"),
    [
        ("(i INT) WHEN SELECT DISTINCT a FROM u", InvalidRule),
        ("(i INT) WHEN SELECT a FROM u UNION SELECT a FROM t", InvalidRule),
        ("WHEN CHANGED SELECT a AS change FROM u", InvalidRule),
    ],
)
def test_what_is_refused(rest: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        bound(rest)


def test_more_relations_hide_those_of_the_same_name() -> None:
    namespace = ExtendedNamespace(KNOWN, {"U": (Column("x", "int"),)})
    assert namespace.columns("u") == ("U", (Column("x", "int"),))
    assert namespace.columns("T") == KNOWN.columns("t")
    assert namespace.names() == [*KNOWN.names(), "U"]
