"""Putting one SELECT together."""

from __future__ import annotations

from tidings.engine.sql.layout import text
from tidings.engine.sql.select import Block, FromItem, SelectItem, SelectOptions, Writing, flat, inline_table, one_task
from tidings.ir.expression import read
from tidings.ir.relation import Column, Field, Values

WRITING = Writing("duckdb", True)


def source(alias: str, *, active: bool = False) -> FromItem:
    return FromItem((Field(alias, "a", "int"),), (f'{alias} AS "{alias}"',), active)


def one_line(block: Block, options: SelectOptions | None = None) -> str:
    return " ".join(text(flat(block, [SelectItem(read("t.a"), "a")], WRITING, options or SelectOptions())).split())


def test_the_active_source_comes_first_and_conditions_connect_the_others() -> None:
    block = Block(
        [source("u"), source("v"), source("t", active=True)], [read("t.a = v.a"), read("v.a = u.a"), read("t.a > 1")]
    )
    written = one_line(block)
    assert written.index("FROM t") < written.index("JOIN v") < written.index("JOIN u")
    assert written.endswith('WHERE "t"."a" > 1')


def test_sources_without_a_condition_are_crossed() -> None:
    assert "CROSS JOIN u" in one_line(Block([source("t"), source("u")]))


def test_alternatives_stand_in_parentheses() -> None:
    assert '("t"."a" = 1 OR "t"."a" = 2)' in one_line(Block([source("t")], [read("t.a = 1 OR t.a = 2")]))


def test_hints_and_groups() -> None:
    written = one_line(Block([source("t")]), SelectOptions(("COALESCE(1)",), 1))
    assert written.startswith("SELECT /*+ COALESCE(1) */")
    assert written.endswith("GROUP BY 1")


def test_one_task_has_a_select_per_join() -> None:
    spark = Writing("spark", False)
    block = Block([source("t", active=True), source("u")], [read("t.a = u.a")])
    written = text(one_task(block, [SelectItem(read("u.a"), "a")], spark))
    assert written.count("SELECT") == 3
    assert "SHUFFLE_HASH(`u`)" in written


def test_constant_rows() -> None:
    columns = (Column("a", "int"),)
    assert "VALUES (CAST(1 AS INT))" in text(inline_table(Values("v", columns, ((read("1"),),)), WRITING))
    assert "FALSE" in text(inline_table(Values("v", columns, ()), WRITING))
