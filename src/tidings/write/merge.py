"""MERGE: rows of a source put into a table.

Three questions are put to the engine, as far as clauses ask for them: which rows of the table match rows of the source,
which rows of the source match none, and which rows of the table match none.  Beside each row stands the number of the
first clause whose condition holds, and the values that clauses would give it.

If ON says which column of the source has the primary key, rows of the table are looked up by the keys that the source
has, in this process, and the questions are put over these rows alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from tidings.analysis.influents import influents
from tidings.engine.arrow import arrow_type
from tidings.engine.row_values import row_keys
from tidings.errors import AmbiguousMerge
from tidings.ir import types
from tidings.ir.expression import Expression, conjuncts
from tidings.ir.relation import Column
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.statements.dml import Clause, Merge
from tidings.store.relation.net import table_of
from tidings.store.relation.rows import read_rows
from tidings.write.statement_context import StatementContext, named

KEYS = 10_000
"""Up to this many keys of the source are looked up."""


def run(context: StatementContext, read: Merge) -> None:
    """Do what the clauses say, each row by the first one that holds."""
    target, source, on = (
        context.source(read.alias),
        at_instant(read.source, context.now),
        at_instant(read.on, context.now),
    )
    held = _held(context, read, on)
    went, came = [], []
    for kind in ("matched", "unmatched by source", "unmatched"):
        clauses = [c for c in read.clauses if c.when == kind]
        if not clauses:
            continue
        left, right = (source, target) if kind == "unmatched" else (target, source)
        rows = exp.select().from_(left.copy())
        query = rows.join(right.copy(), on=on.copy(), join_type="" if kind == "matched" else "left anti")
        found = _Found(context, read, clauses, query, held)
        if kind == "matched":
            found.check_matched_once(rows.join(right.copy(), on=on.copy(), join_type="left semi"))
        went += found.went()
        came += found.came()
    for rows in went:
        context.workspace.add(context.table, rows, -1)
    for rows in came:
        context.workspace.add(context.table, rows, 1)


def _held(context: StatementContext, read: Merge, on: Expression) -> pa.Table | None:
    """The rows of the table that rows of the source may match; None where only the engine can tell."""
    table, workspace = context.table, context.workspace
    paired = _paired(read, on)
    columns = [c for k in table.constraints.key for c in table.columns if c.name == k]
    if not columns or any(c.name.lower() not in paired for c in columns):
        return None
    if any(clause.when == "unmatched by source" for clause in read.clauses):
        return None
    query = (
        exp.select(*named([paired[c.name.lower()] for c in columns]))
        .from_(at_instant(read.source, context.now))
        .distinct()
    )
    plan = workspace.parts.plans.bind(query, context.change.text)
    given = [Column(c.name, f.type) for c, f in zip(columns, plan.fields, strict=True)]
    alike = all(types.comparable_as_keys(g.type, c.type) for g, c in zip(given, columns, strict=True))
    if not alike or table.name in influents(plan, workspace.parts.relations.definitions()):
        return None
    keys = row_keys(context.answer_plan(plan, given))
    if len(keys) > KEYS:
        return None
    wanted = [key for key in keys if all(_may_be(v, c.type) for v, c in zip(key, columns, strict=True))]
    found = workspace.parts.enforcer.finder.by_key(table, wanted, workspace.pending(table)) if wanted else {}
    return table_of(table.columns, [row for rows in found.values() for row in rows])


def _may_be(value: Any, type: str) -> bool:
    """Whether a value of the source may be one of the table: NULL equals nothing, and integers may be too large."""
    if value is None or type not in types.INTEGRAL:
        return value is not None
    half = 1 << (arrow_type(type).bit_width - 1)
    return bool(-half <= value < half)


def _paired(read: Merge, on: Expression) -> dict[str, Expression]:
    """Columns of the source by the columns of the table, in small letters, that they must equal."""
    own, other = read.alias.lower(), read.source.alias_or_name.lower()
    found: dict[str, Expression] = {}
    for part in conjuncts(on):
        equal = part.unnest()
        if not isinstance(equal, exp.EQ):
            continue
        for one, two in ((equal.left, equal.right), (equal.right, equal.left)):
            if not isinstance(one, exp.Column) or not isinstance(two, exp.Column) or own == other:
                continue
            if (one.table.lower(), two.table.lower()) == (own, other):
                found.setdefault(one.name.lower(), two)
    return found


class _Found:
    """What some clauses of one kind find, and what they make of it."""

    def __init__(
        self, context: StatementContext, read: Merge, clauses: list[Clause], query: exp.Select, held: pa.Table | None
    ) -> None:
        inserts = clauses[0].when == "unmatched"
        self.context = context
        self.alias = read.alias
        self.clauses = clauses
        self.held = held
        self.settings = [self._settings(read, c) for c in clauses]
        own = [] if inserts else context.own(read.alias)
        conditions = [at_instant(c.condition, context.now) if c.condition is not None else exp.true() for c in clauses]
        number = exp.Case()
        for n, condition in enumerate(conditions):
            number = number.when(condition.copy(), exp.Literal.number(n))
        items: list[Expression] = [*own, number]
        columns = [*([] if inserts else context.table.columns), Column("number", "int")]
        for n, settings in enumerate(self.settings):
            for column, value in settings:
                chosen = exp.Case()
                for earlier in conditions[:n]:
                    chosen = chosen.when(earlier.copy(), exp.Null())
                items.append(chosen.when(conditions[n].copy(), value.copy()))
                columns.append(column)
        self.width = len(own)
        self.rows = context.answer(query.select(*named(items)), columns, held)
        number_column = self.rows.column(self.width)
        self.rows = self.rows.filter(pc.is_valid(number_column))

    def _settings(self, read: Merge, clause: Clause) -> list[tuple[Column, Expression]]:
        if not clause.every:
            return self.context.settings(clause.settings, read.alias)
        alias = read.source.alias_or_name
        values = [exp.column(exp.to_identifier(c.name, quoted=True), table=alias) for c in self.context.table.columns]
        return list(zip(self.context.table.columns, values, strict=True))

    def check_matched_once(self, query: exp.Select) -> None:
        """Refuse to give one row of the table two fates."""
        old = self.context.rows(self.rows)
        acted = Counter(row_keys(old))
        if max(acted.values(), default=0) <= 1:
            return
        table = self.context.table
        own = query.select(*named(self.context.own(self.alias)))
        there = self.context.answer(own, list(table.columns), self.held)
        held = Counter(row_keys(self.context.rows(there)))
        for n, row in enumerate(row_keys(old)):
            if acted[row] > held[row]:
                raise AmbiguousMerge(table=table.name, values=old.slice(n, 1).to_pylist()[0])

    def went(self) -> list[pa.Table]:
        return [self.context.rows(self.rows)] if self.width else []

    def came(self) -> list[pa.Table]:
        """The rows that clauses put into the table."""
        found = []
        start = self.width + 1
        for n, (clause, settings) in enumerate(zip(self.clauses, self.settings, strict=True)):
            rows = self.rows.filter(pc.equal(self.rows.column(self.width), n))
            new = {c.name: rows.column(start + k) for k, (c, _) in enumerate(settings)}
            start += len(settings)
            if clause.action == "update":
                found.append(self.context.rows(rows, new))
            elif clause.action == "insert":
                found.append(self._inserted(new, rows.num_rows))
        return found

    def _inserted(self, new: dict[str, pa.ChunkedArray], count: int) -> pa.Table:
        table = self.context.table
        defaults = self.context.workspace.parts.enforcer.evaluator.defaults(table, self.context.now)
        given = pa.table(list(new.values()), names=list(new)) if new else pa.table({"": pa.nulls(count)})
        return read_rows(table.name, table.columns, given, defaults)
