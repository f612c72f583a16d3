"""An engine's own words around expressions."""

from __future__ import annotations

from tidings.engine.sql.scalar import scalar
from tidings.engine.sql.words import Words
from tidings.ir.expression import read, refs


def test_parts_that_are_not_one_piece_are_in_parentheses() -> None:
    tree = Words(this="f({0}) + {1} + {0}", expressions=[read("q.x + 1"), read("q.y")])
    assert scalar(tree, "duckdb", True, {("q", "y"): "rows.y"}) == 'f(("q"."x" + 1)) + rows.y + ("q"."x" + 1)'


def test_columns_among_words_are_known() -> None:
    inner = Words(this="g({0})", expressions=[read("q.x")])
    assert refs(Words(this="-{0}", expressions=[inner])) == (("q", "x"),)
