"""Runs INSERT, UPDATE, DELETE and MERGE: finds the rows that go and the rows that come, and adds them to a transaction.

An UPDATE or DELETE whose WHERE fixes the primary key finds its rows in this process, and computes its new values there
if the engines agree on them (:mod:`tidings.analysis.agreed_expression`).  Everything else is a query, bound like any
other and answered by the engine: the old rows, each with its new values.
"""

from __future__ import annotations

from itertools import product
from typing import Any, assert_never

import pyarrow as pa
from sqlglot import exp

from tidings.analysis.agreed_expression import agreed
from tidings.analysis.constant import NO_VALUE, constant
from tidings.errors import EmptySignal, InvalidExpression, UnknownColumn, UnknownEvent, UnknownRelation, closest
from tidings.ir.expression import Expression, cast, conjuncts
from tidings.ir.relation import Column, Item, Project
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.statements.dml import Delete, Insert, Merge, RowStatement, Update
from tidings.store.relation.net import table_of
from tidings.store.relation.rows import read_rows
from tidings.store.relation.table import Table
from tidings.write import merge
from tidings.write.statement_context import StatementContext, is_default, named
from tidings.write.workspace import Workspace

KEYS = 10_000
"""Up to this many keys are looked up one by one."""


def run(workspace: Workspace, statement: RowStatement) -> None:
    """Run a statement in a transaction."""
    now = workspace.now()
    context = StatementContext(workspace, target(workspace, statement), statement, now)
    match statement:
        case Insert():
            _insert(context, statement)
        case Update():
            _update(context, statement)
        case Delete():
            _delete(context, statement)
        case Merge():
            merge.run(context, statement)
        case _:
            assert_never(statement)
    workspace.statement_done()


def target(workspace: Workspace, statement: RowStatement) -> Table:
    """The table a statement changes."""
    try:
        return workspace.target(statement.table)
    except UnknownRelation as unknown:
        raise UnknownRelation(statement.place, unknown.hint, name=statement.table) from None


def signal(workspace: Workspace, statement: Insert) -> None:
    """Let an event happen, with the rows of VALUES or a query."""
    try:
        event = workspace.event(statement.table)
    except UnknownEvent as unknown:
        raise UnknownEvent(statement.place, unknown.hint, name=statement.table) from None
    done = len(workspace.done)
    _insert(StatementContext(workspace, event, statement, workspace.now()), statement)
    if len(workspace.done) == done:
        raise EmptySignal(statement.place, name=event.name)
    workspace.statement_done()


# insert


def _named(query: Expression, columns: list[Column]) -> Expression:
    """A SELECT whose unnamed items go by the names of the columns they fill, so that none is called like another."""
    stars = isinstance(query, exp.Select) and any(i.is_star for i in query.expressions)
    if not isinstance(query, exp.Select) or stars or len(query.expressions) != len(columns):
        return query
    aliases = {i.alias.lower() for i in query.expressions if isinstance(i, exp.Alias)}
    if aliases & {c.name.lower() for c in columns}:
        return query
    tree, named = query.copy(), []
    for item, column in zip(tree.expressions, columns, strict=True):
        named.append(item if isinstance(item, exp.Alias) else item.copy().as_(column.name, quoted=True))
    tree.set("expressions", named)
    return tree


def _insert(context: StatementContext, statement: Insert) -> None:
    table, workspace = context.table, context.workspace
    columns = [_named_column(context, name) for name in statement.columns] or list(table.columns)
    defaults = workspace.parts.enforcer.evaluator.defaults(table, context.now)
    constants = _constants(context, statement.query, columns)
    if constants is None:
        query = _named(_with_defaults(context, statement.query, columns), columns)
        plan = workspace.parts.plans.bind(query, statement.text)
        if len(columns) != len(plan.fields):
            reason = f"{len(plan.fields)} values for {len(columns)} columns of {table.name}"
            raise InvalidExpression(statement.place, reason=reason)
        items = (Item(c.name, c.type, cast(f.expression, c.type)) for c, f in zip(columns, plan.fields, strict=True))
        rows: Any = workspace.answer(Project(plan, "inserted", tuple(items)), context.now)
    else:
        rows = [dict(zip((c.name for c in columns), row, strict=True)) for row in constants]
    workspace.add(table, read_rows(table.name, table.columns, rows, defaults), 1)


def _named_column(context: StatementContext, name: str) -> Column:
    column = next((c for c in context.table.columns if c.name.lower() == name.lower()), None)
    if column is None:
        hint = closest(name, [c.name for c in context.table.columns])
        raise UnknownColumn(context.statement.place, hint, name=name)
    return column


def _constants(context: StatementContext, query: Expression, columns: list[Column]) -> list[list[Any]] | None:
    """The rows of VALUES, if they are constants of the columns' own types."""
    if not isinstance(query, exp.Values):
        return None
    rows = []
    for record in query.expressions:
        nodes = record.expressions if isinstance(record, exp.Tuple) else [record]
        if len(nodes) != len(columns):
            return None
        row = [constant(context.value(node, c), c.type) for node, c in zip(nodes, columns, strict=True)]
        if any(value is NO_VALUE for value in row):
            return None
        rows.append(row)
    return rows


