"""Subqueries in expressions: which join each becomes, and when it needs the domain of the query around."""

from __future__ import annotations

import re

import pytest

from tests.unit.schema import bound, names, plan, types
from tidings.errors import InvalidExpression, NonDeterministic, UnknownColumn, UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Aggregate, Join, OuterJoin, Relation, Scan, SemiJoin
from tidings.ir.traverse import walk


def join_of(query: str) -> Relation:
    return next(n for n in walk(bound(query)) if isinstance(n, Join | OuterJoin | SemiJoin))


def has_domain(query: str) -> bool:
    return any(isinstance(n, Aggregate) and n.alias.startswith("domain") for n in walk(bound(query)))


def test_exists_is_a_semi_join() -> None:
    assert bound("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.c = u.c)") == plan("""
        project result [a int := u.a]
          semi_join [u.c <=> subquery1.__d0]
            scan u u [a int, c bigint, d decimal(10,2)]
            project subquery1 [`1` int := 1, __d0 bigint := w.c]
              filter [NOT w.c IS NULL]
                scan w w [c bigint, e string]
        """)


@pytest.mark.parametrize(
    ("condition", "anti"),
    [
        ("EXISTS (SELECT 1 FROM w)", False),
        ("NOT EXISTS (SELECT 1 FROM w)", True),
        ("NOT (NOT EXISTS (SELECT 1 FROM w))", False),
        ("c IN (SELECT c FROM w)", False),
        ("c NOT IN (SELECT c FROM w)", True),
        ("NOT c IN (SELECT c FROM w)", True),
    ],
)
def test_conditions_that_must_hold_are_semi_and_anti_joins(condition: str, anti: bool) -> None:
    found = join_of(f"SELECT a FROM u WHERE {condition}")
    assert isinstance(found, SemiJoin)
    assert found.anti is anti


def test_not_in_knows_null() -> None:
    """``x NOT IN (…)`` is not true where the operand or an item is NULL."""
    found = join_of("SELECT a FROM u WHERE c NOT IN (SELECT c FROM w)")
    assert isinstance(found, SemiJoin)
    alternatives = [a.unnest() for a in found.conditions[-1].unnest().flatten()]
    assert {re.sub(r"[()]", "", show(a)) for a in alternatives} == {
        "u.c = subquery1.c",
        "u.c IS NULL",
        "subquery1.c IS NULL",
    }
    positive = join_of("SELECT a FROM u WHERE c IN (SELECT c FROM w)")
    assert isinstance(positive, SemiJoin)
    assert show(positive.conditions[-1]) == "u.c = subquery1.c"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM u WHERE c IN (SELECT c FROM w) OR a = 1",
        "SELECT a, c IN (SELECT c FROM w) AS f FROM u",
        "SELECT a, EXISTS (SELECT 1 FROM w WHERE w.c = u.c) AS f FROM u",
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM w WHERE w.c = u.c) THEN 1 END AS f FROM u",
    ],
)
def test_elsewhere_the_answer_is_a_value(query: str) -> None:
    assert not any(isinstance(n, SemiJoin) for n in walk(bound(query)))


def test_a_scalar_subquery_is_a_column_of_an_outer_join() -> None:
    found = join_of("SELECT a, (SELECT max(e) FROM w WHERE w.c = u.c) AS m FROM u")
    assert isinstance(found, OuterJoin)
    assert [show(c) for c in found.conditions] == ["u.c IS NOT DISTINCT FROM total.tie1"]


def test_a_total_that_uses_nothing_around_is_a_product() -> None:
    """It has one row, whatever its rows are, so each row around meets it once."""
    found = join_of("SELECT a, (SELECT max(e) FROM w) AS m FROM u")
    assert isinstance(found, Join)
    assert found.conditions == ()


def test_a_count_of_no_rows_is_zero() -> None:
    count = bound("SELECT (SELECT count(*) FROM w WHERE w.c = u.c) AS n FROM u")
    assert "CAST(0 AS BIGINT)" in show(count.items[0].expression)  # type: ignore[union-attr]
    most = bound("SELECT (SELECT max(w.c) FROM w WHERE w.c = u.c) AS n FROM u")
    assert "CAST(0" not in show(most.items[0].expression)  # type: ignore[union-attr]


def test_more_than_one_row_is_an_error_at_run_time() -> None:
    found = bound("SELECT (SELECT e FROM w WHERE w.c = u.c) AS e FROM u")
    (only,) = [n for n in walk(found) if isinstance(n, Aggregate)]
    assert "more than one row" in show(only.aggregates[0].expression)
    assert types(found) == ["string"]


@pytest.mark.parametrize(
    ("inner", "needed"),
    [
        ("SELECT 1 FROM w", False),
        ("SELECT 1 FROM w WHERE w.c = u.c", False),
        ("SELECT 1 FROM w WHERE u.c = w.c AND w.e = 'x'", False),
        ("SELECT 1 FROM w WHERE w.c > u.c", True),
        ("SELECT 1 FROM w WHERE w.c = u.c + 1", True),
        ("SELECT 1 FROM w WHERE w.c = u.a", True),
        ("SELECT 1 FROM w WHERE w.c <=> u.c", True),
        ("SELECT 1 FROM w WHERE w.c = u.c AND w.c > u.a", True),
        ("SELECT 1 FROM w WHERE w.c = u.c OR w.e = 'x'", True),
    ],
)
def test_when_the_domain_is_needed(inner: str, needed: bool) -> None:
    """A column of the subquery stands for one around it only where the two are set equal and have one type."""
    assert has_domain(f"SELECT a, EXISTS ({inner}) AS found FROM u") is needed


