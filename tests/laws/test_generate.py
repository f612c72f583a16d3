"""The generator keeps its own promises; without them the laws would hold of nothing."""

from __future__ import annotations

import pytest

from tests.laws import oracle
from tests.laws.generate import case
from tests.laws.schema import TYPES

CONSTRUCTS = [
    *[
        "JOIN",
        "CROSS JOIN",
        "NATURAL JOIN",
        "USING (",
        ", `",
        "UNION ALL",
        "VALUES",
        "WITH",
        "WHERE",
        "SELECT *",
        "EXCEPT (",
    ],
    *["CASE WHEN", "COALESCE", "CAST(", "CONCAT", "UPPER", ".a", "[0]", "NAMED_STRUCT", '`qu"ote`', "`ti``ck`"],
    *["<=>", "IS NULL", "IN (", "BETWEEN", "LIKE", "NOT (", " OR ", " AND "],
]


def test_a_seed_names_a_case() -> None:
    assert str(case(3)) == str(case(3))
    assert str(case(3)) != str(case(4))


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_every_construct_occurs(construct: str) -> None:
    assert sum(construct in v.query for seed in range(300) for v in case(seed).views) >= 3


def test_every_type_occurs() -> None:
    types = {t for seed in range(300) for table in case(seed).tables for t in table.types}
    assert types == {t for group in TYPES.values() for t in group}


def test_views_read_views() -> None:
    read = [v.name for seed in range(100) for v in case(seed).views[:-1] if v.name in case(seed).views[-1].query]
    assert len(read) >= 20


def test_most_views_change() -> None:
    """Were most answers empty, most comparisons would be of nothing with nothing."""
    answers = [a for seed in range(60) for a in oracle.recompute_on_duckdb(case(seed)).values()]
    changing = [a for a in answers if any(a.change(n) for n in range(1, len(a.states)))]
    assert len(changing) * 2 > len(answers), f"only {len(changing)} of {len(answers)}"
