"""The laws of the algebra: incremental forms, transformations and both ways of optimisation never change an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

import tidings
from tests.laws.algebra_expressions import SCHEMAS, expression, instance, substitutions
from tests.laws.seeds import chunks
from tidings.algebra import (
    TRANSFORMATIONS,
    DeltaExpression,
    DeltaPair,
    IncrDiff,
    IncrJoin,
    IncrProject,
    IncrSelect,
    IncrUnion,
    RelationInstance,
    StoredDelta,
    SubstitutionList,
    chain_rule,
    chain_rule_first,
    delta_of,
    evaluate,
    first_principle,
    from_plan,
    push_down,
    relation,
    relational_first,
    show,
    to_plan,
    to_sql,
)
from tidings.algebra.changes.text import delta_inputs
from tidings.algebra.expressions.nodes import AlgebraExpression
from tidings.errors import TransformationRefused
from tidings.ir.relation import Relation


def same(found: DeltaPair, expected: DeltaPair) -> bool:
    return found.in_order_of(expected.attributes).rows == expected.rows


@pytest.mark.parametrize("seeds", chunks(2400, quick=600, size=300))
def test_incremental_forms_give_what_the_first_principle_gives(seeds: range) -> None:
    changed = 0
    for seed in seeds:
        random = Random(seed)
        node, list_ = expression(random, random.randint(1, 4)), substitutions(random)
        expected, found = first_principle(node, list_), delta_of(chain_rule(node), list_)
        assert found.rows == expected.rows, f"{seed}: {show(node)}\n{found}\n{expected}"
        changed += bool(expected)
    assert changed > len(seeds) // 5


@pytest.mark.parametrize("seeds", chunks(1800, quick=300, size=300))
def test_both_optimisations_keep_the_answer(seeds: range) -> None:
    for seed in seeds:
        random = Random(seed)
        node, list_ = expression(random, random.randint(1, 3)), substitutions(random)
        expected = first_principle(node, list_)
        for optimised in (chain_rule_first(node), relational_first(node, limit=20)):
            found = delta_of(optimised, list_)
            assert same(found, expected), f"{seed}: {show(node)}\n{show(optimised)}\n{found}\n{expected}"


def parts(node: DeltaExpression) -> Iterator[DeltaExpression]:
    yield node
    for part in delta_inputs(node):
        if not isinstance(part, AlgebraExpression):
            yield from parts(part)


@pytest.mark.parametrize("seeds", chunks(3600, quick=600, size=600))
def test_transformations_keep_the_answer(seeds: range) -> None:
    applied = set()
    for seed in seeds:
        random = Random(seed)
        node, list_ = expression(random, random.randint(2, 4)), substitutions(random)
        for start in (chain_rule(node), push_down(chain_rule(node))):
            for part in parts(start):
                for transformation in TRANSFORMATIONS:
                    for direction in (transformation.down, transformation.up):
                        try:
                            other = direction(part)
                        except TransformationRefused:
                            continue
                        applied.add(direction.__name__)
                        found, expected = delta_of(other, list_), delta_of(part, list_)
                        assert same(found, expected), f"{seed}: {show(part)}\n{show(other)}\n{found}\n{expected}"
    directions = {d.__name__ for t in TRANSFORMATIONS for d in (t.down, t.up)}
    assert directions - applied == set()


# without their side conditions, transformations change answers

R, S, T = relation("r", "k", "a"), relation("s", "k", "b"), relation("t", "k", "a")
DR, DS, DT = StoredDelta(R), StoredDelta(S), StoredDelta(T)


def _split_or(random: Random) -> tuple[DeltaExpression, DeltaExpression]:
    """6 for a condition that is no conjunction of one per side."""
    whole = IncrSelect(IncrJoin(R, S, DR, DS), R.join(S).select("a > 1 OR b > 1").condition)
    left, right = R.select("a > 1"), S.select("b > 1")
    return whole, IncrJoin(left, right, IncrSelect(DR, left.condition), IncrSelect(DS, right.condition))


def _unequal_union(random: Random) -> tuple[DeltaExpression, DeltaExpression]:
    """7, upwards, for unequal conditions."""
    left, right = R.select("a > 1"), T.select("a > 2")
    whole = IncrUnion(left, right, IncrSelect(DR, left.condition), IncrSelect(DT, right.condition))
    return whole, IncrSelect(IncrUnion(R, T, DR, DT), left.condition)


def _unequal_difference(random: Random) -> tuple[DeltaExpression, DeltaExpression]:
    """8, upwards, for unequal conditions."""
    left, right = R.select("a > 1"), T.select("a > 2")
    whole = IncrDiff(left, right, IncrSelect(DR, left.condition), IncrSelect(DT, right.condition))
    return whole, IncrSelect(IncrDiff(R, T, DR, DT), left.condition)


def _join_key_projected_away(random: Random) -> tuple[DeltaExpression, DeltaExpression]:
    """9 where the sides are joined by what is projected away."""
    whole = IncrProject(R.join(S), IncrJoin(R, S, DR, DS), ("a", "b"))
    left, right = IncrProject(R, DR, ("a",)), IncrProject(S, DS, ("b",))
    return whole, IncrJoin(R.project("a"), S.project("b"), left, right)


def _project_of_difference(random: Random) -> tuple[DeltaExpression, DeltaExpression]:
    """10 for a difference."""
    whole = IncrProject(R.difference(T), IncrDiff(R, T, DR, DT), ("a",))
    left, right = IncrProject(R, DR, ("a",)), IncrProject(T, DT, ("a",))
    return whole, IncrDiff(R.project("a"), T.project("a"), left, right)


@pytest.mark.parametrize(
    ("pair", "number"),
    [
        (_split_or, 6),
        (_unequal_union, 7),
        (_unequal_difference, 8),
        (_join_key_projected_away, 9),
        (_project_of_difference, 10),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_without_its_condition_a_transformation_changes_the_answer(
    pair: Callable[[Random], tuple[DeltaExpression, DeltaExpression]], number: int
) -> None:
    whole, other = pair(Random(1))
    transformation = TRANSFORMATIONS[number - 1]
    for direction in (transformation.down, transformation.up):
        with pytest.raises(TransformationRefused):
            direction(whole)
    assert any(
        not same(delta_of(other, list_), delta_of(whole, list_))
        for list_ in (substitutions(Random(seed)) for seed in range(200))
    )


@pytest.mark.parametrize(
    ("number", "wrong"),
    [
        (3, lambda: TRANSFORMATIONS[2].up(IncrProject(R, DR, ("a",)), ("k",))),  # type: ignore[call-arg]
        (5, lambda: TRANSFORMATIONS[4].up(chain_rule(R.select("k > 1").project("a")))),
    ],
)
def test_what_would_read_attributes_that_are_gone_is_refused(number: int, wrong: Callable[[], object]) -> None:
    with pytest.raises(TransformationRefused) as caught:
        wrong()
    assert caught.value.parameters["number"] == number


# expressions and databases


def database(states: dict[str, RelationInstance]) -> tidings.Database:
    db = tidings.open(engine="duckdb")
    for name, attributes in SCHEMAS.items():
        db.sql(f"CREATE TABLE {name} ({', '.join(f'{a} INT' for a in attributes)})")
    with db.transaction() as tx:
        for name, state in states.items():
            tx.insert(name, state.dicts())
    return db


def bound_plan(db: tidings.Database, text: str) -> Relation:
    return db._parts.plans.plan(text)


@pytest.mark.parametrize("seeds", chunks(300, quick=30, size=30))
def test_expressions_sql_and_plans_say_the_same(seeds: range) -> None:
    random = Random(seeds[0])
    old = {name: instance(random, name) for name in SCHEMAS}
    new = {name: instance(random, name, old[name]) for name in SCHEMAS}
    list_ = SubstitutionList.between(old, new)
    with database(old) as db:
        since = db.time
        with db.transaction() as tx:
            for name, delta in list_.deltas.items():
                tx.delete(name, delta.removed.dicts())
                tx.insert(name, delta.added.dicts())
        for seed in seeds:
            node = expression(Random(seed), Random(seed).randint(1, 3), operators=False)
            text, expected = to_sql(node), evaluate(node, list_.new)
            assert {tuple(row[a] for a in node.attributes) for row in db.query(text).rows()} == expected.rows, text
            changes = db.changes(text, since=since)
            removed, added = delta_of(chain_rule(node), list_).rows
            for told, expected_rows in ((changes.removals(), removed), (changes.additions(), added)):
                assert {tuple(row[a] for a in node.attributes) for row in told} == expected_rows, text
            read = from_plan(bound_plan(db, text))
            assert read.attributes == node.attributes
            assert evaluate(read, list_.new).rows == expected.rows, f"{text}\n{show(read)}"
            typed = from_plan(to_plan(from_plan(bound_plan(db, text), db)))
            assert evaluate(typed, list_.new).rows == expected.rows, f"{text}\n{show(typed)}"
