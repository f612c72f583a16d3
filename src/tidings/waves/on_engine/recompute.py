"""Recomputes on the database's engine, which is left with as little as possible.

Of a stored grouping or view of few rows the engine computes the new ones, and they are compared with the stored ones in
this process.  A query over small relations alone, as that of a view over its groupings mostly is, is one small job over
rows in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from tidings.delta.plan import Program, Step
from tidings.delta.recompute import new_rows
from tidings.engine.changes import as_changes, consolidated, inverted, without_version
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Scan, Version
from tidings.ir.traverse import walk
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.waves.in_process.snapshot_reader import table_of
from tidings.waves.on_engine.small_relations import SmallRelations, is_small


@dataclass(slots=True)
class EngineRecompute:
    """Runs the steps of recomputes."""

    storage: Storage
    runner: Runner
    small_relations: SmallRelations

    def run(self, program: Program, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta of a program of one step."""
        (step,) = program.steps
        if not program.compares_stored or self._small(step.name) is None:
            return self.runner.run(program, sources, since, until)
        return self._compared(step, sources, since, until)

    def _compared(self, step: Step, sources: Sources, since: int, until: int) -> pa.Table:
        """What the engine computes of a step, less what is stored."""
        computed = new_rows(step)
        read = {node.relation for node in walk(computed) if isinstance(node, Scan)}
        tables = {name: table for name in {step.name, *read} if (table := self._small(name)) is not None}
        bases = self._bases(tables)

        def in_memory(relation: str, version: Version) -> Source:
            source = sources(relation, version)
            return source if relation not in bases else _with_base(source, bases[relation])

        after = self.runner.rows(computed, in_memory, since, until, in_memory=read <= tables.keys())
        came = as_changes(step.columns, after, time=until)
        before = in_memory(step.name, Version.OLD).changes
        assert isinstance(before, pa.Table)
        both = pa.concat_tables([came, inverted(before, until)])
        return consolidated(step.columns, without_version(both), both.column(WEIGHT), until)

    def _small(self, relation: str) -> Table | None:
        """The table that has the rows of a relation, if they are few."""
        table = table_of(self.storage, relation)
        return table if table is not None and is_small(table) else None

    def _bases(self, tables: Mapping[str, Table]) -> dict[str, pa.Table]:
        """The base rows of small tables; those that are not cached are read in one query."""
        based = {name: table for name, table in tables.items() if table.base is not None}
        bases = {name: self.small_relations.rows(table, table.columns) for name, table in based.items()}
        missing = [name for name, rows in bases.items() if rows is None]
        if missing:
            lookups = [self.small_relations.lookup(tables[name], tables[name].columns) for name in missing]
            for name, rows in zip(missing, self.storage.backend.look_up(lookups), strict=True):
                bases[name] = rows
                self.small_relations.add(tables[name], rows)
        return {name: rows for name, rows in bases.items() if rows is not None}


def _with_base(source: Source, rows: pa.Table) -> Source:
    """A version of a relation with its base rows among its changes."""
    if not isinstance(source.changes, pa.Table):
        return source
    base = as_changes(source.columns, rows.select([c.name for c in source.columns]))
    return Source(source.columns, None, pa.concat_tables([base, source.changes]))
