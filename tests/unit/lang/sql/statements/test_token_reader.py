"""Reading statements that SQL parsers do not know, token by token."""

from __future__ import annotations

import pytest
import sqlglot

from tidings.errors import InvalidSyntax, UnsupportedType
from tidings.ir.dialect import DIALECT
from tidings.ir.relation import Column
from tidings.lang.sql.statements.token_reader import TokenReader, blanked, parse_at


def reader(text: str) -> TokenReader:
    return TokenReader(text, sqlglot.tokenize(text, read=DIALECT))


def test_words_are_taken_together_or_not_at_all() -> None:
    tokens = reader("IF NOT x")
    assert not tokens.accept("IF", "NOT", "EXISTS")
    assert tokens.accept("if".upper(), "NOT")
    assert tokens.name("a name") == "x"
    tokens.require_end()


def test_what_is_quoted_is_no_word() -> None:
    assert reader("`rule`").word() == ""
    assert reader("'rule'").word() == ""
    assert reader("`two words`").name("a name") == "two words"


def test_a_part_ends_at_a_word_of_its_own_level() -> None:
    text = "SELECT (a DO b) DO x"
    tokens = reader(text)
    start, end = tokens.until("DO")
    assert text[start:end] == "SELECT (a DO b)"
    assert tokens.word() == "DO"


def test_a_word_may_have_to_be_followed_by_another() -> None:
    text = "WITH x WITH (a)"
    start, end = reader(text).until("WITH", before="(")
    assert text[start:end] == "WITH x"


def test_a_query_is_parsed_in_its_place() -> None:
    text = "WHEN SELECT a FROM t"
    (tree,) = parse_at(text, 5, len(text))
    assert tree.sql() == "SELECT a FROM t"
    with pytest.raises(InvalidSyntax) as refused:
        parse_at("WHEN SELECT a FROM", 5, 18)
    assert refused.value.place is not None
    assert refused.value.place.text == "WHEN SELECT a FROM"


def test_blanking_keeps_lines() -> None:
    assert blanked("ab\ncd ef", 6, 8) == "  \n   ef"


def test_columns() -> None:
    tokens = reader("(a INT, b DECIMAL(10, 2))")
    assert tokens.columns() == (Column("a", "int"), Column("b", "decimal(10,2)"))
    with pytest.raises(UnsupportedType):
        reader("(a NOSUCHTYPE)").columns()


def test_expressions() -> None:
    tokens = reader("ACTIVATE r(1, a + 1)")
    tokens.at = 2
    assert [e.sql() for e in tokens.expressions()] == ["1", "a + 1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTERVAL 5 MINUTES", 300_000_000),
        ("INTERVAL '2' HOUR", 7_200_000_000),
        ("INTERVAL '1 day'", 86_400_000_000),
        ("INTERVAL 1 MINUTE 30 SECONDS", 90_000_000),
    ],
)
def test_intervals(text: str, expected: int) -> None:
    assert reader(text).interval() == expected


@pytest.mark.parametrize("text", ["INTERVAL 1 MONTH", "INTERVAL", "INTERVAL 0 DAYS", "5 MINUTES"])
def test_intervals_of_no_fixed_length(text: str) -> None:
    with pytest.raises(InvalidSyntax):
        reader(text).interval()
