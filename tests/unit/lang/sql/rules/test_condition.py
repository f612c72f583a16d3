"""Conditions of rules: ``CHANGES`` and parameters are put into the query before it is bound."""

from __future__ import annotations

import pytest

from tests.unit.schema import Known, analyzer
from tidings.analysis.influents import reads
from tidings.errors import InvalidRule, UnknownColumn, UnknownRelation
from tidings.ir.relation import Column
from tidings.lang.sql import statement as sql
from tidings.lang.sql.rules.condition import BoundCondition, ChangeSource, ExtendedNamespace, bind_condition
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
    assert (columns(condition), condition.changes_of, condition.activations) == ([("a", "int")], None, None)


def test_changes_are_a_relation_with_old_and_new_columns() -> None:
    condition = bound("WHEN SELECT old.c, new.c, old.d + 1 AS n FROM CHANGES(u) WHERE new.c > old.c")
    of = condition.changes_of
    assert of is not None
    assert (of.name, of.relation, of.key) == ("u", "changes_of_u", ("a",))
    assert [c.name for c in of.side_by_side] == ["old_a", "old_c", "old_d", "new_a", "new_c", "new_d"]
    assert reads(condition.plan) == {"changes_of_u"}
    assert columns(condition)[:2] == [("old_c", "bigint"), ("c", "bigint")]


def test_changes_of_a_query_with_a_key() -> None:
    condition = bound("WHEN SELECT new.n FROM CHANGES((SELECT a, count(*) AS n FROM u GROUP BY a), A)")
    assert condition.changes_of is not None
    assert (condition.changes_of.name, condition.changes_of.key) == ("query of r", ("a",))
    assert reads(condition.changes_of.plan) == {"u"}


def test_parameters_are_joined_into_every_select() -> None:
    condition = bound("(i INT) WHEN SELECT a FROM u WHERE a = i UNION ALL SELECT a FROM t WHERE a > i", "p")
    assert condition.activations == "activations_of_p"
    assert reads(condition.plan) == {"u", "t", "activations_of_p"}
    assert columns(condition) == [("a", "int"), ("i", "int")]
    assert columns(bound("(i INT) WHEN SELECT a, i + 1 AS i FROM u", "p")) == [("a", "int"), ("i", "int")]


@pytest.mark.parametrize(
    ("rest", "error"),
    [
        ("WHEN SELECT 1 AS n FROM CHANGES(u) x, CHANGES(t) y", InvalidRule),
        ("WHEN SELECT 1 AS n FROM CHANGES(3)", InvalidRule),
        ("WHEN SELECT 1 AS n FROM CHANGES(nothing)", UnknownRelation),
        ("WHEN SELECT 1 AS n FROM CHANGES(u, nothing)", UnknownColumn),
        ("WHEN SELECT new.nothing FROM CHANGES(u)", UnknownColumn),
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
