"""Rows that go by a name in one statement only, beside the relations of the database."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from tidings.engine.changes import as_changes
from tidings.ir.relation import Column
from tidings.read.bound_plans import BoundPlans
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.write.workspace import Workspace


def with_rows(workspace: Workspace, name: str, columns: tuple[Column, ...], rows: pa.Table) -> Workspace:
    """A transaction in which rows are one more relation, which hides one of the same name."""
    parts = workspace.parts
    relations = with_table(parts.relations, Table(name, columns))
    plans = BoundPlans(relations, parts.plans.analyzer, parts.mutex)
    local_relations = {**workspace.local_relations, name: as_changes(columns, rows, [1] * rows.num_rows)}
    return workspace.for_action(replace(parts, relations=relations, plans=plans), local_relations)


def with_table(relations: Relations, table: Table) -> Relations:
    """The relations of a database with one more table, which hides one of the same name."""
    extended = relations.copy()
    hidden = extended.find(table.name)
    if hidden is not None:
        extended.remove(hidden)
    extended.add(table)
    return extended
