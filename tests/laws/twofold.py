"""Texts that the view and its oracle read differently.

Where DuckDB, or sqlglot's translation for it, means something else than Spark, a view's text holds both: what the view
says, and what the oracle is to compute, in marks around the place where they differ.  They nest.

    SELECT ⟦*¦k, SUM(n) FILTER (WHERE s = 'a') AS a⟧ FROM t⟦ PIVOT (SUM(n) FOR s IN ('a'))¦ GROUP BY k⟧

The oracle's side is still Spark's SQL to sqlglot; functions it does not know go to DuckDB as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.laws.generate import View

_MARKS = re.compile("([⟦¦⟧])")


@dataclass(frozen=True, slots=True)
class TwofoldView(View):
    """A view, and the query the oracle answers."""

    oracle: str = ""


def twofold(view: str, oracle: str) -> str:
    """A place where the two differ."""
    return f"⟦{view}¦{oracle}⟧"


def view_of(name: str, text: str) -> TwofoldView:
    """A view with both sides of a text."""
    return TwofoldView(name, sides(text)[0], sides(text)[1])


def sides(text: str) -> tuple[str, str]:
    """The view's side and the oracle's.

    >>> sides("a ⟦b¦c ⟦d¦e⟧⟧ f")
    ('a b f', 'a c e f')
    """
    return _side(text, 0), _side(text, 1)


def _side(text: str, side: int) -> str:
    stack: list[list[str]] = [[""]]
    for token in _MARKS.split(text):
        match token:
            case "⟦":
                stack.append([""])
            case "¦":
                stack[-1].append("")
            case "⟧":
                chosen = stack.pop()[side]
                stack[-1][-1] += chosen
            case _:
                stack[-1][-1] += token
    ((whole,),) = stack
    return whole
