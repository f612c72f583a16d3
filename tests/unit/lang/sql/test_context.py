"""What every part of the binder needs."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from tests.unit.schema import Known, analyzer
from tidings.errors import SparkNeeded
from tidings.ir.expression import read
from tidings.ir.relation import Field
from tidings.lang.sql.context import Context

FIELDS = (Field("u", "a", "int"), Field("u", "d", "decimal(10,2)"), Field("odd t", "x.y", "string"))


@pytest.fixture
def ctx() -> Context:
    return Context("SELECT nosuch(a) FROM u", Known({}), analyzer())


def test_aliases_are_not_shared(ctx: Context) -> None:
    assert [ctx.alias("t"), ctx.alias("T"), ctx.alias("t"), ctx.alias("u")] == ["t", "T_2", "t_3", "u"]


def test_a_fresh_name_is_not_taken(ctx: Context) -> None:
    assert ctx.fresh("t") == ctx.fresh("t") == "t"
    ctx.alias("t")
    assert ctx.fresh("t") == "t_2"


def test_types_of_bound_expressions(ctx: Context) -> None:
    node = sqlglot.parse_one("SELECT 1")
    assert isinstance(node, exp.Query)
    wanted = [read("u.a + 1"), read("MAX(u.d)"), read("UPPER(`odd t`.`x.y`)")]
    assert ctx.types([wanted[0], wanted[2]], FIELDS, node) == ["int", "string"]
    assert ctx.types([wanted[1]], FIELDS, node) == ["decimal(10,2)"]
    assert ctx.types([], FIELDS, node) == []
    assert ctx.types([read("1")], (), node) == ["int"]


def test_the_analyzers_verdict_has_a_place(ctx: Context) -> None:
    tree = sqlglot.parse_one(ctx.text, read="spark")
    with pytest.raises(SparkNeeded) as refused:
        ctx.analyze(exp.select(exp.Anonymous(this="nosuch")), tree)
    assert refused.value.place is not None
    assert refused.value.__suppress_context__


def test_a_refusal_says_what_to_do(ctx: Context) -> None:
    node = sqlglot.parse_one(ctx.text, read="spark")
    assert "docs/sql.md" in str(ctx.unsupported("LATERAL", node).hint)
    assert "ORDER BY" in str(ctx.unsupported("LIMIT without ORDER BY", node).hint)
