"""Who uses a column of a table: what a plan reads of it, and what would miss it if it were dropped.

A plan is pruned first, so that a column that is only passed through and left out above does not count.
"""

from __future__ import annotations

from typing import assert_never

from tidings.define.after_constraints import facts_about
from tidings.errors import TidingsError
from tidings.ir.expression import Expression, Ref, refs
from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
    Fixpoint,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetOperation,
    Union,
    Unnest,
    Values,
    Window,
)
from tidings.ir.traverse import children, walk
from tidings.lang.sql import statement as sql
from tidings.lang.sql.bind import bind
from tidings.lang.sql.constraint_queries import columns_in
from tidings.lang.sql.statements.text_lengths import checked_length
from tidings.rewrite.prune_columns import prune_columns
from tidings.store.relation.table import Table
from tidings.store.storage import Storage


def columns_read(plan: Relation, relation: str) -> frozenset[str]:
    """The columns of a relation that the rows of a plan depend on; it is read directly, not through views.

    >>> from tidings.ir.relation import Column, Item
    >>> from tidings.ir.expression import read
    >>> scan = Scan("t", "t", (Column("a", "int"), Column("b", "int"), Column("c", "int")))
    >>> sorted(columns_read(Project(Filter(scan, (read("t.b > 1"),)), "p", (Item("a", "int", read("t.a")),)), "t"))
    ['a', 'b']
    """
    pruned = prune_columns(plan)
    referred: set[Ref] = {field.ref for field in pruned.fields}
    for node in walk(pruned):
        referred |= _referred(node)
    scans = [node for node in walk(pruned) if isinstance(node, Scan) and node.relation == relation]
    return frozenset(c.name for scan in scans for c in scan.columns if (scan.alias, c.name) in referred)


def _referred(node: Relation) -> set[Ref]:
    """The columns that a node mentions itself."""
    expressions: tuple[Expression, ...]
    match node:
        case Scan() | Values() | Consolidate():
            expressions = ()
        case Filter() | Join() | OuterJoin() | SemiJoin():
            expressions = node.conditions
        case Project() | Window():
            expressions = tuple(item.expression for item in node.items)
        case Aggregate():
            expressions = tuple(item.expression for item in (*node.keys, *node.aggregates))
        case Unnest():
            expressions = (node.array,)
        case During():
            expressions = (node.condition, *node.instants)
        case Repeat():
            expressions = (node.times,)
        case Restrict():
            expressions = (node.expression,)
        case Union() | SetOperation() | Fixpoint():
            return {field.ref for child in children(node) for field in child.fields}
        case _:
            assert_never(node)
    return {ref for expression in expressions for ref in refs(expression)}


def users(storage: Storage, table: Table, column: str) -> list[str]:
    """What of the table itself, which views and which named subscriptions use a column, for people to read."""
    constraints, relations = table.constraints, storage.relations
    found = ["the primary key"] if column in constraints.key else []
    found += ["time = column"] if column == constraints.time_column else []
    found += [f"CONSTRAINT {fact.name}" for fact in facts_about(relations, table, column)]
    others = [check for check in constraints.checks if checked_length(check, column) is None]
    found += [f"CHECK ({check})" for check in others if columns_in(check, [column])]
    readers = [view for view in relations.readers(table.name) if column in columns_read(view.plan, table.name)]
    found += [f"view {view.name}" for view in readers]
    for name, subscription in storage.subscriptions().items():
        plan = _subscribed(storage, subscription.query)
        if plan is not None and column in columns_read(plan, table.name):
            found.append(f"subscription {name}")
    return found


def _subscribed(storage: Storage, text: str) -> Relation | None:
    """The plan that a subscription follows; None if there is none any more, or if it is a view's."""
    relation = storage.relations.find(text)
    if relation is not None:
        return Scan(relation.name, relation.name, relation.columns) if isinstance(relation, Table) else None
    try:
        (parsed,) = sql.read(text)
        assert isinstance(parsed, sql.Query)
        return bind(parsed.query, text, storage.relations, storage.backend, "result", parsed.query_text)
    except TidingsError:
        return None
