"""Runs INSERT, UPDATE, DELETE and MERGE: finds the rows that go and the rows that come, and adds them to a transaction.

An UPDATE or DELETE whose WHERE fixes the primary key finds its rows in this process, and so does one about a small
table (:mod:`tidings.write.small_tables`); new values are computed there too, if the engines agree on them
(:mod:`tidings.engine.agreed.row`).  Everything else is a query, bound like any
other and answered by the engine: the old rows, each with its new values.
"""

from __future__ import annotations

from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.agreed.row import agreed
from tidings.errors import (
    EmptySignal,
    InvalidExpression,
    NotATable,
    UnknownEvent,
    UnknownRelation,
    UnsupportedStatement,
)
from tidings.ir.expression import Expression, cast
from tidings.ir.relation import Column, Item, Project
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.rows.insert import constant_rows, insert_columns, insert_query
from tidings.lang.sql.rows.merge import clause_queries
from tidings.lang.sql.rows.selection import fixed_keys, selection_query
from tidings.lang.sql.rows.target import Assignment
from tidings.lang.sql.statements.copy import Copy
from tidings.lang.sql.statements.dml import Delete, Insert, Merge, RowStatement, Update
from tidings.result import AffectedRows
from tidings.store.relation.net import table_of
from tidings.store.relation.rows import read_rows
from tidings.store.relation.table import Table
from tidings.write import merge, upsert
from tidings.write.small_tables import current_rows
from tidings.write.statement_context import StatementContext
from tidings.write.workspace import Workspace

KEYS = 10_000
"""Up to this many keys are looked up one by one."""


def run(workspace: Workspace, statement: RowStatement) -> AffectedRows:
    """Run a statement in a transaction; how many rows it inserted, updated and deleted."""
    now = workspace.now()
    context = StatementContext.of(workspace, target(workspace, statement), statement, now)
    match statement:
        case Insert():
            affected = _insert(context, statement)
        case Update():
            affected = _update(context, statement)
        case Delete():
            affected = _delete(context, statement)
        case Merge():
            affected = merge.run(context, statement)
        case _:
            assert_never(statement)
    workspace.statement_done()
    return affected


def check(workspace: Workspace, statement: RowStatement) -> None:
    """Bind a statement as if it was run, and refuse it if that fails; no row is looked at or changed."""
    context = StatementContext.of(workspace, target(workspace, statement), statement, workspace.now())
    match statement:
        case Insert():
            columns = insert_columns(context.target, statement)
            if constant_rows(context.target, statement.query, columns) is None:
                _inserted_rows(context, statement, columns)
            if statement.conflict is not None:
                upsert.check_settings(context, statement, statement.conflict)
        case Update():
            values = [value for _, value in context.target.assignments(statement.settings)]
            context.bind(selection_query(context.target, _where(context, statement), values))
        case Delete():
            context.bind(selection_query(context.target, _where(context, statement)))
        case Merge():
            for clause_query in clause_queries(context.target, statement):
                context.bind(clause_query.query)
        case _:
            assert_never(statement)


def _where(context: StatementContext, statement: Update | Delete) -> Expression | None:
    return None if statement.where is None else at_instant(statement.where, context.target.now)


def target(workspace: Workspace, statement: RowStatement | Copy) -> Table:
    """The table a statement changes."""
    try:
        return workspace.target(statement.table)
    except (NotATable, UnknownRelation, UnsupportedStatement) as refused:
        raise type(refused)(statement.place, refused.hint, **refused.parameters) from None


def signal(workspace: Workspace, statement: Insert) -> None:
    """Let an event happen, with the rows of VALUES or a query."""
    try:
        event = workspace.event(statement.table)
    except UnknownEvent as unknown:
        raise UnknownEvent(statement.place, unknown.hint, name=statement.table) from None
    done = len(workspace.done)
    _insert(StatementContext.of(workspace, event, statement, workspace.now()), statement)
    if len(workspace.done) == done:
        raise EmptySignal(statement.place, name=event.name)
    workspace.statement_done()


def _insert(context: StatementContext, statement: Insert) -> AffectedRows:
    table, workspace, target = context.table, context.workspace, context.target
    columns = insert_columns(target, statement)
    defaults = workspace.parts.enforcer.evaluator.defaults(table, target.now)
    constants = constant_rows(target, statement.query, columns)
    if constants is None:
        rows: Any = workspace.answer(_inserted_rows(context, statement, columns), target.now)
    else:
        rows = [dict(zip((c.name for c in columns), row, strict=True)) for row in constants]
    rows = read_rows(table.name, table.columns, rows, defaults)
    if statement.conflict is not None:
        return upsert.run(context, statement, statement.conflict, rows)
    workspace.add(table, rows, 1)
    return AffectedRows.of(inserted=rows.num_rows)