def _with_defaults(context: StatementContext, query: Expression, columns: list[Column]) -> Expression:
    """A query with DEFAULT filled in where VALUES say it, and the clock everywhere."""
    if isinstance(query, exp.Values):
        query = query.copy()
        for record in query.expressions:
            nodes = record.expressions if isinstance(record, exp.Tuple) else [record]
            for node, column in zip(nodes, columns, strict=False):
                if is_default(node, context.table):
                    node.replace(cast(context.value(node, column), column.type))
    return at_instant(query, context.now)


# update and delete


def _update(context: StatementContext, statement: Update) -> None:
    settings = context.settings(statement.settings, statement.alias)
    where = at_instant(statement.where, context.now) if statement.where is not None else None
    changed = _update_by_key(context, statement, settings, where) or _update_by_query(
        context, statement, settings, where
    )
    old, new = changed
    context.workspace.add(context.table, old, -1)
    context.workspace.add(context.table, new, 1)


def _update_by_key(
    context: StatementContext, statement: Update, settings: list[tuple[Column, Expression]], where: Expression | None
) -> tuple[pa.Table, pa.Table] | None:
    values = [(agreed(v, context.table.columns, frozenset({statement.alias.lower()})), c.type) for c, v in settings]
    fitting = [(value, type) for value, type in values if value is not None and value.fits(type)]
    if len(fitting) < len(values):
        return None
    old = _by_key(context, statement.alias, where)
    new = None if old is None else context.workspace.parts.enforcer.evaluator.values(fitting, old)
    if old is None or new is None:
        return None
    return old, context.rows(old, {c.name: new.column(n) for n, (c, _) in enumerate(settings)})


def _update_by_query(
    context: StatementContext, statement: Update, settings: list[tuple[Column, Expression]], where: Expression | None
) -> tuple[pa.Table, pa.Table]:
    items = named([*context.column_nodes(statement.alias), *(value for _, value in settings)])
    query = exp.select(*items).from_(context.source(statement.alias))
    answer = context.answer(
        query.where(where) if where is not None else query, [*context.table.columns, *(c for c, _ in settings)]
    )
    width = len(context.table.columns)
    new = {c.name: answer.column(width + n) for n, (c, _) in enumerate(settings)}
    return context.rows(answer), context.rows(answer, new)


def _delete(context: StatementContext, statement: Delete) -> None:
    where = at_instant(statement.where, context.now) if statement.where is not None else None
    old = _by_key(context, statement.alias, where)
    if old is None:
        query = exp.select(*named(context.column_nodes(statement.alias))).from_(context.source(statement.alias))
        answer = context.answer(query.where(where) if where is not None else query, list(context.table.columns))
        old = context.rows(answer)
    context.workspace.add(context.table, old, -1)


def _by_key(context: StatementContext, alias: str, where: Expression | None) -> pa.Table | None:
    """The rows a condition selects, if it fixes the primary key and leaves nothing to the engine."""
    table, enforcer = context.table, context.workspace.parts.enforcer
    if where is None or not table.constraints.key:
        return None
    fixed, rest = _fixed(table, alias, where)
    columns = [c for k in table.constraints.key for c in table.columns if c.name == k]
    count = 1
    for column in columns:
        count *= len(fixed.get(column.name, ()))
    if any(c.name not in fixed for c in columns) or count > KEYS:
        return None
    conditions = [agreed(part, table.columns, frozenset({alias.lower()})) for part in rest]
    agreeing = [(part, "boolean") for part in conditions if part is not None and part.kind in ("boolean", "null")]
    if len(agreeing) < len(conditions):
        return None
    keys = list(dict.fromkeys(product(*(fixed[c.name] for c in columns))))
    by_key = enforcer.finder.by_key(table, keys, context.workspace.pending(table)) if keys else {}
    rows = table_of(table.columns, [row for rows in by_key.values() for row in rows])
    if not agreeing:
        return rows
    verdicts = enforcer.evaluator.values(agreeing, rows)
    if verdicts is None:
        return None
    is_selected = [all(v is True for v in row.values()) for row in verdicts.to_pylist()]
    return rows.filter(pa.array(is_selected, pa.bool_()))


def _fixed(table: Table, alias: str, where: Expression) -> tuple[dict[str, list[Any]], list[Expression]]:
    """The values a condition allows for columns of the key, and what it says beyond that."""
    fixed: dict[str, list[Any]] = {}
    rest = []
    for part in conjuncts(where):
        fixed_column = _fixes(table, alias, part.unnest())
        if fixed_column is None or fixed_column[0] in fixed:
            rest.append(part)
        else:
            fixed[fixed_column[0]] = fixed_column[1]
    return fixed, rest


def _fixes(table: Table, alias: str, part: Expression) -> tuple[str, list[Any]] | None:
    match part:
        case exp.EQ():
            sides = [(part.left, [part.right]), (part.right, [part.left])]
        case exp.In() if part.expressions and not part.args.get("query"):
            sides = [(part.this, part.expressions)]
        case _:
            return None
    for node, values in sides:
        if not isinstance(node, exp.Column) or (node.table and node.table.lower() != alias.lower()):
            continue
        column = next((c for c in table.columns if c.name.lower() == node.name.lower()), None)
        if column is not None and column.name in table.constraints.key:
            constants = [constant(v, column.type) for v in values]
            if not any(v is NO_VALUE for v in constants):
                return column.name, [v for v in constants if v is not None]
    return None
