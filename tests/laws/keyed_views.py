"""Random views with every operator, nested in each other: the cases of the law for keyed operators.

``keyed_writer`` writes the keyed operators, ``new_values``, ``new_forms``, ``forms``, ``total_forms`` and
``around_forms`` what the front end has learned since, all in the forms of ``views``.  Queries are nested up to four
deep in FROM, and deeper by subqueries.

To look at a case:

    python -m tests.laws.keyed_views SEED
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from random import Random

from tests.laws import history, schema
from tests.laws.around_forms import AroundForms
from tests.laws.generate import Case, View
from tests.laws.schema import Table, quote
from tests.laws.twofold import TwofoldView, view_of
from tests.laws.views import Relation

DEPTH = 4
"""How deep queries are nested."""

_ROOMS = [0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 3]
_OPERATOR = re.compile(
    r"GROUP BY|DISTINCT|(?i:UNION)(?! ALL| all)|EXCEPT|INTERSECT|(?:LEFT|RIGHT|FULL)(?: \w+)? JOIN|OVER \(|LIMIT"
    r"|EXISTS|IN \(SELECT|(?:ANY|SOME|ALL) \(SELECT|LATERAL \(|PIVOT \(|ROLLUP|SETS|CUBE"
    r"|SELECT (?:\(|COALESCE\()?(?:CAST\()?(?:COUNT|SUM|AVG|MIN|MAX)\("
)


def keyed_case(
    seed: int, *, transactions: int = 5, depth: int = DEPTH, operators: int = 6, portable: bool = False
) -> Case:
    """The case of a seed, with at most so many keyed operators; ``portable`` ones keep to what Spark itself can run."""
    rng = Random(seed)
    tables = schema.tables(rng)
    loaded = history.base(rng, tables)
    wanted = rng.choice([1, 1, 1, 2])
    views = _views(rng, tables, wanted, depth, portable)
    while not 1 <= _operators(views) <= operators or any(map(_typed_by_chance, views)):
        views = _views(rng, tables, wanted, depth, portable)
    return Case(seed, tables, views, loaded, history.history(rng, tables, loaded, transactions))


def _views(rng: Random, tables: tuple[Table, ...], wanted: int, depth: int, portable: bool) -> tuple[View, ...]:
    """Views, each likely to read the one before it."""
    below = [Relation(quote(t.name), t.columns) for t in tables]
    views: list[TwofoldView] = []
    for level in range(wanted):
        query = AroundForms(rng, room=min(rng.choice(_ROOMS), depth - 1), portable=portable).view(below)
        views.append(view_of(rng.choice(["v", "Hot Items"]) + str(level), query.text))
        view = Relation(quote(views[-1].name), query.columns, query.size, query.ordered)
        below = [*below, view, view, view]
    return tuple(views)


def _typed_by_chance(view: View) -> bool:
    """Whether a set operation, or an UNPIVOT, meets something that DuckDB gives no type of its own.

    ``xs[1]``, where ``xs`` is an alias of ``[1]`` in the same list, and ``1.5 - CASE WHEN FALSE THEN x END``, which it
    folds to NULL, are an INTEGER by themselves and a SMALLINT in a set operation with one.  The rows are the same.
    """
    untyped = re.search(r"\[[01]\]|WHEN \(?FALSE\)? THEN", view.query)
    return bool(untyped and re.search("UNION|EXCEPT|INTERSECT|union|UNPIVOT", view.query))


def _operators(views: Sequence[View]) -> int:
    """How many keyed operators the last view has, with those of the views it reads."""
    found: dict[str, int] = {}
    for view in views:
        below = sum(n * view.query.count(f"{quote(v)} AS") for v, n in found.items())
        found[view.name] = len(_OPERATOR.findall(view.query)) + below
    return found[views[-1].name]


if __name__ == "__main__":
    print(keyed_case(int(sys.argv[1])))
