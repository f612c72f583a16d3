"""Recomputes on the database's engine, which is left with as little as possible.

Of a stored grouping or view of few rows the engine computes the new ones, and they are compared with the stored ones in
this process.  A query over small relations alone, as that of a view over its groupings mostly is, is one small job over
rows in memory.
"""

from __future__ import annotations

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
        self._fetch(list(tables.values()))

        def in_memory(relation: str, version: Version) -> Source:
            source = sources(relation, version)
            return source if relation not in tables else self._in_memory(tables[relation], source)

        after = self.runner.rows(computed, in_memory, since, until, in_memory=read <= tables.keys())
        before = in_memory(step.name, Version.OLD).changes
        assert isinstance(before, pa.Table)
        both = pa.concat_tables([after, inverted(before, until)])
        return consolidated(step.columns, without_version(both), both.column(WEIGHT), until)

    def _small(self, relation: str) -> Table | None:
        """The table that has the rows of a relation, if they are few."""
        table = table_of(self.storage, relation)
        return table if table is not None and is_small(table) else None

    def _fetch(self, tables: list[Table]) -> None:
        """Read the base rows of small tables, all that are not cached in one query."""
        missing = [t for t in tables if t.base is not None and self.small_relations.rows(t, t.columns) is None]
        if missing:
            lookups = [self.small_relations.lookup(table, table.columns) for table in missing]
            for table, rows in zip(missing, self.storage.backend.look_up(lookups), strict=True):
                self.small_relations.add(table, rows)

    def _in_memory(self, table: Table, source: Source) -> Source:
        """A version of a small relation without its base, whose rows are among its changes."""
        if source.base is None or not isinstance(source.changes, pa.Table):
            return source
        rows = self.small_relations.rows(table, source.columns)
        assert rows is not None, "it was read just now"
        base = as_changes(source.columns, rows.select([c.name for c in source.columns]))
        return Source(source.columns, None, pa.concat_tables([base, source.changes]))
