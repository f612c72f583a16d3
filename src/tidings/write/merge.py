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


def run(context: StatementContext, statement: Merge) -> None:
    """Do what the clauses say, each row by the first one that holds."""
    target = context.source(statement.alias)
    source, on = at_instant(statement.source, context.now), at_instant(statement.on, context.now)
    known_rows = _known_rows(context, statement, on)
    old_rows, new_rows = [], []
    for kind in ("matched", "unmatched by source", "unmatched"):
        clauses = [c for c in statement.clauses if c.when == kind]
        if not clauses:
            continue
        left, right = (source, target) if kind == "unmatched" else (target, source)
        rows = exp.select().from_(left.copy())
        query = rows.join(right.copy(), on=on.copy(), join_type="" if kind == "matched" else "left anti")
        clause_rows = _ClauseRows(context, statement, clauses, query, known_rows)
        if kind == "matched":
            clause_rows.check_matched_once(rows.join(right.copy(), on=on.copy(), join_type="left semi"))
        old_rows += clause_rows.old_rows()
        new_rows += clause_rows.new_rows()
    for rows in old_rows:
        context.workspace.add(context.table, rows, -1)
    for rows in new_rows:
        context.workspace.add(context.table, rows, 1)


def _known_rows(context: StatementContext, statement: Merge, on: Expression) -> pa.Table | None:
    """The rows of the table that rows of the source may match; None where only the engine can tell."""
    table, workspace = context.table, context.workspace
    paired = _paired(statement, on)
    columns = [c for k in table.constraints.key for c in table.columns if c.name == k]
    if not columns or any(c.name.lower() not in paired for c in columns):
        return None
    if any(clause.when == "unmatched by source" for clause in statement.clauses):
        return None
    query = (
        exp.select(*named([paired[c.name.lower()] for c in columns]))
        .from_(at_instant(statement.source, context.now))
        .distinct()
    )
    plan = workspace.parts.plans.bind(query, context.statement.text)
    source_columns = [Column(c.name, f.type) for c, f in zip(columns, plan.fields, strict=True)]
    alike = all(types.comparable_as_keys(g.type, c.type) for g, c in zip(source_columns, columns, strict=True))
    if not alike or table.name in influents(plan, workspace.parts.relations.definitions()):
        return None
    keys = row_keys(context.answer_plan(plan, source_columns))
    if len(keys) > KEYS:
        return None
    possible = [key for key in keys if all(_may_be(v, c.type) for v, c in zip(key, columns, strict=True))]
    by_key = workspace.parts.enforcer.finder.by_key(table, possible, workspace.pending(table)) if possible else {}
    return table_of(table.columns, [row for rows in by_key.values() for row in rows])


def _may_be(value: Any, type: str) -> bool:
    """Whether a value of the source may be one of the table: NULL equals nothing, and integers may be too large."""
    if value is None or type not in types.INTEGRAL:
        return value is not None
    half = 1 << (arrow_type(type).bit_width - 1)
    return bool(-half <= value < half)


def _paired(statement: Merge, on: Expression) -> dict[str, Expression]:
    """Columns of the source by the columns of the table, in small letters, that they must equal."""
    target, source = statement.alias.lower(), statement.source.alias_or_name.lower()
    source_columns: dict[str, Expression] = {}
    for part in conjuncts(on):
        equal = part.unnest()
        if not isinstance(equal, exp.EQ):
            continue
        for left, right in ((equal.left, equal.right), (equal.right, equal.left)):
            if not isinstance(left, exp.Column) or not isinstance(right, exp.Column) or target == source:
                continue
            if (left.table.lower(), right.table.lower()) == (target, source):
                source_columns.setdefault(left.name.lower(), right)
    return source_columns


class _ClauseRows:
    """The rows that the clauses of one kind apply to, and what they make of them."""

    def __init__(
        self,
        context: StatementContext,
        statement: Merge,
        clauses: list[Clause],
        query: exp.Select,
        known_rows: pa.Table | None,
    ) -> None:
        inserts = clauses[0].when == "unmatched"
        self.context = context
        self.alias = statement.alias
        self.clauses = clauses
        self.known_rows = known_rows
        self.settings = [self._settings(statement, c) for c in clauses]
        target_columns = [] if inserts else context.column_nodes(statement.alias)
        conditions = [at_instant(c.condition, context.now) if c.condition is not None else exp.true() for c in clauses]
        number = exp.Case()
        for n, condition in enumerate(conditions):
            number = number.when(condition.copy(), exp.Literal.number(n))
        items: list[Expression] = [*target_columns, number]
        columns = [*([] if inserts else context.table.columns), Column("number", "int")]
        for n, settings in enumerate(self.settings):
            for column, value in settings:
                chosen = exp.Case()
                for earlier in conditions[:n]:
                    chosen = chosen.when(earlier.copy(), exp.Null())
                items.append(chosen.when(conditions[n].copy(), value.copy()))
                columns.append(column)
        self.width = len(target_columns)
        self.rows = context.answer(query.select(*named(items)), columns, known_rows)
        number_column = self.rows.column(self.width)
        self.rows = self.rows.filter(pc.is_valid(number_column))

    def _settings(self, statement: Merge, clause: Clause) -> list[tuple[Column, Expression]]:
        if not clause.every:
            return self.context.settings(clause.settings, statement.alias)
        alias = statement.source.alias_or_name
        values = [exp.column(exp.to_identifier(c.name, quoted=True), table=alias) for c in self.context.table.columns]
        return list(zip(self.context.table.columns, values, strict=True))

    def check_matched_once(self, query: exp.Select) -> None:
        """Refuse to give one row of the table two fates."""
        old = self.context.rows(self.rows)
        acted = Counter(row_keys(old))
        if max(acted.values(), default=0) <= 1:
            return
        table = self.context.table
        target_rows = query.select(*named(self.context.column_nodes(self.alias)))
        matched = self.context.answer(target_rows, list(table.columns), self.known_rows)
        matches = Counter(row_keys(self.context.rows(matched)))
        for n, row in enumerate(row_keys(old)):
            if acted[row] > matches[row]:
                raise AmbiguousMerge(table=table.name, values=old.slice(n, 1).to_pylist()[0])

    def old_rows(self) -> list[pa.Table]:
        return [self.context.rows(self.rows)] if self.width else []

    def new_rows(self) -> list[pa.Table]:
        """The rows that clauses put into the table."""
        tables = []
        start = self.width + 1
        for n, (clause, settings) in enumerate(zip(self.clauses, self.settings, strict=True)):
            rows = self.rows.filter(pc.equal(self.rows.column(self.width), n))
            new = {c.name: rows.column(start + k) for k, (c, _) in enumerate(settings)}
            start += len(settings)
            if clause.action == "update":
                tables.append(self.context.rows(rows, new))
            elif clause.action == "insert":
                tables.append(self._inserted(new, rows.num_rows))
        return tables

    def _inserted(self, new: dict[str, pa.ChunkedArray], count: int) -> pa.Table:
        table = self.context.table
        defaults = self.context.workspace.parts.enforcer.evaluator.defaults(table, self.context.now)
        columns = pa.table(list(new.values()), names=list(new)) if new else pa.table({"": pa.nulls(count)})
        return read_rows(table.name, table.columns, columns, defaults)
