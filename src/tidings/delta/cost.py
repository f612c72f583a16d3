"""What a delta program reads, as far as that can be told before it runs.

The unit is a row read of a state; deltas are read in any case and do not count.  A restricted read touches the rows of
the keys that changed, as many each as the relation has per key, or about :data:`FANOUT` where that is not known; an
unrestricted one touches the whole relation, and where an operator has no key, once more for every instant of the batch.
A new state has the changes in it: a recompute from nothing reads them again at every instant.

An engine may have a fixed cost for every read by more keys than it takes as a list: on Spark each is a join with jobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidings.delta.plan import Program, Step
from tidings.ir.expression import ref
from tidings.ir.relation import Relation, Restrict, Scan, Version
from tidings.ir.traverse import children, walk

FANOUT = 10.0
"""How many rows a key is taken to have if nothing is known about it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One read of a state: of which relation and version, and by the keys of which deltas; none for the whole."""

    relation: str
    version: Version
    keys: frozenset[str]
    times: int
    column: str = ""
    """The column that the keys are compared with, if it is one."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is known about a batch: rows per relation before it, changed rows per relation, instants."""

    rows: Callable[[str], int]
    changes: Callable[[str], int]
    instants: int
    fanout: Callable[[str, str], float | None] = lambda relation, column: None
    """Rows per key of a relation by a column; None if not known."""
    fixed_cost: int = 0
    """What a read by more than :attr:`listed` keys costs beside its rows, in rows."""
    listed: int = 0


def readings(program: Program, instants: int = 1) -> list[Reading]:
    """Every read of a state in a program."""
    return [r for step in program.steps for r in _readings(step, step.plan, None, instants)]


def _readings(step: Step, node: Relation, by: Restrict | None, instants: int) -> Iterator[Reading]:
    match node:
        case Scan() if node.version is not Version.DELTA:
            times = 1 + instants if step.keyless and not step.once and by is None else 1
            key = None if by is None else ref(by.expression)
            keys = frozenset[str]() if by is None else _deltas(by.keys)
            yield Reading(node.relation, node.version, keys, times, key[1] if key else "")
        case Restrict():
            yield from _readings(step, node.input, node, instants)
        case _:
            for child in children(node):
                yield from _readings(step, child, by, instants)


def _deltas(keys: Relation) -> frozenset[str]:
    return frozenset(n.relation for n in walk(keys) if isinstance(n, Scan) and n.version is Version.DELTA)


def estimate(program: Program, sizes: Sizes) -> int:
    """About how many rows of states a program reads."""
    changes = _changes(program, sizes)

    def cost(reading: Reading) -> int:
        size = sizes.rows(reading.relation)
        if reading.version is not Version.OLD:
            size += sizes.changes(reading.relation)
        if not reading.keys:
            return size * reading.times
        keys = min(map(changes, reading.keys))
        fanout = sizes.fanout(reading.relation, reading.column) if reading.column else None
        return min(size, math.ceil((fanout or FANOUT) * keys))

    return sum(map(cost, readings(program, sizes.instants)))


def fixed_costs(program: Program, sizes: Sizes) -> int:
    """The fixed costs of the engine, in rows."""
    if not sizes.fixed_cost:
        return 0
    changes = _changes(program, sizes)
    return sizes.fixed_cost * sum(
        min(map(changes, reading.keys)) > sizes.listed for reading in readings(program) if reading.keys
    )


def _changes(program: Program, sizes: Sizes) -> Callable[[str], int]:
    """How many rows of a relation or step change: a step's as many as those of what it reads."""
    by_step = {s.name: 0 for s in program.steps}

    def changes(relation: str) -> int:
        return by_step[relation] if relation in by_step else sizes.changes(relation)

    for step in program.steps:
        by_step[step.name] = sum(map(changes, {s.relation for s in step.scans if s.version is Version.DELTA}))
    return changes
