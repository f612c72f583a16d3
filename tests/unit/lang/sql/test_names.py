"""Rules for names."""

from __future__ import annotations

import pytest

from tidings.errors import DuplicateColumn, Place, ReservedName
from tidings.lang.sql.names import check_names, check_reserved, distinct_names

AT = Place("SELECT 1", 0, 6)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ((), []),
        (("a", "b"), ["a", "b"]),
        (("a", "A", "a"), ["a", "A_2", "a_3"]),
        (("a", "a_2", "a"), ["a", "a_2", "a_3"]),
    ],
)
def test_repeated_names_are_numbered(given: tuple[str, ...], kept: list[str]) -> None:
    assert distinct_names(given) == kept


def test_repeated_names_are_refused_in_a_result() -> None:
    check_names(["a", "b"], AT)
    with pytest.raises(DuplicateColumn) as refused:
        check_names(["a", "b", "A"], AT)
    assert refused.value.parameters == {"name": "A"}
    assert refused.value.place == AT


def test_two_underscores_are_reserved() -> None:
    check_reserved("_a", AT)
    with pytest.raises(ReservedName) as refused:
        check_reserved("__a", AT)
    assert refused.value.parameters == {"name": "__a"}
    with pytest.raises(ReservedName):
        check_names(["a", "__t"], None)
