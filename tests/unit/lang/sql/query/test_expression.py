"""Binding expressions: names, and what is refused in them."""

from __future__ import annotations

import pytest

from tests.unit.schema import Known, analyzer
from tidings.errors import NonDeterministic, TidingsError, UnknownColumn, UnsupportedConstruct
from tidings.ir.expression import read, show
from tidings.ir.relation import Column, Scan
from tidings.lang.sql.context import Context
from tidings.lang.sql.instant import reads_clock
from tidings.lang.sql.parse import parsed
from tidings.lang.sql.query.expression import bind_condition, bind_expression, for_analysis
from tidings.lang.sql.query.scope import Outer, Scope, ScopeRelation

U = Scan("u", "u_1", (Column("a", "int"), Column("c", "bigint")))


def scope_of(scan: Scan, name: str) -> Scope:
    scope = Scope()
    scope.add(ScopeRelation(name, scan, tuple((f.name, f) for f in scan.fields)))
    return scope


def bind(text: str, **named: str) -> str:
    ctx = Context(text, Known({}), analyzer())
    aliases = {name: read(expression) for name, expression in named.items()}
    return show(bind_expression(ctx, parsed(text), scope_of(U, "u"), aliases))


def test_names_become_columns_of_the_plan() -> None:
    assert bind("U.A + c") == "u_1.a + u_1.c"


def test_a_name_of_the_list_serves_where_no_column_fits() -> None:
    assert bind("total * 2", total="u_1.a + 1") == "(u_1.a + 1) * 2"
    assert bind("a", a="u_1.c") == "u_1.a"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("nosuch", UnknownColumn),
        ("rand()", NonDeterministic),
        ("first(a)", NonDeterministic),
        ("(SELECT 1)", UnsupportedConstruct),
        ("explode(array(a))", UnsupportedConstruct),
        ("a < now()", TidingsError),
    ],
)
def test_refusals(text: str, condition: type[Exception]) -> None:
    with pytest.raises(condition):
        bind(text)


def test_a_condition_may_read_the_clock() -> None:
    ctx = Context("", Known({}), analyzer())
    assert reads_clock(bind_condition(ctx, parsed("a < now()"), scope_of(U, "u"), {}))


def test_columns_of_the_query_around_are_typed_nulls_for_the_analyzer() -> None:
    inner = scope_of(Scan("w", "w", (Column("e", "string"),)), "w")
    inner.outer = Outer(scope_of(U, "u"))
    assert for_analysis(parsed("e = u.c"), inner, {}).sql("spark") == "e = CAST(NULL AS BIGINT)"
