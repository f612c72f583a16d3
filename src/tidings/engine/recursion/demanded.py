"""Derives the rows of a recursion that a restriction asks for, and no others.

A view that joins a recursion with something that has changed needs those of its old rows that meet the change.  The
restriction above the recursion has their keys; they are put into magic predicates, and the query rules derive what is
asked for, over rows in this process that are fetched by keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from tidings.delta.recursion.lookup import KEYS, lookup_plan
from tidings.delta.recursion.magic import QueryRules, query_rules
from tidings.delta.recursion.rounds import RuleProgram
from tidings.engine.changes import as_changes
from tidings.engine.recursion.indexed_rows import FetchedRows, Positions, Row, rows_of, table_of
from tidings.engine.recursion.rule_values import NotInMemory, is_supported
from tidings.engine.recursion.rules_in_memory import InMemoryRun
from tidings.engine.source import Source, Sources
from tidings.ir.expression import ref
from tidings.ir.relation import Fixpoint, Relation, Restrict, Version

MOST_KEYS = 2_000
"""With more keys all rows are derived."""

RunPlan: TypeAlias = Callable[[Relation, Sources], pa.Table]
"""Runs a plan over sources and gives its rows."""


@dataclass(frozen=True, slots=True)
class Question:
    """Rows of a member that are asked for: those that have one of some keys in a column."""

    predicate: str
    column: int
    keys: Relation


def question(node: Fixpoint, restriction: Restrict) -> Question | None:
    """What a restriction on a fixpoint asks for; None where that cannot be derived by itself."""
    reference = ref(restriction.expression)
    column = next((n for n, f in enumerate(node.fields) if f.ref == reference), None)
    member = next(m for m in node.members if m.name == node.output)
    is_value = member.extreme is not None and column == len(member.columns) - 1
    if column is None or is_value or any(m.extreme == "all" for m in node.members):
        return None
    return Question(node.output, column, restriction.keys)


@dataclass(frozen=True)
class DemandedRows:
    """The program that derives what some questions ask for."""

    program: RuleProgram
    query: QueryRules
    members: tuple[str, ...]
    questions: tuple[Question, ...]
    _lookups: dict[tuple[str, Positions, bool], Relation] = field(default_factory=dict)

    @classmethod
    def of(cls, node: Fixpoint, whole: RuleProgram, questions: Iterable[Question]) -> DemandedRows | None:
        """The program, where its values are such that it can run in this process."""
        asked = tuple(questions)
        query = query_rules(node, [(q.predicate, q.column) for q in asked])
        program = RuleProgram(query.rules, query.columns, whole.given, extremes=whole.extremes)
        return cls(program, query, whole.heads, asked) if is_supported(program) else None

    def rows(self, run: RunPlan, sources: Sources, limit: int) -> dict[str, pa.Table] | None:
        """The rows of all members that are needed for what is asked; None if they are too many to be derived so."""

        def fetched(name: str, plan: Relation) -> FetchedRows:
            def fetch(_name: str, positions: Positions, keys: list[Row] | None) -> Iterable[Row]:
                return rows_of(run(plan, sources)) if keys is None else self._found(name, positions, keys, run, sources)

            return FetchedRows(name, fetch)

        in_memory = InMemoryRun({name: fetched(name, plan) for name, plan in self.program.given.items()}, limit)
        try:
            for asked, magic in zip(self.questions, self.query.magic, strict=True):
                keys = set(rows_of(run(asked.keys, sources)))
                if len(keys) > MOST_KEYS:
                    return None
                in_memory.add(magic, keys)
            in_memory.evaluate(self.program)
        except NotInMemory:
            return None
        return {m: table_of(self.program.columns[m], in_memory.of(m).rows) for m in self.members}

    def _found(self, name: str, positions: Positions, keys: list[Row], run: RunPlan, sources: Sources) -> list[Row]:
        """The rows of an input that have some keys."""
        columns = self.program.columns[name]
        lookup = name, positions, any(None in key for key in keys)
        if lookup not in self._lookups:
            plan = self.program.given[name]
            self._lookups[lookup] = lookup_plan(plan, columns, positions, null_safe=lookup[2])
        key_columns = tuple(columns[p] for p in positions)
        wanted = Source(key_columns, None, as_changes(key_columns, table_of(key_columns, keys)))

        def source(relation: str, version: Version) -> Source:
            return wanted if relation == KEYS else sources(relation, version)

        return rows_of(run(self._lookups[lookup], source))
