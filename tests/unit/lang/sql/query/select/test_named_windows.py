"""Named windows: what one takes over from another, and what it may add."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.errors import InvalidExpression
from tidings.ir.expression import show
from tidings.ir.relation import Window
from tidings.ir.traverse import walk


def window(over: str, clause: str) -> str:
    (found,) = (n for n in walk(bound(f"SELECT count(*) OVER {over} AS n FROM u{clause}")) if isinstance(n, Window))
    return show(found.items[0].expression)


@pytest.mark.parametrize(
    ("over", "clause", "plain"),
    [
        ("w", " WINDOW w AS (PARTITION BY a ORDER BY c)", "(PARTITION BY a ORDER BY c)"),
        ("(w)", " WINDOW w AS (PARTITION BY a ORDER BY c)", "(PARTITION BY a ORDER BY c)"),
        ("w", " WINDOW base AS (ORDER BY c), w AS base", "(ORDER BY c)"),
        ("w", " WINDOW w AS (base), base AS (ORDER BY c)", "(ORDER BY c)"),
        ("w", " WINDOW w AS x, x AS y, y AS (ORDER BY c RANGE CURRENT ROW)", "(ORDER BY c RANGE CURRENT ROW)"),
        ("(W ORDER BY c)", " WINDOW w AS (PARTITION BY a)", "(PARTITION BY a ORDER BY c)"),
        ("w", " WINDOW base AS (PARTITION BY a), w AS (base ORDER BY c)", "(PARTITION BY a ORDER BY c)"),
        ("(w RANGE CURRENT ROW)", " WINDOW w AS (ORDER BY c)", "(ORDER BY c RANGE CURRENT ROW)"),
    ],
)
def test_a_window_takes_over_what_the_named_one_says(over: str, clause: str, plain: str) -> None:
    assert window(over, clause) == window(plain, "")


@pytest.mark.parametrize(
    ("over", "clause"),
    [
        ("w", ""),
        ("v", " WINDOW w AS (ORDER BY c)"),
        ("w", " WINDOW w AS w"),
        ("w", " WINDOW w AS v, v AS (w ORDER BY c)"),
        ("w", " WINDOW w AS (ORDER BY c), W AS (ORDER BY a)"),
        ("(w PARTITION BY a)", " WINDOW w AS (ORDER BY c)"),
        ("(w ORDER BY a)", " WINDOW w AS (ORDER BY c)"),
        ("(w ORDER BY a)", " WINDOW w AS (RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"),
        ("(w RANGE CURRENT ROW)", " WINDOW w AS (ORDER BY c RANGE CURRENT ROW)"),
        ("v", " WINDOW w AS v"),
    ],
)
def test_what_is_unknown_or_said_twice_is_refused(over: str, clause: str) -> None:
    with pytest.raises(InvalidExpression) as refused:
        window(over, clause)
    assert refused.value.place is not None


def test_a_name_belongs_to_its_own_query() -> None:
    inner = "(SELECT c, count(*) OVER w AS n FROM w WINDOW w AS (ORDER BY e)) AS q"
    plan = bound(f"SELECT count(*) OVER w AS n, q.n AS m FROM {inner} WINDOW w AS (PARTITION BY c)")
    calls = [show(n.items[0].expression) for n in walk(plan) if isinstance(n, Window)]
    assert ["PARTITION BY" in c for c in calls] == [True, False]
    with pytest.raises(InvalidExpression):
        bound("SELECT a, (SELECT max(c) FROM (SELECT c, count(*) OVER v AS n FROM w)) FROM u WINDOW v AS (ORDER BY a)")