@pytest.mark.parametrize("kind", ["EXISTS", "NOT EXISTS", "c IN", "c NOT IN"])
def test_conditions_of_a_plain_subquery_become_those_of_the_join(kind: str) -> None:
    """A row matches or it does not: what the subquery would say of other values around it does not matter."""
    text = f"SELECT a FROM u WHERE {kind} (SELECT c FROM w WHERE w.c > u.c AND w.e = 'x')"
    assert not has_domain(text)
    (join,) = [n for n in walk(bound(text)) if isinstance(n, SemiJoin)]
    assert "w.c > u.c" in [show(c) for c in join.conditions]


@pytest.mark.parametrize(
    "inner",
    ["SELECT 1 FROM w WHERE w.c > u.c GROUP BY w.e HAVING count(*) > 1", "SELECT DISTINCT c FROM w WHERE c > a"],
)
def test_conditions_below_other_operators_stay(inner: str) -> None:
    """``count(*)`` counts the rows of one value around, so all values have to be told apart."""
    assert has_domain(f"SELECT a FROM u WHERE EXISTS ({inner})")


def test_the_domain_is_what_occurs_around() -> None:
    found = bound("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.c > u.c GROUP BY w.e)")
    *_, domain = [n for n in walk(found) if isinstance(n, Aggregate)]
    assert [n.relation for n in walk(domain) if isinstance(n, Scan)] == ["u"]
    assert domain.aggregates == ()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, max(c) AS m FROM u GROUP BY a HAVING max(c) > (SELECT max(c) FROM w)",
        "SELECT a, max(c) AS m FROM u GROUP BY a HAVING EXISTS (SELECT 1 FROM w WHERE w.c = u.a)",
        "SELECT a FROM u ORDER BY (SELECT max(e) FROM w WHERE w.c = u.c) LIMIT 1",
        "SELECT sum((SELECT count(*) FROM w WHERE w.c = u.c)) AS n FROM u",
        "SELECT a FROM u WHERE c IN (SELECT c FROM w WHERE EXISTS (SELECT 1 FROM t WHERE t.a = u.a AND t.b = w.e))",
        "SELECT a FROM u WHERE c > (SELECT avg(x.c) FROM u AS x WHERE x.a = u.a)",
        "SELECT a FROM u WHERE c IN (SELECT c FROM w UNION SELECT a FROM t)",
        "SELECT a FROM u WHERE c IN (SELECT v.i FROM VALUES (1), (2) AS v (i))",
        "SELECT a FROM u WHERE EXISTS (WITH q AS (SELECT c FROM w) SELECT 1 FROM q WHERE q.c = u.c)",
    ],
)
def test_places_of_subqueries(query: str) -> None:
    assert names(bound(query))


def test_inner_names_come_before_outer_ones() -> None:
    found = bound("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE c > 1)")
    assert not has_domain("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE c > 1)")
    assert [n.relation for n in walk(found) if isinstance(n, Scan)] == ["u", "w"]


def test_a_subquery_in_from_does_not_see_its_neighbours() -> None:
    with pytest.raises(UnknownColumn):
        bound("SELECT q.c FROM u, (SELECT w.c FROM w WHERE w.c = u.c) AS q")


@pytest.mark.parametrize(
    ("query", "construct"),
    [
        ("SELECT (SELECT a, c FROM u) AS x FROM w", "a subquery of several columns in an expression"),
        (
            "SELECT a FROM u WHERE (a, c) > ALL (SELECT c, c FROM w)",
            "a comparison of rows with ANY or ALL other than =",
        ),
    ],
)
def test_refused(query: str, construct: str) -> None:
    with pytest.raises(UnsupportedConstruct) as refused:
        bound(query)
    assert refused.value.parameters == {"construct": construct}
    assert refused.value.place is not None


def test_chance_is_refused_inside_too() -> None:
    with pytest.raises(NonDeterministic):
        bound("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE rand() > 0.5)")


def test_unknown_names_inside() -> None:
    with pytest.raises(UnknownColumn) as refused:
        bound("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.c = u.nosuch)")
    assert refused.value.parameters == {"name": "u.nosuch"}


def test_rows_of_another_width() -> None:
    with pytest.raises(InvalidExpression):
        bound("SELECT a FROM u WHERE (a, c) IN (SELECT c FROM w)")


@pytest.mark.parametrize(
    ("condition", "anti", "met"),
    [
        ("c = ANY (SELECT c FROM w)", False, "u.c = subquery1.c"),
        ("c > SOME (SELECT c FROM w)", False, "u.c > subquery1.c"),
        ("c > ALL (SELECT c FROM w)", True, "(u.c <= subquery1.c OR u.c IS NULL OR subquery1.c IS NULL)"),
        ("NOT c > ANY (SELECT c FROM w)", True, "(u.c > subquery1.c OR u.c IS NULL OR subquery1.c IS NULL)"),
        ("NOT c > ALL (SELECT c FROM w)", False, "u.c <= subquery1.c"),
    ],
)
def test_any_and_all_ask_for_some_row(condition: str, anti: bool, met: str) -> None:
    (join,) = (n for n in walk(bound(f"SELECT a FROM u WHERE {condition}")) if isinstance(n, SemiJoin))
    assert (join.anti, [show(c) for c in join.conditions]) == (anti, [met])


def test_a_row_is_compared_column_by_column() -> None:
    (join,) = (
        n for n in walk(bound("SELECT a FROM u WHERE (a, c) IN (SELECT c, c + 1 FROM w)")) if isinstance(n, SemiJoin)
    )
    assert len(join.conditions) == 2


def test_the_same_subquery_is_bound_once() -> None:
    found = bound("SELECT (SELECT max(c) FROM w) AS m FROM u GROUP BY (SELECT max(c) FROM w)")
    assert [n.relation for n in walk(found) if isinstance(n, Scan)] == ["u", "w"]
