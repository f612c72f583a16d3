"""MERGE: rows of a source put into a table.

Three questions are put to the engine, as far as clauses ask for them: which rows of the table match rows of the source,
which rows of the source match none, and which rows of the table match none.  Each row comes with the number of the
first clause whose condition holds, and the values that clauses would give it (:mod:`tidings.lang.sql.rows.merge`).

If ON says which column of the source has the primary key, rows of the table are looked up by the keys that the source
has, in this process, and the questions are put over these rows alone.  If the source is constants too, no question is
left (:mod:`tidings.lang.sql.rows.constant_merge`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import influents
from tidings.engine.arrow import arrow_type
from tidings.engine.row_values import row_keys
from tidings.errors import AmbiguousMerge
from tidings.ir import types
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.rows.constant_merge import ConstantMergeRow, constant_merge
from tidings.lang.sql.rows.merge import ClauseQuery, clause_queries, has_subqueries, source_keys_query
from tidings.lang.sql.statements.dml import Merge
from tidings.result import AffectedRows
from tidings.store.relation.net import Row, table_of
from tidings.store.relation.rows import read_rows
from tidings.store.relation.table import Table
from tidings.write.statement_context import StatementContext

KEYS = 10_000
"""Up to this many keys of the source are looked up."""


def run(context: StatementContext, statement: Merge, known_rows: pa.Table | None = None) -> AffectedRows:
    """Do what the clauses say, each row by the first one that holds.

    ``known_rows`` are the rows of the table that matter, where they have been looked up.
    """
    key = [c for k in context.table.constraints.key for c in context.table.columns if c.name == k]
    constants = constant_merge(context.target, statement, key)
    if constants is not None and _all_fit(context.table, constants):
        return _run_constants(context, constants)
    if has_subqueries(statement):
        known_rows = None  # they may read other rows of the table
    elif known_rows is None:
        known_rows = _known_rows(context, statement)
    old_rows, new_rows = [], []
    affected = Counter[str]()
    for clause_query in clause_queries(context.target, statement):
        clause_rows = _ClauseRows(context, clause_query, known_rows)
        if clause_query.matched_rows is not None:
            clause_rows.check_matched_once(clause_query.matched_rows)
        old_rows += clause_rows.old_rows()
        new_rows += clause_rows.new_rows()
        affected += clause_rows.counts()
    for rows in old_rows:
        context.workspace.add(context.table, rows, -1)
    for rows in new_rows:
        context.workspace.add(context.table, rows, 1)
    return AffectedRows.of(affected["insert"], affected["update"], affected["delete"])


def _all_fit(table: Table, rows: list[ConstantMergeRow]) -> bool:
    """Whether no number is too large for its column; what an engine says of such, it has to say itself."""
    kinds = {c.name: c.type for c in table.columns}
    named = (
        *(zip(table.constraints.key, row.key, strict=True) for row in rows),
        *((row.updated or {}).items() for row in rows),
        *((row.inserted or {}).items() for row in rows),
    )
    return all(value is None or _may_be(value, kinds[name]) for pairs in named for name, value in pairs)


def _run_constants(context: StatementContext, rows: list[ConstantMergeRow]) -> AffectedRows:
    """Do what a MERGE of constants says of each row."""
    table, workspace = context.table, context.workspace
    keys = [row.key for row in rows if None not in row.key]
    present = workspace.by_key(table, keys) if keys else {}
    old, new, inserted = list[Row](), list[Row](), list[Mapping[str, Any]]()
    names = [c.name for c in table.columns]
    for row in rows:
        matches = present.get(row.key, [])
        if row.updated is not None or row.deletes:
            old += matches
        if row.updated is not None:
            updated = row.updated
            new += [tuple(updated.get(n, v) for n, v in zip(names, match, strict=True)) for match in matches]
        if row.inserted is not None and not matches:
            inserted.append(row.inserted)
    workspace.add(table, table_of(table.columns, old), -1)
    workspace.add(table, table_of(table.columns, new), 1)
    if inserted:
        defaults = workspace.parts.enforcer.evaluator.defaults(table, context.target.now)
        workspace.add(table, read_rows(table.name, table.columns, inserted, defaults), 1)
    return AffectedRows.of(len(inserted), len(new), len(old) - len(new))


def _known_rows(context: StatementContext, statement: Merge) -> pa.Table | None:
    """The rows of the table that rows of the source may match; None where only the engine can tell."""
    table, workspace = context.table, context.workspace
    columns = [c for k in table.constraints.key for c in table.columns if c.name == k]
    query = source_keys_query(context.target, statement, columns)
    if query is None or any(clause.when == "unmatched by source" for clause in statement.clauses):
        return None
    plan = context.bind(query)
    source_columns = [Column(c.name, f.type) for c, f in zip(columns, plan.fields, strict=True)]
    alike = all(types.comparable_as_keys(g.type, c.type) for g, c in zip(source_columns, columns, strict=True))
    if not alike or table.name in influents(plan, workspace.parts.relations.definitions()):
        return None
    keys = row_keys(context.answer_plan(plan, source_columns))
    if len(keys) > KEYS:
        return None
    possible = [key for key in keys if all(_may_be(v, c.type) for v, c in zip(key, columns, strict=True))]
    by_key = workspace.by_key(table, possible) if possible else {}
    return table_of(table.columns, [row for rows in by_key.values() for row in rows])


def _may_be(value: Any, type: str) -> bool:
    """Whether a value of the source may be one of the table: NULL equals nothing, and integers may be too large."""
    if value is None or type not in types.INTEGRAL:
        return value is not None
    half = 1 << (arrow_type(type).bit_width - 1)
    return bool(-half <= value < half)


class _ClauseRows:
    """The rows that the clauses of one kind apply to, and what they make of them."""

    def __init__(self, context: StatementContext, clause_query: ClauseQuery, known_rows: pa.Table | None) -> None:
        self.context = context
        self.clause_query = clause_query
        self.known_rows = known_rows
        rows = context.answer(clause_query.query, list(clause_query.columns), known_rows)
        self.rows = rows.filter(pc.is_valid(rows.column(clause_query.width)))

    def check_matched_once(self, matched_rows: Expression) -> None:
        """Refuse to give one row of the table two fates."""
        old = self.context.rows(self.rows)
        acted = Counter(row_keys(old))
        if max(acted.values(), default=0) <= 1:
            return
        table = self.context.table
        matched = self.context.answer(matched_rows, list(table.columns), self.known_rows)
        matches = Counter(row_keys(self.context.rows(matched)))
        for n, row in enumerate(row_keys(old)):
            if acted[row] > matches[row]:
                raise AmbiguousMerge(table=table.name, values=old.slice(n, 1).to_pylist()[0])

    def counts(self) -> Counter[str]:
        """How many rows each action of the clauses applies to."""
        numbers = self.rows.column(self.clause_query.width).to_pylist()
        return Counter(str(self.clause_query.clauses[n].action) for n in numbers)

    def old_rows(self) -> list[pa.Table]:
        return [self.context.rows(self.rows)] if self.clause_query.width else []

    def new_rows(self) -> list[pa.Table]:
        """The rows that clauses put into the table."""
        tables = []
        width = self.clause_query.width
        start = width + 1
        clauses = zip(self.clause_query.clauses, self.clause_query.assigned, strict=True)
        for n, (clause, assigned) in enumerate(clauses):
            rows = self.rows.filter(pc.equal(self.rows.column(width), n))
            new = {column.name: rows.column(start + k) for k, column in enumerate(assigned)}
            start += len(assigned)
            if clause.action == "update":
                tables.append(self.context.rows(rows, new))
            elif clause.action == "insert":
                tables.append(self._inserted(new, rows.num_rows))
        return tables

    def _inserted(self, new: dict[str, pa.ChunkedArray], count: int) -> pa.Table:
        table = self.context.table
        defaults = self.context.workspace.parts.enforcer.evaluator.defaults(table, self.context.target.now)
        columns = pa.table(list(new.values()), names=list(new)) if new else pa.table({"": pa.nulls(count)})
        return read_rows(table.name, table.columns, columns, defaults)
