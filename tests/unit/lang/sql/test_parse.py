"""Texts that cannot be read, and where."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidSyntax
from tidings.lang.sql.parse import place, statements


def refused(text: str) -> InvalidSyntax:
    with pytest.raises(InvalidSyntax) as caught:
        statements(text)
    assert caught.value.place is not None
    return caught.value


def test_statements_in_order_without_empty_ones() -> None:
    found = statements(";; SELECT 1; -- nothing\n ; CREATE TABLE t (a INT);")
    assert [s.key for s in found] == ["select", "create"]
    assert statements("") == []
    assert statements(" \n ; ") == []


@pytest.mark.parametrize(
    ("text", "line", "column", "marked"),
    [
        ("SELECT a FROM t WHERE a = = 1", 1, 27, "="),
        ("SELECT a\nFROM t\nWHERE )", 3, 7, ")"),
        ("SELECT 'open", 1, 8, "'"),
        ("SELECT a,\n  'open FROM t", 2, 3, "'"),
        ("SELECT `open FROM t", 1, 8, "`"),
        ("SELECT 'a', 'it\\'s', `b`, 'open", 1, 27, "'"),
        ("SELECT 1 -- it's fine\n, 'open", 2, 3, "'"),
    ],
)
def test_place(text: str, line: int, column: int, marked: str) -> None:
    at = refused(text).place
    assert at is not None
    assert (at.line, at.column) == (line, column)
    assert at.text[at.start : at.end] == marked


def test_unclosed_comment() -> None:
    at = refused("SELECT a FROM t /* x").place
    assert at is not None
    assert at.column == 17


def test_a_text_that_ends_too_early() -> None:
    assert "sqlglot" not in str(refused("SELECT a FROM t WHERE"))
    assert "Token" not in str(refused("SELECT FROM WHERE"))
    refused("SELECT map('k',")


def test_a_text_of_which_the_parser_makes_nothing() -> None:
    refused("ELSE a, b FROM t")
    refused("SELECT 1; THEN a")


def test_place_of_a_tree_spans_its_tokens() -> None:
    text = "SELECT a,\n  upper(b) FROM t"
    (tree,) = statements(text)
    found = place(text, tree.expressions[1])
    assert found is not None
    assert (found.line, found.column) == (2, 3)
    assert text[found.start : found.end].startswith("upper(b")
