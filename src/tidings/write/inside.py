"""Runs one statement inside a transaction: one that changes rows, a signal, or a query."""

from __future__ import annotations

import re

from tidings.errors import UnsupportedStatement
from tidings.lang.sql import statement as sql
from tidings.result import Result
from tidings.write import copy, statements
from tidings.write.workspace import Workspace


def run_inside(workspace: Workspace, statement: sql.Statement) -> Result | None:
    """Run a statement in a transaction; its rows if it is a query, which sees what was done before it."""
    workspace.require_open()
    match statement:
        case sql.Insert() | sql.Update() | sql.Delete() | sql.Merge():
            return statements.run(workspace, statement)
        case sql.Copy():
            return copy.run(workspace, statement)
        case sql.Signal():
            statements.signal(workspace, statement.insert)
        case sql.Query():
            return workspace.answer_to(statement)
        case _:
            hint = "define tables and views outside of transactions"
            raise UnsupportedStatement(None, hint, statement=f"{_words(statement)} in a transaction")
    return None


def _words(statement: sql.Statement) -> str:
    """What a statement is called.

    >>> _words(sql.BeginTransaction())
    'BEGIN TRANSACTION'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(statement).__name__).upper()
