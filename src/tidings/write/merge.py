"""MERGE: rows of a source put into a table.

Three questions are put to the engine, as far as clauses ask for them: which rows of the table match rows of the source,
which rows of the source match none, and which rows of the table match none.  Beside each row stands the number of the
first clause whose condition holds, and the values that clauses would give it.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from tidings.engine.plain import row_keys
from tidings.errors import AmbiguousMerge
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.dml import Clause, Merge
from tidings.lang.sql.instant import at
from tidings.store.rows import read_rows
from tidings.write.work import Work, named


def run(work: Work, read: Merge) -> None:
    """Do what the clauses say, each row by the first one that holds."""
    target, source, on = work.source(read.alias), at(read.source, work.now), at(read.on, work.now)
    went, came = [], []
    for kind in ("matched", "unmatched by source", "unmatched"):
        clauses = [c for c in read.clauses if c.when == kind]
        if not clauses:
            continue
        left, right = (source, target) if kind == "unmatched" else (target, source)
        rows = exp.select().from_(left.copy())
        query = rows.join(right.copy(), on=on.copy(), join_type="" if kind == "matched" else "left anti")
        found = _Found(work, read, clauses, query)
        if kind == "matched":
            found.check_matched_once(rows.join(right.copy(), on=on.copy(), join_type="left semi"))
        went += found.went()
        came += found.came()
    for rows in went:
        work.tx.add(work.table, rows, -1)
    for rows in came:
        work.tx.add(work.table, rows, 1)


class _Found:
    """What some clauses of one kind find, and what they make of it."""

    def __init__(self, work: Work, read: Merge, clauses: list[Clause], query: exp.Select) -> None:
        inserts = clauses[0].when == "unmatched"
        self.work = work
        self.alias = read.alias
        self.clauses = clauses
        self.settings = [self._settings(read, c) for c in clauses]
        own = [] if inserts else work.own(read.alias)
        conditions = [at(c.condition, work.now) if c.condition is not None else exp.true() for c in clauses]
        number = exp.Case()
        for n, condition in enumerate(conditions):
            number = number.when(condition.copy(), exp.Literal.number(n))
        items: list[Expression] = [*own, number]
        columns = [*([] if inserts else work.table.columns), Column("number", "int")]
        for n, settings in enumerate(self.settings):
            for column, value in settings:
                chosen = exp.Case()
                for earlier in conditions[:n]:
                    chosen = chosen.when(earlier.copy(), exp.Null())
                items.append(chosen.when(conditions[n].copy(), value.copy()))
                columns.append(column)
        self.width = len(own)
        self.rows = work.answer(query.select(*named(items)), columns)
        number_column = self.rows.column(self.width)
        self.rows = self.rows.filter(pc.is_valid(number_column))

    def _settings(self, read: Merge, clause: Clause) -> list[tuple[Column, Expression]]:
        if not clause.every:
            return self.work.settings(clause.settings, read.alias)
        alias = read.source.alias_or_name
        values = [exp.column(exp.to_identifier(c.name, quoted=True), table=alias) for c in self.work.table.columns]
        return list(zip(self.work.table.columns, values, strict=True))

    def check_matched_once(self, query: exp.Select) -> None:
        """Refuse to give one row of the table two fates."""
        old = self.work.rows(self.rows)
        acted = Counter(row_keys(old))
        if max(acted.values(), default=0) <= 1:
            return
        table = self.work.table
        there = self.work.answer(query.select(*named(self.work.own(self.alias))), list(table.columns))
        held = Counter(row_keys(self.work.rows(there)))
        for n, row in enumerate(row_keys(old)):
            if acted[row] > held[row]:
                raise AmbiguousMerge(table=table.name, values=old.slice(n, 1).to_pylist()[0])

    def went(self) -> list[pa.Table]:
        return [self.work.rows(self.rows)] if self.width else []

    def came(self) -> list[pa.Table]:
        """The rows that clauses put into the table."""
        found = []
        start = self.width + 1
        for n, (clause, settings) in enumerate(zip(self.clauses, self.settings, strict=True)):
            rows = self.rows.filter(pc.equal(self.rows.column(self.width), n))
            new = {c.name: rows.column(start + k) for k, (c, _) in enumerate(settings)}
            start += len(settings)
            if clause.action == "update":
                found.append(self.work.rows(rows, new))
            elif clause.action == "insert":
                found.append(self._inserted(new, rows.num_rows))
        return found

    def _inserted(self, new: dict[str, pa.ChunkedArray], count: int) -> pa.Table:
        table = self.work.table
        defaults = self.work.tx.access.enforcer.evaluator.defaults(table, self.work.now)
        given = pa.table(list(new.values()), names=list(new)) if new else pa.table({"": pa.nulls(count)})
        return read_rows(table.name, table.columns, given, defaults)
