"""Runs COPY: the rows of files are inserted, each file by the types of the table."""

from __future__ import annotations

import pyarrow as pa

from tidings.lang.sql.statements.copy import Copy
from tidings.result import AffectedRows
from tidings.store.relation.progress import progress
from tidings.store.relation.rows import rows_of_files
from tidings.write.statements import target
from tidings.write.workspace import Workspace


def run(workspace: Workspace, statement: Copy) -> AffectedRows:
    """Insert the rows of files; how many they were."""
    table = target(workspace, statement)
    defaults = workspace.parts.enforcer.evaluator.defaults(table, workspace.now())
    tables = [table.schema.empty_table()]
    with progress(f"copying to {table.name}") as seen:
        for files in statement.files:
            tables.append(rows_of_files(table.name, table.columns, files, defaults, statement.format, seen))
    rows = pa.concat_tables(tables)
    workspace.add(table, rows, 1)
    workspace.statement_done()
    return AffectedRows.of(inserted=rows.num_rows)