def _inserted_rows(context: StatementContext, statement: Insert, columns: tuple[Column, ...]) -> Project:
    """The query of an INSERT, bound, with a value for each column."""
    plan = context.bind(insert_query(context.target, statement.query, columns))
    if len(columns) != len(plan.fields):
        reason = f"{len(plan.fields)} values for {len(columns)} columns of {context.table.name}"
        raise InvalidExpression(statement.place, reason=reason)
    items = (Item(c.name, c.type, cast(f.expression, c.type)) for c, f in zip(columns, plan.fields, strict=True))
    return Project(plan, "inserted", tuple(items))


def _update(context: StatementContext, statement: Update) -> AffectedRows:
    assignments = context.target.assignments(statement.settings)
    where = _where(context, statement)
    changed = _update_in_process(context, assignments, where) or _update_by_query(context, assignments, where)
    old, new = changed
    context.workspace.add(context.table, old, -1)
    context.workspace.add(context.table, new, 1)
    return AffectedRows.of(updated=new.num_rows)


def _update_in_process(
    context: StatementContext, assignments: list[Assignment], where: Expression | None
) -> tuple[pa.Table, pa.Table] | None:
    aliases = frozenset({context.target.alias.lower()})
    values = [(agreed(value, context.table.columns, aliases), column.type) for column, value in assignments]
    fitting = [(value, type) for value, type in values if value is not None and value.fits(type)]
    if len(fitting) < len(values):
        return None
    old = _selected(context, where)
    new = None if old is None else context.workspace.parts.enforcer.evaluator.values(fitting, old)
    if old is None or new is None:
        return None
    return old, context.rows(old, {c.name: new.column(n) for n, (c, _) in enumerate(assignments)})


def _update_by_query(
    context: StatementContext, assignments: list[Assignment], where: Expression | None
) -> tuple[pa.Table, pa.Table]:
    query = selection_query(context.target, where, [value for _, value in assignments])
    answer = context.answer(query, [*context.table.columns, *(column for column, _ in assignments)])
    width = len(context.table.columns)
    new = {c.name: answer.column(width + n) for n, (c, _) in enumerate(assignments)}
    return context.rows(answer), context.rows(answer, new)


def _delete(context: StatementContext, statement: Delete) -> AffectedRows:
    where = _where(context, statement)
    old = _selected(context, where)
    if old is None:
        old = context.rows(context.answer(selection_query(context.target, where), list(context.table.columns)))
    context.workspace.add(context.table, old, -1)
    return AffectedRows.of(deleted=old.num_rows)


def _selected(context: StatementContext, where: Expression | None) -> pa.Table | None:
    """The rows a condition selects, found in this process: by their key, or by going through a small table."""
    rows = _by_key(context, where)
    if rows is not None:
        return rows
    table, aliases = context.table, frozenset({context.target.alias.lower()})
    condition = None if where is None else agreed(where, table.columns, aliases)
    if where is not None and (condition is None or condition.type not in ("boolean", "void")):
        return None
    rows = current_rows(context.workspace, table)
    if rows is None or condition is None:
        return rows
    verdicts = context.workspace.parts.enforcer.evaluator.values([(condition, "boolean")], rows)
    return None if verdicts is None else rows.filter(pc.fill_null(verdicts.column(0), False))


def _by_key(context: StatementContext, where: Expression | None) -> pa.Table | None:
    """The rows a condition selects, if it fixes the primary key and leaves nothing to the engine."""
    table, enforcer = context.table, context.workspace.parts.enforcer
    if where is None or not table.constraints.key:
        return None
    fixed = fixed_keys(context.target, where, table.constraints.key, KEYS)
    if fixed is None:
        return None
    aliases = frozenset({context.target.alias.lower()})
    conditions = [agreed(part, table.columns, aliases) for part in fixed.rest]
    agreeing = [(part, "boolean") for part in conditions if part is not None and part.type in ("boolean", "void")]
    if len(agreeing) < len(conditions):
        return None
    by_key = context.workspace.by_key(table, fixed.keys) if fixed.keys else {}
    rows = table_of(table.columns, [row for rows in by_key.values() for row in rows])
    if not agreeing:
        return rows
    verdicts = enforcer.evaluator.values(agreeing, rows)
    if verdicts is None:
        return None
    is_selected = [all(v is True for v in row.values()) for row in verdicts.to_pylist()]
    return rows.filter(pa.array(is_selected, pa.bool_()))
