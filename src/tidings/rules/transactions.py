"""Begins transactions that rules watch: those of users, and those in which detached actions run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tidings.isolation import Isolation
from tidings.rules.agenda import Agenda
from tidings.rules.context import RuleContext
from tidings.rules.coupling import RuleHook
from tidings.store.rules.applied import AppliedTransactions
from tidings.write.hooks import CommitHook
from tidings.write.reads import Reads
from tidings.write.workspace import Workspace, WriteParts


@dataclass(frozen=True, slots=True)
class RuleTransactions:
    """Begins the transactions of one database."""

    context: RuleContext
    write_parts: WriteParts

    def begin(
        self, depth: int = 0, commit_hook: CommitHook | None = None, isolation: Isolation = Isolation.READ_COMMITTED
    ) -> Workspace:
        """Begin a transaction.

        ``depth`` says how many firings led to it: 0 if a user began it.  ``commit_hook`` records more with the commit.
        """

        def hook_for(workspace: Workspace) -> RuleHook | None:
            if not self.context.registry.records and commit_hook is None:
                return None
            return RuleHook(Agenda(self.context, workspace), depth, commit_hook)

        reads = Reads(self.write_parts.timeline) if isolation is Isolation.SERIALIZABLE else None
        return Workspace(self.write_parts, hook_for, reads=reads)

    def begin_once(self, id: str, isolation: Isolation = Isolation.READ_COMMITTED) -> tuple[Workspace, int | None]:
        """Begin a transaction that is recorded under an id; when one of this id was committed, if one was."""
        applied = AppliedTransactions(self.context.storage)
        time = applied.time(id)
        record = None if time is not None else partial(applied.record, id)
        return self.begin(commit_hook=record, isolation=isolation), time
