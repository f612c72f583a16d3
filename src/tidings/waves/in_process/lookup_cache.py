"""What the lookups of all programs have in common: which there are, the plans for them, and rows fetched already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.compiled import CompiledPlans, Identity
from tidings.delta.lookups import Lookup, lookup_plan
from tidings.delta.plan import Program
from tidings.engine.source import Source
from tidings.ir.relation import Relation


@dataclass(slots=True)
class LookupCache:
    """Remembers lookups until a definition changes, and their rows until the batch does."""

    compiled: CompiledPlans
    _lookups: dict[Identity[Program], tuple[Lookup, ...]] = field(init=False)
    _plans: dict[str, Relation] = field(init=False)
    """Plans that find the rows of a lookup in a snapshot, by the lookup's name."""
    _rows: dict[tuple[object, ...], Source] = field(init=False)
    """Rows that were looked up for the present batch.

    The key is the lookup's name with the changes that it depends on; programs that depend on the same changes share it.
    """

    def __post_init__(self) -> None:
        section = self.compiled.section
        self._lookups, self._plans, self._rows = section(), section(), section()

    def add(self, program: Program, lookups: tuple[Lookup, ...]) -> None:
        """Remember the lookups of a program."""
        self._lookups[Identity(program)] = lookups

    def lookups(self) -> Iterator[Lookup]:
        """The lookups of all programs."""
        return (lookup for lookups in self._lookups.values() for lookup in lookups)

    def plan(self, lookup: Lookup) -> Relation:
        """The plan that finds the rows of a lookup; made once, since its SQL is remembered too."""
        if lookup.name not in self._plans:
            self._plans[lookup.name] = lookup_plan(lookup)
        return self._plans[lookup.name]

    def begin_batch(self) -> None:
        """Drop the rows of the batch before."""
        self._rows.clear()

    def rows(self, lookup: Lookup, changes: Sequence[pa.Table]) -> Source | None:
        """The rows of a lookup that depends on some changes, if they were looked up before."""
        return self._rows.get(_key(lookup, changes))

    def add_rows(self, lookup: Lookup, changes: Sequence[pa.Table], rows: Source) -> None:
        """Remember the rows of a lookup that depends on some changes."""
        self._rows[_key(lookup, changes)] = rows


def _key(lookup: Lookup, changes: Sequence[pa.Table]) -> tuple[object, ...]:
    return lookup.name, *map(Identity, changes)
