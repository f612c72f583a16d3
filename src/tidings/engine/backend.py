"""What Tidings needs of an engine, and what it does alike on all of them.

An engine analyzes queries, keeps base rows, and evaluates SQL over named sources.  Running a delta program is the
same everywhere: register what each step reads, fill in the keys, fetch the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from tidings.delta.plan import Program, Step
from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.literals import literals
from tidings.engine.lower import LISTABLE, Dialect, KeyList, Statement, lower, source_name
from tidings.engine.source import Source, Sources
from tidings.ir.expression import read
from tidings.ir.relation import Column, Filter, Relation, Scan, Version
from tidings.ir.traverse import walk

LIST_LIMIT = 100
"""Up to this many keys go into the text as literals; more are a semi-join."""


class Backend(Protocol):
    """An engine."""

    name: str
    dialect: Dialect

    def analyze(self, query: exp.Query) -> tuple[Column, ...]:
        """Names and types of a query; see :class:`tidings.lang.sql.bind.Analyzer`."""

    def load(self, name: str, columns: tuple[Column, ...], data: object) -> None:
        """Keep rows as the base of a relation, replacing what was there."""

    def unload(self, name: str) -> None:
        """Forget a base."""

    def versioned(self, name: str, source: Source) -> None:
        """Make a source readable under a name, with ``__t`` and ``__w``."""

    def plain(self, name: str, source: Source) -> None:
        """Make a source readable under a name as a plain bag of rows."""

    def fetch(self, text: str, *, small: bool = False) -> pa.Table:
        """The rows of a query; raises :class:`tidings.errors.EngineFailed`.

        ``small`` says that every relation it reads is a small delta or restricted by a list of keys.
        """

    def close(self) -> None:
        """Let go of what the engine holds."""


@dataclass(slots=True)
class Runner:
    """Runs programs and queries on a backend; keeps the text of every step it has printed."""

    backend: Backend
    _printed: dict[tuple[int, frozenset[str]], tuple[Step, Statement]] = field(default_factory=dict)

    def run(self, program: Program, sources: Sources) -> pa.Table:
        """The delta a program computes: columns, ``__t`` and ``__w``, consolidated."""
        made: dict[str, Source] = {}
        result = arrow_schema(program.columns, versioned=True).empty_table()
        for step in program.steps:
            inputs = {s: made.get(s.relation) or sources(s.relation, s.version) for s in step.scans}
            for scan, source in inputs.items():
                self.backend.versioned(source_name(scan.relation, scan.version), source)
            deltas = {s.relation: src.changes for s, src in inputs.items() if s.version is Version.DELTA}
            result = self._step(step, deltas)
            made[step.name] = Source(step.columns, None, result)
        return result

    def query(self, plan: Relation, sources: Sources) -> pa.Table:
        """The rows of a plan over current relations."""
        for scan in {(n.relation): n for n in walk(plan) if isinstance(n, Scan)}.values():
            source = sources(scan.relation, Version.CURRENT)
            self.backend.plain(source_name(scan.relation, Version.CURRENT), source)
        columns = [Column(f.name, f.type) for f in plan.fields]
        return conform(self.backend.fetch(lower(plan, self.backend.dialect).text), arrow_schema(columns))

    def lookup(self, name: str, columns: tuple[Column, ...], source: Source, rows: pa.Table) -> pa.Table:
        """The base rows that may equal some of the given rows: those that agree on one column."""
        scan = Scan(name, "wanted", columns)
        key = next((c for c in columns if c.type in LISTABLE), None)
        plan: Relation = scan
        if key is not None:
            listed = literals(pc.unique(rows.column(key.name)), key.type, "spark")
            test = f"`wanted`.`{key.name}` IN ({listed}) OR `wanted`.`{key.name}` IS NULL"
            plan = Filter(scan, (read(test),))
        return self.query(plan, lambda _relation, _version: source)

    def statement(self, step: Step, listed: frozenset[str]) -> Statement:
        """The SQL of a step, printed once per choice of listed keys."""
        found = self._printed.get((id(step), listed))
        if found is None:
            found = step, lower(step.plan, self.backend.dialect, listed)
            self._printed[id(step), listed] = found
        return found[1]

    def _step(self, step: Step, deltas: dict[str, pa.Table]) -> pa.Table:
        listed = frozenset(r for r, rows in deltas.items() if rows.num_rows <= LIST_LIMIT)
        statement = self.statement(step, listed)

        def keys(wanted: KeyList) -> str:
            values = pc.unique(deltas[wanted.relation].column(wanted.column))
            return literals(values, wanted.type, self.backend.dialect.name)

        rows = self.backend.fetch(statement.filled(keys), small=statement.small)
        return conform(rows, arrow_schema(step.columns, versioned=True))
