"""Random expressions of the algebra and random substitution lists for them."""

from __future__ import annotations

from random import Random

from tidings.algebra import (
    AlgebraExpression,
    DeltaPair,
    RelationInstance,
    SubstitutionList,
    UserOperator,
    relation,
)

SCHEMAS = {"r": ("k", "a"), "s": ("k", "b"), "t": ("k", "a"), "u": ("c",)}
LEAVES = {name: relation(name, *attributes) for name, attributes in SCHEMAS.items()}
CONDITIONS = ("{} > 1", "{} <= 2", "{} = 1 OR {} IS NULL", "NOT {} IN (0, 2)", "{} <> 1 AND {} < 3")


def smallest(readings: RelationInstance) -> RelationInstance:
    """The tuples that no other of the same k is below: of a key, and not of single tuples."""
    ranks = {row: [(value is not None, value or 0) for value in row] for row in readings.rows}
    k = readings.place("k")
    return readings.filtered(lambda row: not any(o[k] == row[k] and ranks[o] < ranks[row] for o in readings.rows))


def numbered(readings: RelationInstance) -> RelationInstance:
    """The tuples unless there are more than three: of the relation as a whole."""
    return readings if len(readings) <= 3 else readings.filtered(lambda row: row == min(readings.rows, key=repr))


def doubled(readings: RelationInstance) -> RelationInstance:
    """The tuples with even numbers in the first place doubled."""
    return RelationInstance.by_value(readings.attributes, (_doubled(row) for row in readings.rows))


def doubled_changes(old: tuple[RelationInstance, ...], deltas: tuple[DeltaPair, ...]) -> DeltaPair:
    parts = (deltas[0].removed, deltas[0].added)
    return DeltaPair(*(RelationInstance.by_value(p.attributes, map(_doubled, p.rows)) for p in parts))


def _doubled(row: tuple[object, ...]) -> tuple[object, ...]:
    return ((row[0] * 2 + 1 if isinstance(row[0], int) else None), *row[1:])


def operator(random: Random, below: AlgebraExpression) -> UserOperator:
    """An operator that fits an expression, of each of the three kinds."""
    if "k" in below.attributes and random.random() < 0.4:
        return UserOperator("Smallest", below.attributes, smallest, ("k",))
    if random.random() < 0.5:
        return UserOperator("Numbered", below.attributes, numbered)
    return UserOperator("Doubled", below.attributes, doubled, incremental=doubled_changes)


def expression(random: Random, depth: int, *, operators: bool = True) -> AlgebraExpression:
    """An expression over the relations of ``SCHEMAS``."""
    if depth == 0:
        return LEAVES[random.choice(list(LEAVES))]
    kind = random.choice(["select"] * 3 + ["project"] * 2 + ["join"] * 2 + ["set"] * 3 + ["apply"] * operators)
    below = expression(random, depth - 1, operators=operators)
    if kind == "select":
        return below.select(condition(random, below.attributes))
    if kind == "project":
        return below.project(*random.sample(below.attributes, random.randint(1, len(below.attributes))))
    if kind == "apply":
        return below.apply(operator(random, below))
    other = expression(random, random.randrange(depth), operators=operators)
    if kind == "join":
        on = condition(random, (*below.attributes, *other.attributes)) if random.random() < 0.4 else None
        return below.join(other, on)
    common = [a for a in below.attributes if a in other.attributes]
    if not common:
        return (
            below.project(below.attributes[0])
            .rename(**{below.attributes[0]: "v"})
            .union(other.project(other.attributes[0]).rename(**{other.attributes[0]: "v"}))
        )
    left = below if set(common) == set(below.attributes) else below.project(*common)
    right = other if set(common) == set(other.attributes) else other.project(*reversed(common))
    return left.union(right) if random.random() < 0.5 else left.difference(right)


def condition(random: Random, attributes: tuple[str, ...]) -> str:
    template = random.choice(CONDITIONS)
    names = [random.choice(attributes) for _ in range(template.count("{}"))]
    return template.format(*names)


def instance(random: Random, name: str, old: RelationInstance | None = None) -> RelationInstance:
    """A random state, perhaps what another became: some tuples gone, some updated, some new.

    A tuple that was there does not come back under another tid.
    """
    attributes = SCHEMAS[name]
    before = {} if old is None else dict(old.tuples)
    tuples = {tid: row for tid, row in before.items() if random.random() < 0.7}
    for number in range(random.randint(0, 5)):
        row = tuple(random.choice([0, 1, 2, 3, None]) for _ in attributes)
        tid = random.choice(list(before)) if before and random.random() < 0.5 else (f"{name}{len(before)}.{number}",)
        if row not in tuples.values() and row not in before.values():
            tuples[tid] = row
    return RelationInstance(attributes, tuples)


def substitutions(random: Random) -> SubstitutionList:
    """Random old states, and new ones for some of them."""
    old = {name: instance(random, name) for name in SCHEMAS}
    changed = [name for name in SCHEMAS if random.random() < 0.7]
    return SubstitutionList.between(old, {name: instance(random, name, old[name]) for name in changed})
