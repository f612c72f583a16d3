"""Runs texts of several statements, one after the other; those between BEGIN and COMMIT are one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tidings.engine.stepping_out import SteppingOut
from tidings.errors import InvalidSyntax, TidingsError
from tidings.front.statement_runner import StatementRunner
from tidings.lang.sql import statement as sql
from tidings.lang.sql.parameters import Params
from tidings.result import Result
from tidings.write.inside import run_inside
from tidings.write.workspace import Workspace


@dataclass(slots=True)
class Script:
    """One text on its way through its statements."""

    runner: StatementRunner
    step_out: SteppingOut | None = None
    """How other threads may be let in while the answer of a text that is one query is computed."""
    _transaction: Workspace | None = field(init=False, default=None)
    """The transaction that has begun and not ended."""

    def run(self, text: str, params: Params | None = None) -> Result | None:
        """Run the statements of a text; what the last one gives.  A transaction that it does not end is forgotten."""
        result, parts = None, sql.read(text, params)
        try:
            for number, statement in enumerate(parts, 1):
                with _numbered(number, len(parts)):
                    if isinstance(statement, sql.Query) and len(parts) == 1:
                        return self.runner.queries.run(statement, self.step_out)
                    result = self._step(statement)
            if self._transaction is not None:
                raise InvalidSyntax(None, _END, reason="BEGIN without COMMIT or ROLLBACK")
        finally:
            if self._transaction is not None and self._transaction.ended_by is None:
                self._transaction.rollback()
        return result

    def _step(self, statement: sql.Statement) -> Result | None:
        match statement:
            case sql.BeginTransaction(isolation):
                if self._transaction is not None:
                    raise InvalidSyntax(None, _END, reason="a transaction has begun already")
                self.runner.maintenance.storage.require_writer()
                self._transaction = self.runner.transactions.begin(isolation=isolation)
            case sql.CommitTransaction() | sql.RollbackTransaction():
                workspace, self._transaction = self._transaction, None
                if workspace is None:
                    hint = "BEGIN comes first, in the same text; db.transaction() is for several calls"
                    raise InvalidSyntax(None, hint, reason="no transaction has begun")
                if isinstance(statement, sql.RollbackTransaction):
                    workspace.rollback()
                else:
                    workspace.commit()
                    self.runner.maintenance.rules.wake_runner()
            case _ if self._transaction is not None:
                return run_inside(self._transaction, statement)
            case _:
                return self.runner.run(statement)
        return None


_END = "end it with COMMIT or ROLLBACK, in the same text"


@contextmanager
def _numbered(number: int, count: int) -> Iterator[None]:
    """Let an error say which of several statements it is about."""
    try:
        yield
    except TidingsError as error:
        if count > 1:
            error.statement = f"statement {number} of {count}"
        raise
