"""What makes a plan valid."""

from __future__ import annotations

import pytest

from tidings.ir.expression import read
from tidings.ir.relation import Column, Field
from tidings.ir.validate import require_distinct_names, require_known, require_two_sides

T, U = (Field("t", "a", "int"),), (Field("u", "a", "int"),)


def test_names_differ_by_more_than_case() -> None:
    require_distinct_names([Column("a", "int"), Column("b", "int")])
    with pytest.raises(ValueError, match="same name"):
        require_distinct_names([Column("a", "int"), Column("A", "int")])


def test_expressions_mention_known_columns() -> None:
    require_known([read("t.a + 1")], T)
    with pytest.raises(ValueError, match="not among"):
        require_known([read("t.b")], T)


def test_two_sides_share_no_alias() -> None:
    require_two_sides(T, U, (read("t.a = u.a"),))
    with pytest.raises(ValueError, match="both inputs"):
        require_two_sides(T, T, ())
