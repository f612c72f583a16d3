"""Conditions and defaults as a table stores them."""

from __future__ import annotations

import pytest

from tidings.lang.sql.parse import parsed
from tidings.lang.sql.stored_text import condition_text, expression_text, with_column_renamed


def test_comments_are_not_stored() -> None:
    assert expression_text(parsed("a /* why */ + 1")) == "a + 1"


def test_columns_go_without_the_name_of_their_table() -> None:
    assert condition_text(parsed("stock.n > Stock.least"), "stock", ["n", "least"]) == "n > least"
    assert condition_text(parsed("stock.n.x > 1"), "other", ["n"]) == "stock.n.x > 1"


@pytest.mark.parametrize(
    ("condition", "new", "expected"),
    [
        ("a > 1 AND b > a", "c", "c > 1 AND b > c"),
        ("A > 1", "two words", "`two words` > 1"),
        ("b > 1", "c", "b > 1"),
        ("a", "c", "c"),
    ],
)
def test_a_renamed_column_is_renamed_in_conditions(condition: str, new: str, expected: str) -> None:
    assert with_column_renamed(condition, "a", new) == expected
