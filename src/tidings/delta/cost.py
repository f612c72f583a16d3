"""What a program costs, as far as that can be told before it runs: its work, and the seconds an engine takes for it.

The work of a differential are the lookups by which it reads states, and small statements over what they find.  A lookup
finds the rows of the keys that changed, as many each as the relation has per key, or about :data:`FANOUT` where that is
not known.  To find them it goes through the whole column, or through a few row groups if the relation is in the order
of that column.  What has no key is read whole, and where an operator has none, once more for every instant of the
batch.  The work of a recompute is to read everything whole, once for each instant at which it is done.

A new state has the changes in it: a recompute from nothing reads them again at every instant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

from tidings.analysis.influents import CLOCK, reads
from tidings.delta.lookups import Fanouts, LookedUp, Lookup, looked_up, unknown_fanouts
from tidings.delta.plan import Program, Step
from tidings.ir.relation import Relation, Scan, Version
from tidings.ir.traverse import walk

FANOUT = 10.0
"""How many rows a key is taken to have if nothing is known about it."""

ROW_GROUP = 20_000
"""About so many rows are gone through for a key of the column in whose order a relation is."""

LOOKUP_OPERATORS = 3
"""What a lookup adds to the plan of its statement: a scan, the keys, and the columns."""

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One read of a state: of which relation and version, and by which keys."""

    relation: str
    version: Version
    name: str = ""
    """By which other readings know it."""
    keys: frozenset[str] = frozenset()
    """The relations, steps and readings before it that have the keys; none if it is read whole."""
    column: str = ""
    """The column that the keys are compared with."""
    every_instant: bool = False
    """Whether it is read once more for every instant of the batch."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a program does whatever the batch is; found out once."""

    readings: tuple[Reading, ...]
    statements: int
    operators: int
    """The operators of the plans of all statements."""
    steps: tuple[tuple[str, frozenset[str]], ...] = ()
    """Each step with the relations and lower steps whose deltas it reads."""
    keyless: tuple[str, ...] = ()
    """What has no key and so is read whole."""
    large_statements: int = 0
    """Statements over whole states."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is known about a batch: rows per relation before it, changed rows per relation, instants."""

    rows: Callable[[str], int]
    changes: Callable[[str], int]
    instants: int
    fanout: Fanouts = unknown_fanouts
    order: Callable[[str], str] = lambda relation: ""
    """The column in whose order a relation is."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What there is to do for a batch."""

    statements: int = 0
    operators: int = 0
    """Operators to plan."""
    scanned: int = 0
    """Rows gone through for keys."""
    found: int = 0
    """Rows of states that have these keys."""
    changes: int = 0
    """Changed rows."""
    whole: int = 0
    """Rows of states that are read whole."""
    large_statements: int = 0
    """Statements over whole states."""

    @property
    def rows(self) -> int:
        """Rows of states that are read, apart from those gone through for keys."""
        return self.found + self.whole

    def times(self, number: int) -> Cost:
        """The same work several times."""
        return Cost(*(getattr(self, f.name) * number for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Speeds:
    """How fast an engine is, in seconds."""

    statement: float
    """To begin and end a statement."""
    operator: float
    """To plan one operator of a statement."""
    scanned: float
    """To go through a million rows for keys."""
    found: float
    """To bring a million rows to where a step is finished, and to finish it over them."""
    whole: float
    """To read a million rows and compute what a query makes of them."""
    large_statement: float = 0.0
    """To begin and end a statement over whole states: on Spark it has several jobs."""

    def seconds(self, cost: Cost) -> float:
        """How long some work takes."""
        rows = cost.scanned * self.scanned + (cost.found + cost.changes) * self.found + cost.whole * self.whole
        statements = cost.statements * self.statement + cost.large_statements * self.large_statement
        return statements + cost.operators * self.operator + rows / MILLION

    @property
    def of_rows(self) -> Speeds:
        """The same speeds where only rows count."""
        return Speeds(0.0, 0.0, self.scanned, self.found, self.whole)


def differential_shape(program: Program, fanouts: Fanouts = unknown_fanouts) -> Shape:
    """The shape of a differential, over lookups."""
    steps = [looked_up(step, fanouts) for step in program.steps]
    lookups = [lookup for over in steps for lookup in over.lookups]
    return Shape(
        readings=tuple(_reading(over.step, lookup) for over in steps for lookup in over.lookups),
        statements=sum(1 + _rounds(over) for over in steps),
        operators=sum(_operators(over.step.plan) for over in steps) + LOOKUP_OPERATORS * len(lookups),
        steps=tuple((step.name, _deltas(step.plan)) for step in program.steps),
        keyless=tuple(dict.fromkeys(operator for step in program.steps for operator in step.keyless)),
    )


def recompute_shape(program: Program) -> Shape:
    """The shape of a recompute, which reads every state at each of its uses."""
    return Shape(
        readings=tuple(reading for step in program.steps for reading in _whole(step.plan)),
        statements=0,
        operators=sum(_operators(step.plan) for step in program.steps),
        large_statements=len(program.steps),
    )


def cost(shape: Shape, sizes: Sizes) -> Cost:
    """The work for a batch; a recompute's at one instant."""
    known: dict[str, int] = {}

    def count(name: str) -> int:
        """How many rows of a relation or step change, as many as of what it reads; and the keys a reading has.

        What is looked up by the rows of another reading has as many keys as that: most of its rows have the same ones,
        or meet nothing.
        """
        return known[name] if name in known else sizes.changes(name)

    for step, deltas in shape.steps:
        known[step] = sum(map(count, deltas))
    tables = {relation for _, deltas in shape.steps for relation in deltas} - known.keys()
    scanned = found = whole = 0
    for reading in shape.readings:
        size = sizes.rows(reading.relation)
        size += 0 if reading.version is Version.OLD else sizes.changes(reading.relation)
        if not reading.keys:
            known[reading.name] = size
            whole += size * (1 + sizes.instants if reading.every_instant else 1)
            continue
        keys = known[reading.name] = sum(map(count, reading.keys))
        fanout = sizes.fanout(reading.relation, reading.column) or FANOUT
        found += min(size, math.ceil(fanout * keys))
        in_order = reading.column == sizes.order(reading.relation)
        scanned += min(size, keys * ROW_GROUP) if in_order else size
    changes = sum(map(sizes.changes, tables))
    return Cost(shape.statements, shape.operators, scanned, found, changes, whole, shape.large_statements)


def _reading(step: Step, lookup: Lookup) -> Reading:
    if lookup.column is None:
        every_instant = bool(step.keyless) and not step.once
        return Reading(lookup.relation, lookup.version, lookup.name, every_instant=every_instant)
    keys = reads(lookup.plan) if lookup.plan is not None else frozenset(relation for relation, _ in lookup.keys)
    return Reading(lookup.relation, lookup.version, lookup.name, keys - {CLOCK}, lookup.column.name)


def _rounds(over: LookedUp) -> int:
    """How many statements look up the rows of a step: a lookup whose keys are computed waits for those before it."""
    by_keys = [lookup for lookup in over.lookups if lookup.column is not None]
    return bool(by_keys) + sum(lookup.plan is not None for lookup in by_keys)


def _whole(plan: Relation) -> Iterator[Reading]:
    return (Reading(node.relation, node.version) for node in walk(plan) if isinstance(node, Scan))


def _deltas(plan: Relation) -> frozenset[str]:
    return frozenset(n.relation for n in walk(plan) if isinstance(n, Scan) and n.version is Version.DELTA)


def _operators(plan: Relation) -> int:
    return sum(1 for _ in walk(plan))
