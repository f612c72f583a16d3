"""Expressions in an engine's words: printed once, with columns under the names they have in a place."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

import duckdb
import pytest

from tidings.engine.sql.quoting import quoted
from tidings.engine.sql.scalar import in_own_words, scalar
from tidings.ir.expression import average, column, read, show


@pytest.mark.parametrize(
    ("expression", "spark", "duckdb"),
    [
        ("q.x", "`q`.`x`", '"q"."x"'),
        ("q.x + r.y * 2", "`q`.`x` + `r`.`y` * 2", '"q"."x" + "r"."y" * 2'),
        ("q.x <=> r.y", "`q`.`x` IS NOT DISTINCT FROM `r`.`y`", '"q"."x" IS NOT DISTINCT FROM "r"."y"'),
        ("q.s.a", "`q`.`s`.`a`", '"q"."s"."a"'),
        ("CAST(q.x AS INT)", "CAST(`q`.`x` AS INT)", 'CAST("q"."x" AS INT)'),
        ("TRY_CAST(q.x AS INT)", "TRY_CAST(`q`.`x` AS INT)", 'TRY_CAST("q"."x" AS INT)'),
        ("raise_error('no')", "raise_error('no')", "error('no')"),
    ],
)
def test_both_engines(expression: str, spark: str, duckdb: str) -> None:
    assert scalar(read(expression), "spark", False, {}) == spark
    assert scalar(read(expression), "duckdb", True, {}) == duckdb


def test_columns_go_by_other_names() -> None:
    names = {("q", "x"): "rows.one"}
    assert scalar(column("q", "x"), "spark", False, names) == "rows.one"
    assert scalar(read("q.x + q.y + q.x"), "spark", False, names) == "rows.one + `q`.`y` + rows.one"
    assert scalar(read("q.x + q.y + q.x"), "spark", False, {}) == "`q`.`x` + `q`.`y` + `q`.`x`"


def test_a_literal_that_reads_like_a_column_stays_a_literal() -> None:
    names = {("q", "x"): "rows.one"}
    assert scalar(read("q.x = '`q`.`x`'"), "spark", False, names) == "rows.one = '`q`.`x`'"


@pytest.mark.parametrize("pattern", ["'{}'", "q.{}", "r'{}'", "get_json_object(q.x, '$.{}')"])
def test_texts_that_differ_in_case_are_not_taken_for_each_other(pattern: str) -> None:
    """Printed texts are kept by the expression, and sqlglot compares some parts of a tree without case."""
    texts = {scalar(read(pattern.format(key)), "duckdb", True, {}) for key in ("Key", "key", "KEY")}
    assert len(texts) == 3


def test_casts_to_a_type() -> None:
    assert scalar(column("q", "x"), "duckdb", True, {}, "decimal(10,2)") == 'CAST("q"."x" AS DECIMAL(10, 2))'


def test_the_given_tree_stays_as_it_is() -> None:
    tree = read("CAST(q.x AS INT) + raise_error('a')")
    before = show(tree)
    in_own_words(tree, True)
    scalar(tree, "duckdb", True, {("q", "x"): "y"})
    assert show(tree) == before


def test_quotes_inside_names() -> None:
    assert quoted("a`b", "spark") == "`a``b`"
    assert quoted('a"b', "duckdb") == '"a""b"'


@pytest.mark.parametrize(
    ("total", "count"),
    [
        *(("0.01", 3), ("-0.01", 3), ("1.00", 32), ("-1.00", 32), ("0.25", 1 << 40), ("99999999999999999999999.99", 7)),
        *(("0.05", 100_000), ("0.15", 100_000), ("-0.05", 100_000), ("0.00", 5), ("7.00", 1)),
    ],
)
def test_an_average_is_rounded_half_away_from_zero(total: str, count: int) -> None:
    call = average(read(f"CAST('{total}' AS DECIMAL(25, 2))"), read(f"CAST({count} AS BIGINT)"), 2)
    text = scalar(call, "duckdb", True, {}, "decimal(29,6)")
    (found,) = duckdb.sql(f"SELECT {text}").fetchone() or (None,)
    with localcontext(prec=60):
        assert found == (Decimal(total) / count).quantize(Decimal("0.000001"), ROUND_HALF_UP)


def test_an_average_is_a_quotient_on_spark() -> None:
    call = average(read("g.s"), read("g.n"), 2)
    assert scalar(call, "spark", False, {}) == "(`g`.`s` / `g`.`n`)"
