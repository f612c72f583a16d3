"""Maintains a recursion that counts duplicates over one batch, instant by instant.

The equations are in :mod:`tidings.delta.recursion.bags`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.recursion.bags import BEFORE, OLD_ROWS, BagRules
from tidings.delta.recursion.rounds import PREFIX
from tidings.engine.changes import as_changes, consolidated, no_changes, without_version
from tidings.engine.progress import rounds
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.errors import FixpointTooLong
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Column, Relation, Version


@dataclass(slots=True)
class BagRun:
    """Maintains one such recursion over one batch."""

    rules: BagRules
    runner: Runner
    at: Callable[[int], Sources]
    """The rows of relations at an instant."""
    old_rows: Source | None
    """The recursive rows at the beginning of the batch, where they are stored."""
    statements: int = field(init=False, default=0)
    rounds: int = field(init=False, default=0)

    def instant(self, since: int, at: int, changes: Mapping[str, pa.Table]) -> pa.Table:
        """The changes of the recursive rows at an instant, given those of the inputs; ``since`` is the one before."""
        member = self.rules.member
        parts = [no_changes(member.columns)]
        moving = self._signed(changes)
        new = self._derived([(p, plan) for p, plan in self.rules.first if p in moving], moving, since, at)
        with rounds(f"deriving {member.name}") as done:
            number = 0
            while new.num_rows:
                number += 1
                if number > self.runner.max_rounds:
                    raise FixpointTooLong(predicate=member.name, rounds=self.runner.max_rounds)
                parts.append(new)
                done(new.num_rows)
                moving = self._signed({member.name: new})
                new = self._derived([(member.name, plan) for plan in self.rules.again], moving, since, at)
        self.rounds += number
        whole = pa.concat_tables(parts)
        delta = consolidated(member.columns, without_version(whole), whole.column(WEIGHT), at)
        if self.old_rows is not None:
            assert isinstance(self.old_rows.changes, pa.Table)
            renamed = delta.rename_columns(self.old_rows.changes.column_names)
            self.old_rows = replace(self.old_rows, changes=pa.concat_tables([self.old_rows.changes, renamed]))
        return delta

    def _signed(self, changes: Mapping[str, pa.Table]) -> dict[str, dict[int, Source]]:
        """What came and what went of relations that changed, each row as often as it did."""
        signed: dict[str, dict[int, Source]] = {}
        for name, delta in changes.items():
            columns = self.rules.columns(name)
            for sign in (1, -1):
                rows = _repeated(delta, columns, sign)
                if rows.num_rows:
                    signed.setdefault(name, {})[sign] = Source(columns, None, as_changes(columns, rows))
        return signed

    def _derived(
        self, plans: list[tuple[str, Relation]], moving: Mapping[str, Mapping[int, Source]], since: int, at: int
    ) -> pa.Table:
        """What some plans derive from what came, less what they derive from what went."""
        columns = self.rules.member.columns
        parts = [no_changes(columns)]
        for predicate, plan in plans:
            for sign, source in moving.get(predicate, {}).items():
                self.statements += 1
                rows = self.runner.rows(plan, self._sources(predicate, source, since, at), 0, at)
                parts.append(as_changes(columns, rows, [sign] * rows.num_rows, at))
        whole = pa.concat_tables(parts)
        return consolidated(columns, without_version(whole), whole.column(WEIGHT), at)

    def _sources(self, predicate: str, moved: Source, since: int, at: int) -> Sources:
        before, after = self.at(since), self.at(at)

        def source(relation: str, version: Version) -> Source:
            if relation == PREFIX + predicate:
                return moved
            if relation == OLD_ROWS:
                assert self.old_rows is not None, "old rows are read only where they are stored"
                return self.old_rows
            if relation.startswith(BEFORE):
                return before(relation.removeprefix(BEFORE), version)
            return after(relation, version)

        return source


def _repeated(delta: pa.Table, columns: tuple[Column, ...], sign: int) -> pa.Table:
    """The rows of a delta that came or went, each as often as it did."""
    weights = delta.column(WEIGHT)
    chosen = delta.filter(pc.greater(weights, 0) if sign > 0 else pc.less(weights, 0))
    places = [n for n, weight in enumerate(chosen.column(WEIGHT).to_pylist()) for _ in range(abs(weight))]
    return without_version(chosen).take(pa.array(places, pa.int64())).rename_columns([c.name for c in columns])
