"""INSERT … ON CONFLICT: rows whose key is there leave the row as it is, or change it.

The rows that have the keys are looked up in this process.  What DO UPDATE sets is computed there too if the engines
agree on it, over the row that is there and ``excluded``, the one that was to come; everything else is a MERGE of the
latter into the former.

Two rows of one statement with the same key have no order, so what becomes of the key is open: this is refused, unless
DO NOTHING leaves it at one of several equal rows.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.agreed.row import agreed
from tidings.engine.arrow import arrow_schema
from tidings.engine.row_values import row_keys
from tidings.errors import AmbiguousUpsert, InvalidExpression, KeyNeeded
from tidings.ir.relation import Column
from tidings.lang.sql.rows.merge import clause_queries
from tidings.lang.sql.rows.upsert import EXCLUDED, merge_of_excluded, over_pairs
from tidings.lang.sql.statements.dml import Conflict, Insert, Merge
from tidings.result import AffectedRows
from tidings.store.relation.net import Key, table_of
from tidings.write import merge
from tidings.write.local_rows import with_rows
from tidings.write.statement_context import StatementContext


def run(context: StatementContext, statement: Insert, conflict: Conflict, proposed: pa.Table) -> AffectedRows:
    """Insert rows whose keys are free, and do what the statement says about the others."""
    table, workspace = context.table, context.workspace
    check_key(context, statement, conflict)
    keys = row_keys(proposed.select(list(table.constraints.key)))
    first = _first_of_each(context, statement, conflict, proposed, keys)
    proposed, keys = proposed.take(pa.array(first, pa.int64())), [keys[n] for n in first]
    whole_keys = [key for key in keys if None not in key]
    by_key = workspace.by_key(table, whole_keys) if whole_keys else {}
    is_free = pa.array([not by_key.get(key) for key in keys], pa.bool_())
    fresh = proposed.filter(is_free)
    updated = 0
    if conflict.settings and fresh.num_rows < proposed.num_rows:
        excluded = proposed.filter(pc.invert(is_free))
        present = table_of(table.columns, [by_key[key][0] for key in keys if by_key.get(key)])
        updated = _update(context, statement, conflict, present, excluded)
    workspace.add(table, fresh, 1)
    return AffectedRows.of(inserted=fresh.num_rows, updated=updated)


def check_key(context: StatementContext, statement: Insert, conflict: Conflict) -> None:
    """Refuse conflicts of anything but the primary key."""
    table = context.table
    if not table.constraints.key:
        raise KeyNeeded(statement.place, "ON CONFLICT is about the key: give the table a PRIMARY KEY", table=table.name)
    if EXCLUDED in (table.name.lower(), statement.alias.lower()):
        raise InvalidExpression(statement.place, reason=f"{EXCLUDED} is the row that was to come, and not the table")
    named = {context.target.column(node).name for node in conflict.columns}
    if named and named != set(table.constraints.key):
        reason = f"ON CONFLICT names the primary key of {table.name}, which is ({', '.join(table.constraints.key)})"
        raise InvalidExpression(statement.place, reason=reason)


def check_settings(context: StatementContext, statement: Insert, conflict: Conflict) -> None:
    """Bind what DO UPDATE sets as if it was run, and refuse it if that fails."""
    check_key(context, statement, conflict)
    if conflict.settings:
        inner, update = _with_excluded(context, statement, conflict, context.table.schema.empty_table())
        for clause_query in clause_queries(inner.target, update):
            inner.bind(clause_query.query)


def _first_of_each(
    context: StatementContext, statement: Insert, conflict: Conflict, proposed: pa.Table, keys: list[Key]
) -> list[int]:
    """The places of the rows to be inserted, one per key."""
    first: dict[Key, int] = {}
    for n, key in enumerate(keys):
        earlier = first.setdefault(key, n)
        if earlier != n and (
            conflict.settings or row_keys(proposed.slice(n, 1)) != row_keys(proposed.slice(earlier, 1))
        ):
            values = proposed.slice(n, 1).to_pylist()[0]
            raise AmbiguousUpsert(statement.place, table=context.table.name, values=values)
    return list(first.values())


def _update(
    context: StatementContext, statement: Insert, conflict: Conflict, present: pa.Table, excluded: pa.Table
) -> int:
    """Give rows that are there the values of DO UPDATE; how many those were for which its condition holds."""
    changed = _in_process(context, conflict, present, excluded)
    if changed is None:
        inner, update = _with_excluded(context, statement, conflict, excluded)
        return merge.run(inner, update, present).updated
    old, new = changed
    context.workspace.add(context.table, old, -1)
    context.workspace.add(context.table, new, 1)
    return int(old.num_rows)


def _in_process(
    context: StatementContext, conflict: Conflict, present: pa.Table, excluded: pa.Table
) -> tuple[pa.Table, pa.Table] | None:
    """The rows that change and what they become, where the engines agree on all that is computed; else None."""
    columns, target = context.table.columns, context.target
    pairs = (*columns, *(Column(f"{EXCLUDED}.{c.name}", c.type) for c in columns))
    rows = pa.Table.from_arrays([*present.columns, *excluded.columns], schema=arrow_schema(pairs))
    aliases = frozenset({target.alias.lower()})
    assignments = target.assignments(conflict.settings)
    asked = [(value, column.type) for column, value in assignments]
    if conflict.where is not None:
        asked.append((target.value(conflict.where, Column("", "boolean")), "boolean"))
    computed = [(agreed(over_pairs(value, columns), pairs, aliases), type) for value, type in asked]
    fitting = [(value, type) for value, type in computed if value is not None and value.fits(type)]
    answer = context.workspace.parts.enforcer.evaluator.values(fitting, rows) if len(fitting) == len(asked) else None
    if answer is None:
        return None
    old = present
    if conflict.where is not None:
        holds = pc.fill_null(answer.column(answer.num_columns - 1), False)
        old, answer = old.filter(holds), answer.filter(holds)
    return old, context.rows(old, {c.name: answer.column(n) for n, (c, _) in enumerate(assignments)})


def _with_excluded(
    context: StatementContext, statement: Insert, conflict: Conflict, excluded: pa.Table
) -> tuple[StatementContext, Merge]:
    """The MERGE that DO UPDATE comes to, and its context."""
    workspace = with_rows(context.workspace, EXCLUDED, context.table.columns, excluded)
    update = merge_of_excluded(statement, conflict, context.table.constraints.key)
    return StatementContext.of(workspace, context.table, update, context.target.now), update
