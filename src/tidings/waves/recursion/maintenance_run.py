"""Maintains one recursion over one batch, instant by instant, by its maintenance rules.

Over rows in this process where the rules allow it (:mod:`tidings.engine.recursion.rules_in_memory`), else in rounds of
statements (:mod:`tidings.engine.recursion.fixpoint`).  Both give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.recursion.lookup import KEYS
from tidings.delta.recursion.program import COME, GONE, MaintenancePrograms
from tidings.engine.changes import as_changes, consolidated, no_changes, without_version
from tidings.engine.recursion.fixpoint import Predicates, RuleProgramRun
from tidings.engine.recursion.indexed_rows import FetchedRows, Positions, Row, rows_of, table_of
from tidings.engine.recursion.rule_values import NotInMemory, is_supported
from tidings.engine.recursion.rules_in_memory import InMemoryRun
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Column, Fixpoint, Relation, Version

InstantChanges: TypeAlias = tuple[int, Mapping[str, pa.Table]]
"""An instant, and what each input lost and gained at it."""


@dataclass(slots=True)
class MaintenanceRun:
    """Maintains one recursion over one batch."""

    node: Fixpoint
    programs: MaintenancePrograms
    runner: Runner
    sources: Sources
    """The rows of relations at the beginning of the batch."""
    since: int
    is_small: Callable[[Relation], bool]
    """Whether a plan reads few rows."""
    derived: int = field(init=False, default=0)
    statements: int = field(init=False, default=0)
    rounds: int = field(init=False, default=0)
    in_memory: bool = field(init=False, default=False)
    _changed: dict[str, pa.Table] = field(init=False, default_factory=dict)
    """All changes of inputs and stored members since the beginning of the batch."""
    _given: dict[str, FetchedRows] = field(init=False, default_factory=dict)

    def over(self, instants: Sequence[InstantChanges]) -> dict[str, pa.Table]:
        """The changes of all members."""
        allowed = self.runner.rules_in_memory and all(map(is_supported, self.programs.first))
        if allowed:
            try:
                self.in_memory = True
                return self._all(instants)
            except NotInMemory:
                self._changed.clear()
        self.in_memory, self.derived, self.rounds = False, 0, 0
        return self._all(instants)

    def _all(self, instants: Sequence[InstantChanges]) -> dict[str, pa.Table]:
        deltas: dict[str, list[pa.Table]] = {m.name: [no_changes(m.columns)] for m in self.node.members}
        for instant, changes in instants:
            run = self._instant_in_memory if self.in_memory else self._instant
            results = run(changes, instant)
            self._remember({**changes, **{name: results[name] for name in self.programs.stored}})
            for name, delta in results.items():
                deltas[name].append(delta)
        return {name: pa.concat_tables(parts) for name, parts in deltas.items()}

    def _changes_of(self, changes: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """The predicates that are given for an instant: what changes at it, and what has changed before."""
        rows: dict[str, pa.Table] = {}
        for name, delta in changes.items():
            columns = self.programs.columns[name]
            rows[f"{name}_ins"], rows[f"{name}_del"] = _signed(delta, columns, 1), _signed(delta, columns, -1)
        for name, delta in self._changed.items():
            columns = self.programs.columns[name]
            rows[f"{name}{COME}"], rows[f"{name}{GONE}"] = _signed(delta, columns, 1), _signed(delta, columns, -1)
        return rows

    def _instant(self, changes: Mapping[str, pa.Table], at: int) -> dict[str, pa.Table]:
        """What one instant makes of the members, in rounds of statements."""
        with self.runner.folders() as folders:
            predicates = Predicates(self.programs.columns, self._changes_of(changes), folders=folders)
            run = RuleProgramRun(self._rows, self.sources, predicates, self.runner.max_rounds)
            for program in self.programs.later if self._changed else self.programs.first:
                run.evaluate(program)
        self.rounds += run.rounds
        self.derived += sum(predicates.of(name).num_rows for name in self.programs.rules.demanded)
        return {m.name: self._net(predicates.of, m.name, m.columns, at) for m in self.node.members}

    def _instant_in_memory(self, changes: Mapping[str, pa.Table], at: int) -> dict[str, pa.Table]:
        """The same over rows in this process."""
        programs = self.programs.later if self._changed else self.programs.first
        given = {name: self._given_rows(name, plan) for name, plan in programs[0].given.items()}
        run = InMemoryRun(given, self.runner.max_rounds)
        for name, rows in self._changes_of(changes).items():
            run.add(name, rows_of(rows))
        for program in programs:
            run.evaluate(program)
        self.rounds += run.rounds
        self.derived += sum(len(run.of(name).rows) for name in self.programs.rules.demanded)

        def of(predicate: str) -> pa.Table:
            return table_of(self.programs.columns[predicate], run.of(predicate).rows)

        return {m.name: self._net(of, m.name, m.columns, at) for m in self.node.members}

    def _net(self, of: Callable[[str], pa.Table], name: str, columns: tuple[Column, ...], at: int) -> pa.Table:
        plus, minus = of(f"{name}_plus"), of(f"{name}_minus")
        weights = pa.array([1] * plus.num_rows + [-1] * minus.num_rows, pa.int64())
        return as_changes(columns, pa.concat_tables([plus, minus]), weights, at)

    def _remember(self, changes: Mapping[str, pa.Table]) -> None:
        for name in (*self.programs.given, *self.programs.stored):
            columns = self.programs.columns[name]
            new = without_names(changes.get(name, no_changes(columns)), columns)
            known = self._changed.get(name)
            both = new if known is None else pa.concat_tables([known, new])
            self._changed[name] = consolidated(columns, without_version(both), both.column(WEIGHT), 0)

    # what rules read of tables

    def _rows(self, plan: Relation, sources: Sources) -> pa.Table:
        self.statements += 1
        return self.runner.rows(plan, sources, 0, self.since)

    def _given_rows(self, name: str, plan: Relation) -> FetchedRows:
        """What is fetched of a given predicate; the state at the beginning of the batch goes by one name throughout."""
        plain = name.removesuffix("_since") if self._changed else name
        if plain not in self._given:

            def fetch(_name: str, positions: Positions, keys: list[Row] | None) -> Iterable[Row]:
                return self._fetched(plain, plan, positions, keys)

            self._given[plain] = FetchedRows(plain, fetch, is_small=self.is_small(plan))
        return self._given[plain]

    def _fetched(self, name: str, plan: Relation, positions: Positions, keys: list[Row] | None) -> Iterable[Row]:
        """The rows of a plan, all or those with some keys."""
        if keys is None:
            return rows_of(self._rows(plan, self.sources))
        columns = self.programs.columns[name]
        key_columns = tuple(columns[p] for p in positions)
        lookup = self.programs.lookup(name, plan, positions, null_safe=any(None in key for key in keys))
        wanted = Source(key_columns, None, as_changes(key_columns, table_of(key_columns, keys)))

        def sources(relation: str, version: Version) -> Source:
            return wanted if relation == KEYS else self.sources(relation, version)

        return rows_of(self._rows(lookup, sources))


def _signed(delta: pa.Table, columns: tuple[Column, ...], sign: int) -> pa.Table:
    """The rows of a delta that came or went."""
    weights = delta.column(WEIGHT)
    chosen = delta.filter(pc.greater(weights, 0) if sign > 0 else pc.less(weights, 0))
    return without_version(chosen).rename_columns([c.name for c in columns])


def without_names(delta: pa.Table, columns: tuple[Column, ...]) -> pa.Table:
    """A delta under the names of some columns."""
    return delta.rename_columns([*(c.name for c in columns), *delta.column_names[len(columns) :]])
