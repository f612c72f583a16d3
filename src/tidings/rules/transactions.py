"""Begins transactions that rules watch: those of users, and those in which detached actions run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tidings.rules.agenda import Agenda
from tidings.rules.context import RuleContext
from tidings.rules.coupling import RuleHook
from tidings.store.rules.applied import AppliedTransactions
from tidings.write.hooks import CommitHook
from tidings.write.workspace import Workspace, WriteParts


@dataclass(frozen=True, slots=True)
class RuleTransactions:
    """Begins the transactions of one database."""

    context: RuleContext
    write_parts: WriteParts

    def begin(self, depth: int = 0, commit_hook: CommitHook | None = None) -> Workspace:
        """Begin a transaction.

        ``depth`` says how many firings led to it: 0 if a user began it.  ``commit_hook`` records more with the commit.
        """

        def hook_for(workspace: Workspace) -> RuleHook | None:
            if not self.context.registry.records and commit_hook is None:
                return None
            return RuleHook(Agenda(self.context, workspace), depth, commit_hook)

        return Workspace(self.write_parts, hook_for)

    def begin_once(self, id: str) -> tuple[Workspace, int | None]:
        """Begin a transaction that is recorded under an id; when one of this id was committed, if one was."""
        applied = AppliedTransactions(self.context.storage)
        time = applied.time(id)
        return (self.begin() if time is not None else self.begin(commit_hook=partial(applied.record, id))), time
