"""Constants are taken out of conditions, so that rules that differ only in them have one template."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.unit.lang.sql.rules.test_condition import KNOWN, rule
from tests.unit.schema import analyzer
from tidings.lang.sql.rules.constants import CONSTANTS, RULE, ConditionTemplate, Constant, take_constants


def template(where: str) -> ConditionTemplate | None:
    return take_constants(rule(f"WHEN SELECT t.a FROM t JOIN u ON t.a = u.a WHERE {where}"), KNOWN)


@pytest.mark.parametrize(
    ("where", "constants", "types"),
    [
        ("c > 10", (10,), ["int"]),
        ("c > -10 AND t.a BETWEEN 1 AND 2", (-10, 1, 2), ["int", "int", "int"]),
        ("c = 3000000000", (3_000_000_000,), ["bigint"]),
        ("d < 1.50", (Decimal("1.50"),), ["decimal(18,2)"]),
        ("b = 'x'", ("x",), ["string"]),
    ],
)
def test_constants_and_their_types(where: str, constants: tuple[Constant, ...], types: list[str]) -> None:
    found = template(where)
    assert found is not None
    assert sorted(found.constants, key=str) == sorted(constants, key=str)
    assert [c.type for c in found.constant_columns] == types
    assert found.columns[0].name == RULE
    assert CONSTANTS in found.tree.sql("spark")


@pytest.mark.parametrize("where", ["c = '10'", "c + 10 > t.a", "c > 9999999999999999999", "b IS NULL"])
def test_what_stays_where_it_is(where: str) -> None:
    assert template(where) is None


@pytest.mark.parametrize(
    "rest",
    [
        "WHEN SELECT * FROM u WHERE c > 1",
        "WHEN SELECT a FROM u",
        "WHEN SELECT a, count(*) AS n FROM u WHERE c > 1 GROUP BY a",
        "WHEN SELECT a FROM u WHERE c > 1 AND a IN (SELECT a FROM t)",
        "(i INT) WHEN SELECT a FROM u WHERE c > 1",
    ],
)
def test_conditions_without_a_template(rest: str) -> None:
    assert take_constants(rule(rest), KNOWN) is None


def test_equal_but_for_constants_is_one_template() -> None:
    one, two, other = template("c > 10"), template("c > 20"), template("c >= 10")
    assert one is not None
    assert two is not None
    assert other is not None
    assert one.key == two.key != other.key


def test_a_template_is_bound_with_the_rule_as_its_last_column() -> None:
    found = template("c > 10")
    assert found is not None
    plan = found.bind("shape", "", KNOWN, analyzer())
    assert plan is not None
    assert [(f.name, f.type) for f in plan.fields] == [("a", "int"), (RULE, "bigint")]
