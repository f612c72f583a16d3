"""The inside of a transaction: what it has done so far, and what statements, rules and the commit need of it.

Users hold a :class:`tidings.write.transaction.Transaction`, which is a thin front of this.  Changes are collected and
netted as they come; nothing is written before the commit.  Queries see the committed rows with these changes on top.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType

import pyarrow as pa

from tidings.analysis.influents import reads
from tidings.constraints.enforce import Enforcer, NetChange
from tidings.engine.changes import as_changes
from tidings.errors import MissingRow, NonDeterministic, NotATable, UnknownTransactionState, UnsupportedStatement
from tidings.exclusive import Mutex
from tidings.ir.relation import Relation, Scan
from tidings.ir.traverse import walk
from tidings.lang.sql.instant import reads_clock
from tidings.lang.sql.names import session_name
from tidings.lang.sql.statement import Query
from tidings.read import in_transaction
from tidings.read.bound_plans import BoundPlans
from tidings.result import Result
from tidings.store.relation.net import Key, Net, Row
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.values import require_known_values
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler
from tidings.write.commit import Commits
from tidings.write.fragments import by_key, require_one_row_per_key, routed
from tidings.write.hooks import TransactionHook
from tidings.write.reads import Reads
from tidings.write.table_changes import TableChanges

DoneChange = tuple[Table, pa.Table, int]
"""Rows of a table that came (1) or went (-1)."""


@dataclass(frozen=True, slots=True)
class WriteParts:
    """The parts of a database that its transactions work with."""

    relations: Relations
    plans: BoundPlans
    enforcer: Enforcer
    scheduler: Scheduler
    timeline: Timeline
    commits: Commits
    mutex: Mutex
    """Lets one thread in at a time: transactions of several threads share the engine and the tables in memory."""


def no_hook(workspace: Workspace) -> TransactionHook | None:
    """The hook of a transaction that nobody watches."""
    return None


@dataclass(slots=True)
class Workspace:
    """One transaction while it is open; leaving the ``with`` block commits it, an exception rolls it back."""

    parts: WriteParts
    hook_for: Callable[[Workspace], TransactionHook | None] = no_hook
    """Makes the hook that watches this transaction, when it is first needed."""
    local_relations: Mapping[str, pa.Table] = field(default_factory=dict)
    """The rows, as changes that bring them, of relations that only this transaction knows."""
    time: int | None = field(init=False, default=None)
    """The commit time, once committed."""
    done: list[DoneChange] = field(init=False, default_factory=list)
    """What has been done, in order."""
    reads: Reads | None = None
    """What has been read, if that must not have changed by the commit."""
    ended_by: str | None = field(init=False, default=None)
    """Why the transaction is over, for messages; None while it is open."""
    _is_for_action: bool = field(init=False, default=False)
    _changes: dict[int, TableChanges] = field(init=False, default_factory=dict)
    """By the number of the table."""
    _of_session: dict[str, pa.Table] = field(init=False, default_factory=dict)
    """What the present statement has read of the user's session."""
    _hook: TransactionHook | None = field(init=False, default=None)
    _has_hook: bool = field(init=False, default=False)

    def for_action(
        self, parts: WriteParts | None = None, local_relations: Mapping[str, pa.Table] | None = None
    ) -> Workspace:
        """The same transaction for a rule's action, which may change rows in it but not end it.

        No hook is called for what the action does.  It may have relations of its own: ``parts`` know their names,
        ``local_relations`` has their rows.
        """
        workspace = Workspace(parts or self.parts, local_relations=local_relations or {}, reads=self.reads)
        workspace.done, workspace._changes, workspace._is_for_action = self.done, self._changes, True
        return workspace

    @property
    def hook(self) -> TransactionHook | None:
        """The hook that watches this transaction, if there is one."""
        if not self._has_hook:
            self._has_hook, self._hook = True, self.hook_for(self)
        return self._hook

    def now(self) -> int:
        """The present instant; the commit time is not before it."""
        return self.parts.timeline.now()

    @property
    def reads_session(self) -> bool:
        """Whether its statements may read what the user's session has; those of rules may not."""
        return not self._is_for_action

    # changes

    def target(self, name: str) -> Table:
        """The table of a name, to be changed."""
        self.require_open()
        relations, view = self.parts.relations, self.parts.relations.find(name)
        if view is not None and relations.fragments(name) is not None:
            return Table(view.name, view.columns, constraints=relations.constraints(name))
        if view is not None and not isinstance(view, Table):
            raise NotATable(name=view.name)
        table = self.parts.relations.table(name)
        if table.role == "event":
            raise UnsupportedStatement(None, f"SIGNAL {table.name}", statement=f"a change of the event {table.name}")
        if table.role == "answers":
            hint = "what a continuous query delivered stays; copy it to a table of your own"
            raise UnsupportedStatement(None, hint, statement=f"a change of the answers of {table.name}")
        return table

    def event(self, name: str) -> Table:
        """The event of a name, to be signalled."""
        self.require_open()
        return self.parts.relations.event(name)

    def add(self, table: Table, rows: pa.Table, weight: int) -> None:
        """Add rows of the table's schema (weight 1), or remove them (weight -1); fragments take those of a whole."""
        scheme = self.parts.relations.fragments(table.name)
        if scheme is not None:
            for fragment, share in list(routed(self, table, scheme, rows, weight)):
                self.add(fragment, share, weight)
            if weight > 0:
                require_one_row_per_key(self, table, scheme, rows)
        elif rows.num_rows:
            if weight > 0:
                require_known_values(table.name, rows)
            self.done.append((table, rows, weight))
            self._changes.setdefault(table.id, TableChanges(table)).add(rows, weight)

    def pending(self, table: Table) -> Net | None:
        """What has been done to a table so far, netted."""
        changes = self._changes.get(table.id)
        return None if changes is None else changes.net

    def by_key(self, table: Table, keys: Collection[Key]) -> dict[Key, list[Row]]:
        """The rows of a table with some keys, as they stand in this transaction."""
        scheme = self.parts.relations.fragments(table.name)
        if scheme is not None:
            return by_key(self, table, scheme, list(keys))
        if self.reads is not None:
            self.reads.keys(table, keys)
        return self.parts.enforcer.finder.by_key(table, keys, self.pending(table))

    def net_change(self, table: Table) -> NetChange | None:
        """The same as rows with weights."""
        changes = self._changes.get(table.id)
        return None if changes is None else changes.net_change()

    def check_present(self) -> None:
        """Refuse the transaction if it removes rows that are not there."""
        for changes in self._changes.values():
            self.require_present(changes.net_change())

    def require_present(self, net: NetChange) -> None:
        """Refuse a change of rows that are not there; the reason may be that others changed what was read."""
        try:
            self.parts.enforcer.check_present(net)
        except MissingRow:
            if self.reads is not None:
                self.reads.require_unchanged()
            raise

    def answer(self, plan: Relation, now: int, instead: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """The rows of a plan with what has been done so far; ``instead`` has rows that stand for whole tables."""
        changes = {}
        for table_changes in self._changes.values():
            net, table = table_changes.net_change(), table_changes.table
            if net.weights:
                self.require_present(net)
                changes[table.name] = as_changes(table.columns, net.rows, net.weights)
        entries = {}
        for name, rows in (instead or {}).items():
            entries[name] = as_changes(self.parts.relations.table(name).columns, rows, [1] * rows.num_rows)
        replaced = {**entries, **self._session_rows(plan), **self.local_relations}
        if self.reads is not None:
            self.reads.plan(plan, replaced)
        replaced |= self._system_rows(plan)
        timeline, at = self.parts.timeline, self.parts.timeline.time
        if timeline.reads_clock(plan):
            timeline.settle_until(now)
            at = now
        return in_transaction.answer(self.parts.scheduler, plan, at, changes, replaced)

    def _system_rows(self, plan: Relation) -> Mapping[str, pa.Table]:
        """What a plan reads of the tables that show what the database knows of itself: what is committed."""
        relations = self.parts.relations
        if relations.system_rows is None:
            return {}
        return {name: relations.system_rows(name) for name in reads(plan) & relations.system_tables.keys()}

    def _session_rows(self, plan: Relation) -> Mapping[str, pa.Table]:
        """The rows of what a plan reads of the user's session: they are the same for all questions of a statement."""
        backend = self.parts.scheduler.storage.backend
        for scan in walk(plan):
            if isinstance(scan, Scan) and scan.relation not in self._of_session:
                name = session_name(scan.relation)
                if name is not None:
                    rows = backend.session_rows(name, scan.columns)
                    self._of_session[scan.relation] = as_changes(scan.columns, rows)
        return self._of_session

    def result(self, plan: Relation) -> Result:
        """The rows of a query in this transaction, for a user."""
        return Result(self.answer(plan, self.now()), self.parts.scheduler.storage.backend)

    def answer_to(self, query: Query) -> Result:
        """The rows of a query that is asked once; the clock may be read anywhere in it."""
        plans = self.parts.plans
        try:
            plan = plans.bind_once(query)
        except NonDeterministic:
            if not reads_clock(query.query):
                raise
            plan = plans.bind_once(query, self.now())
        return self.result(plan)

    def statement_done(self) -> None:
        """Call the hook after a statement."""
        self._of_session.clear()
        if self.hook is not None:
            if self.reads is not None:
                self.reads.relations(self.hook.read_by_statements())
            with self._ending_on_error("a rule refused it"):
                self.hook.after_statement()

    # the end

    def commit(self) -> int:
        """Make the changes durable, all at one instant; returns it.  A commit that fails ends the transaction."""
        self.require_open()
        self._require_own()
        commit_hook = None
        if self.reads is not None:
            with self._ending_on_error("what it had read was changed by others"):
                self.reads.require_unchanged()
        if self.hook is not None:
            with self._ending_on_error("a rule refused it"):
                commit_hook = self.hook.before_commit()
        with self._ending_on_error("its commit failed"):
            net_changes = [changes.net_change() for changes in self._changes.values()]
            self.time = self.parts.commits.commit([net for net in net_changes if net.weights], commit_hook)
        self.ended_by = "it was committed"
        return self.time

    def rollback(self) -> None:
        """Forget the changes."""
        self.require_open()
        self._require_own()
        self.ended_by = "it was rolled back"
        if self._hook is not None:
            self._hook.rolled_back()

    @contextmanager
    def _ending_on_error(self, reason: str) -> Iterator[None]:
        """End the transaction if something fails, for rules may have done a part of what they do; the hook is told."""
        try:
            yield
        except BaseException:
            self.ended_by = reason
            if self._hook is not None:
                self._hook.rolled_back()
            raise

    def require_open(self) -> None:
        """Refuse to go on with a transaction that is over."""
        if self.ended_by is not None:
            raise UnknownTransactionState(reason=self.ended_by)

    def _require_own(self) -> None:
        if self._is_for_action:
            raise UnknownTransactionState(reason="it is ended by whoever began it, not by an action")

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.ended_by is None:
            self.commit() if kind is None else self.rollback()
