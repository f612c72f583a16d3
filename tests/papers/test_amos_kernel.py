"""The set calculus and the kernel, held against each other on random expressions and changes.

Selections, projections, products, joins and unions of sets are what their SQL forms over bags are, once each row is
counted at most once.  So the kernel's delta, read as a change of the set of rows, must be the strict delta-set.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import assert_never

from hypothesis import given, settings

import tidings
from tests.papers.amos import bag, kernel_delta, set_change, store
from tests.unit.algebra.calculus.generate import MONOTONE, WIDTHS, expressions, facts
from tidings.algebra.calculus import (
    DeltaMinus,
    DeltaPlus,
    DeltaSet,
    Facts,
    NaturalJoin,
    NewState,
    OldState,
    Projection,
    Row,
    Selection,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
    delta,
    relation,
    select,
)


@settings(deadline=None, max_examples=60)
@given(expressions(depth=3, kinds=MONOTONE), facts())
def test_kernel_deltas_are_strict_delta_sets(node: SetExpression, facts: Facts) -> None:
    check(node, facts)


def test_a_union_of_three_joined_with_a_changed_table() -> None:
    """DuckDB would push a Bloom filter into the three scans, which Arrow scans cannot apply."""
    pairs = relation("e", "x", "y")
    node = NaturalJoin(SetUnion(SetUnion(pairs, pairs), pairs), select(relation("a", "y"), "y > 0"))
    states: dict[str, set[Row]] = {"a": {(1,)}, "b": set(), "e": set(), "f": set()}
    check(node, Facts.after(states, {"a": DeltaSet.of(plus={(2,)}, minus={(1,)})}))


def check(node: SetExpression, facts: Facts) -> None:
    """The kernel's delta leads from the old bag to the new one, and means the same change of the set."""
    query = sql(node)
    with tidings.open(engine="duckdb") as db:
        for name, width in WIDTHS.items():
            db.sql(f"CREATE TABLE {name} ({', '.join(f'c{n} INT' for n in range(width))})")
        since = store(db, facts)
        before, changed = bag(db, query, since), kernel_delta(db, query, since)
        assert before + changed == bag(db, query, db.time), query
        assert set_change(before, changed) == delta(node, facts), query


def sql(node: SetExpression) -> str:
    """A monotone expression as a query over bags."""
    numbers = count(1)
    return _query(node, lambda: f"s{next(numbers)}")


def _query(node: SetExpression, alias: Callable[[], str]) -> str:
    def source(operand: SetExpression) -> tuple[str, str]:
        name = alias()
        return name, f"({_query(operand, alias)}) AS {name}"

    match node:
        case NewState():
            columns = [f"c{n} AS {a}" for n, a in enumerate(node.attributes)]
            return f"SELECT {', '.join(columns)} FROM {node.name}"
        case Selection():
            return f"SELECT * FROM {source(node.input)[1]} WHERE {node.condition}"
        case Projection():
            return f"SELECT {', '.join(f'{i.value} AS {i.name}' for i in node.items)} FROM {source(node.input)[1]}"
        case SetUnion():
            return " UNION ALL ".join(f"SELECT * FROM {source(side)[1]}" for side in (node.left, node.right))
        case SetProduct() | NaturalJoin():
            (left, first), (right, second) = source(node.left), source(node.right)
            shared = node.shared if isinstance(node, NaturalJoin) else ()
            columns = [f"{left if a in node.left.attributes else right}.{a}" for a in node.attributes]
            condition = " AND ".join(f"{left}.{a} = {right}.{a}" for a in shared)
            how = f"{first} JOIN {second} ON {condition}" if shared else f"{first} CROSS JOIN {second}"
            return f"SELECT {', '.join(columns)} FROM {how}"
        case SetDifference() | SetIntersection() | OldState() | DeltaPlus() | DeltaMinus():
            raise ValueError("only monotone expressions have the same meaning over bags")
        case _:
            assert_never(node)
