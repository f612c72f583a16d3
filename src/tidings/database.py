"""The front door: open a database, define tables and views, change rows, ask what changed.

A thin front: ``store`` keeps rows and definitions, ``network`` finds what changed, ``write`` runs what changes rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Condition, RLock
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from tidings import explain as explanation
from tidings.clock import Clock, SystemClock, micros
from tidings.compiled import CompiledPlans
from tidings.constraints.enforce import Enforcer
from tidings.constraints.evaluate import Evaluator
from tidings.define.replacement import as_table
from tidings.define.statements import DefinitionStatements
from tidings.define.tables import Tables
from tidings.define.views import Views
from tidings.deliver.deliveries import COLUMNS, Deliveries, DeliverySettings
from tidings.deliver.deliveries import rows as delivered
from tidings.engine.backends import backend_named, in_process_duckdb
from tidings.engine.run import Runner
from tidings.errors import UnknownExecution, UnknownStrategy
from tidings.exclusive import exclusive, reading
from tidings.lang.sql import statement
from tidings.read.answers import Answers
from tidings.read.bound_plans import BoundPlans
from tidings.read.subscriptions import Feed, Subscription, named_position
from tidings.result import Delta, Result
from tidings.rules.action.run import Actions
from tidings.rules.binding import RuleBinder
from tidings.rules.context import RuleContext, RuleLimits
from tidings.rules.dependencies import RuleDependencies
from tidings.rules.detached.advance import DetachedRules
from tidings.rules.detached.backtest import Backtested, backtest
from tidings.rules.load_hook import RuleLoadHook
from tidings.rules.registry import RuleRegistry
from tidings.rules.silence import Silences
from tidings.rules.silence_statements import SilenceStatements
from tidings.rules.statements import RuleStatements
from tidings.rules.system_tables import TABLES, RuleSystemTables, as_inserts
from tidings.rules.transactions import RuleTransactions
from tidings.store.catch_up import catch_up, is_behind
from tidings.store.fold import Folding, FoldPolicy
from tidings.store.key_lookup import KeyLookup
from tidings.store.open import open_folder, open_in_memory
from tidings.store.restore import restore
from tidings.store.rules.outbox import Outbox
from tidings.store.rules.rule_store import RuleStore
from tidings.store.rules.silences import SilenceStore
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.store.vacuum import GRACE, Vacuumed, vacuum
from tidings.waves.engines import Engines
from tidings.waves.in_process.runner import InProcessRunner
from tidings.waves.planner import Planner
from tidings.waves.record import WaveRecord
from tidings.waves.scheduler import Scheduler
from tidings.waves.status import Status, status
from tidings.waves.strategy import Strategy
from tidings.write import statements
from tidings.write.commit import Commits
from tidings.write.load import Loader
from tidings.write.transaction import Transaction
from tidings.write.workspace import WriteParts

F = TypeVar("F", bound=Callable[..., object])

Instant = int | datetime
"""Microseconds since the epoch, or a datetime (UTC where it has no time zone)."""


def open(
    path: str | Path | None = None,
    *,
    engine: str = "spark",
    spark: Any = None,
    clock: Clock | None = None,
    strategy: str = "auto",
    execution: str = "spark",
    catalog: str | None = None,
    read_only: bool = False,
    retention: timedelta | None = timedelta(days=7),
    deliveries: DeliverySettings | None = None,
    cascade: int = 64,
) -> Database:
    """Open a database in a folder, made if it is not there; without a path, a new one in memory.

    ``catalog`` is the URL of a PostgreSQL database to hold the catalog, which otherwise is a SQLite file in the folder.
    A folder has one writer at a time and any number of readers (``read_only``).

    ``engine`` is ``"spark"`` or ``"duckdb"``.  ``spark`` is a session to work in; without one Tidings starts Spark in
    local mode.  ``clock`` gives commit times; :class:`tidings.ManualClock` is one that is driven by hand.  ``strategy``
    says how changes are found: ``"auto"`` chooses per view and batch, ``"differential"`` never recomputes,
    ``"recompute"`` always does, to compare.

    ``execution`` says where the waves of a Spark database run: all of them on Spark, or with ``"auto"`` small ones
    in this process.

    ``retention`` says for how long changes are kept: that far back reach ``query(as_of=…)`` and ``changes(since=…)``.
    None keeps them all.

    ``deliveries`` has what the channels of rules need to know: secrets, folders, servers.  ``cascade`` says how many
    actions may follow each other from one transaction before rules are taken to trigger each other without end.
    """
    if strategy not in _STRATEGIES:
        raise UnknownStrategy(name=strategy)
    if execution not in ("spark", "auto"):
        raise UnknownExecution(name=execution)
    backend = backend_named(engine, spark)
    storage = (
        open_in_memory(backend) if path is None else open_folder(backend, Path(path), catalog, read_only=read_only)
    )
    kept = None if retention is None else retention // timedelta(microseconds=1)
    compiled, in_process = CompiledPlans(), None
    if execution == "auto":
        in_process = InProcessRunner(storage, Runner(backend, compiled), in_process_duckdb(), compiled)
    only, policy = _STRATEGIES[strategy], FoldPolicy(retention=kept)
    return Database(storage, clock or SystemClock(), compiled, only, in_process, policy, deliveries, cascade)


_STRATEGIES = {"auto": None, "differential": Strategy.DIFFERENTIAL, "recompute": Strategy.RECOMPUTE}


class Database:
    """Tables, views and their history."""

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        compiled: CompiledPlans,
        only: Strategy | None = None,
        in_process: InProcessRunner | None = None,
        policy: FoldPolicy | None = None,
        settings: DeliverySettings | None = None,
        cascade: int = 64,
    ) -> None:
        self._mutex = RLock()
        self._news = Condition(self._mutex)
        self._closed = False
        self._storage, self._backend, self._relations, self._clock = storage, storage.backend, storage.relations, clock
        self._timeline = line = Timeline(storage, clock, self._news)
        self._present = line.present
        self._folding = Folding(storage, clock, policy or FoldPolicy())
        self._compiled = compiled
        self._plans = BoundPlans(storage.relations, storage.backend, self._mutex, compiled)
        self._plan, self._bind_text = self._plans.plan, self._plans.parse
        self._runner = Runner(storage.backend, compiled)
        planner = Planner(storage, Engines(self._runner, in_process), compiled, only)
        self._scheduler = Scheduler(planner, line)
        enforcer = Enforcer(KeyLookup(storage, self._runner), Evaluator(self._runner))
        silences = Silences(SilenceStore(storage), enforcer.evaluator)
        binder = RuleBinder(storage.relations, storage.backend)
        self._registry = RuleRegistry(RuleStore(storage), binder, compiled)
        self._dependencies = RuleDependencies(self._registry, storage.relations)
        self._rule_tables = RuleSystemTables(self._registry, silences.store, line)
        self._answers = Answers(self._scheduler, line, self._mutex, self._system_table)
        self._answer = self._answers.at
        self._views = Views(storage, self._scheduler, line)
        tables = Tables(storage, enforcer.evaluator, self._views.binder, line)
        self._definitions = DefinitionStatements(storage.relations, tables, self._views, line, compiled)
        self._commits = commits = Commits(storage, enforcer, self._scheduler, line, self._folding, self._mutex)
        write_parts = WriteParts(storage.relations, self._plans, self._answers, enforcer, line, commits, self._mutex)
        self._settings = settings
        self._deliveries: Deliveries | None = None
        limits = RuleLimits(cascade, (settings or DeliverySettings()).policy)
        actions = Actions(storage.backend)
        self._rules = RuleContext(
            self._registry, self._scheduler, line, silences, actions, limits, self._wake_deliveries
        )
        self._transactions = RuleTransactions(self._rules, write_parts)
        self._detached = DetachedRules(self._transactions)
        self._rule_statements = RuleStatements(self._transactions, self._dependencies, enforcer.evaluator)
        self._silence_statements = SilenceStatements(self._registry, silences, line)
        storage.relations.system_tables |= TABLES | {"tidings.deliveries": COLUMNS}
        line.begin()
        restore(storage, self._views.binder.view, self._views.binder.stored)
        line.remember()

    @property
    def time(self) -> int:
        """The time of the last commit; 0 before the first."""
        return self._timeline.time

    # definitions and statements

    @exclusive
    def sql(self, text: str) -> Result | None:
        """Run statements; the rows of the last one if it is a query."""
        self.reload()
        result = None
        for read in statement.read(text):
            result = None
            if not isinstance(read, statement.Query):
                self._storage.require_writer()
            match read:
                case statement.Insert() | statement.Update() | statement.Delete() | statement.Merge():
                    with self._transactions.begin() as workspace:
                        statements.run(workspace, read)
                case (
                    statement.CreateRule()
                    | statement.DropRule()
                    | statement.SwitchRule()
                    | statement.ActivateRule()
                    | statement.CreateEvent()
                    | statement.DropEvent()
                    | statement.Signal()
                ):
                    self._rule_statements.run(read)
                case statement.SilenceRule() | statement.UnsilenceRule():
                    self._silence_statements.run(read)
                case statement.RefreshView():
                    self.refresh(read.name)
                case statement.Vacuum():
                    result = Result(self.vacuum().to_arrow())
                case statement.Query():
                    result = self._answers.now(self._plans.bind(read.query, read.text, query_text=read.query_text))
                case _:
                    self._dependencies.check_definition(read)
                    outcomes = self._definitions.run(read)
                    result = Result(as_table(outcomes)) if outcomes else None
        return result

    # rules

    def procedure(self, name: str, *, each: bool = False) -> Callable[[F], F]:
        """Register a function under the name by which ``CALL`` finds it.

        It is given a list of rows; with ``each`` one row at a time.  If it takes a second argument, that is the
        transaction it may change rows in.
        """

        def registered(function: F) -> F:
            self._rules.actions.procedures.register(name, function, each=each)
            return function

        return registered

    @property
    def deliveries(self) -> Deliveries:
        """What rules send: delivered by ``step()``, or in a thread after ``start()``; listened to by ``listen()``."""
        if self._deliveries is None:
            self._deliveries = Deliveries(self._storage.rule_tables, self._clock, self._settings)
        return self._deliveries

    def _wake_deliveries(self) -> None:
        if self._deliveries is not None:
            self._deliveries.wake()

    def _system_table(self, name: str) -> pa.Table:
        if name == "tidings.deliveries":
            return as_inserts(COLUMNS, delivered(Outbox(self._storage.rule_tables)))
        return self._rule_tables.changes(name)

    @reading
    def backtest(self, rule: str, since: Instant | None = None) -> list[Backtested]:
        """For what a rule would have fired since an instant, over retained history; no action runs.

        ``rule`` is a name, or a ``CREATE RULE`` that has not been run.
        """
        start = 0 if since is None else _time(since)
        return backtest(self._rules, self._registry.find_or_propose(rule), start)

    @exclusive
    def signal(self, event: str, rows: Any) -> int:
        """Let an event happen, with rows of its own, in a transaction that does nothing else; when that was."""
        self._storage.require_writer()
        with self.transaction() as tx:
            tx.signal(event, rows)
        assert tx.time is not None
        return tx.time

    # changes

    def transaction(self) -> Transaction:
        """Begin a transaction; use it in a ``with`` block."""
        return Transaction(self._transactions.begin())

    @exclusive
    def load(
        self, table: str | Mapping[str, Any], data: Any = None, *, sorted_by: str | None = None, late: str = "refuse"
    ) -> None:
        """Give an empty table its first rows at once: an Arrow table, or a Spark DataFrame with the Spark engine.

        They count as having been there before the first transaction.  They are kept sorted by one column, the first
        unless told otherwise; choose the one by which views look rows up.

        A table made ``WITH (append_only, time = column)`` need not be empty: its rows take their instants from that
        column and count as the transactions they were.  They must be later than anything that is settled; earlier ones
        are refused or, with ``late="present"``, take the present.  Histories that overlap are loaded together, as a
        mapping from tables to rows.

        Rules fire for what is loaded, and may refuse it.
        """
        hook = RuleLoadHook(self._rules, self._detached) if self._registry.records else None
        Loader(self._commits).load(table, data, sorted_by, late, hook)
        if hook is not None:
            hook.act()

    # answers

    @reading
    def query(self, text: str, as_of: Instant | None = None) -> Result:
        """The rows of a query or view, now or as they were at an earlier instant."""
        self._folding.step()
        plan = self._plan(text)
        return self._answers.now(plan) if as_of is None else self._answers.as_of(plan, _time(as_of))

    @reading
    def changes(
        self,
        text: str,
        since: Instant | None = None,
        until: Instant | None = None,
        *,
        per_commit: bool = False,
        strict: bool = False,
    ) -> Delta:
        """How the answer of a query or view changed over ``(since, until]``.

        By default what lies between the two states; with ``per_commit`` every change at its own instant.  ``strict``
        refuses to recompute where that would read fewer rows.
        """
        self._folding.step()
        start, end = 0 if since is None else _time(since), None if until is None else _time(until)
        name, plan = self._plans.relation_name(text), self._plan(text)
        return self._answers.changes(name, plan, start, end, per_commit=per_commit, strict=strict)

    @exclusive
    def subscribe(
        self,
        text: str,
        since: Instant | None = None,
        *,
        follow: bool = False,
        timeout: float | None = None,
        name: str | None = None,
    ) -> Subscription:
        """The rows of a table, view or query, and then every change of them, batch by batch, one per instant.

        ``since`` is the position of a reader who has everything up to then: the time of the last batch it had.  Without
        it the first batch is a snapshot.  The iterator ends at the present; with ``follow`` it waits for commits of
        this process, and ends after ``timeout`` seconds without any.

        With a ``name`` the position is kept in the catalog.  A batch is acknowledged by its ``ack()``, or by asking for
        the next one; after a crash the subscription goes on behind the last one that was.
        """
        self.reload()
        self._plan(text)
        self._timeline.followed = True
        position = None if since is None else _time(since)
        keep = None
        if name is not None:
            self._storage.require_writer()
            position = named_position(self._storage, name, text, position)
            keep = partial(self._storage.move_subscription, name)
        feed = Feed(text, self._plans, self._answers, self.reload)
        return Subscription(feed, position, self._news, lambda: self._closed, follow, timeout, keep)

    @exclusive
    def unsubscribe(self, name: str) -> None:
        """End a named subscription: its position is forgotten."""
        self._storage.subscribe(name, None)

    @exclusive
    def advance(self) -> int:
        """Bring stored views up to the present, all in one batch, and say which instant that is.

        Rules that are judged after commits are judged, and actions that run after them run.

        Those with ``refresh = 'manual'`` stay where they are.  One that fails is marked so, see :meth:`status`, and
        does not hold up the others.
        """
        at = max([self.time, *(self._present(v.plan) for v in self._relations.stored())])
        self._scheduler.advance(at)
        if self._registry.records and not self._storage.is_reader:
            self._detached.advance()
            at = max(at, self.time)
            self._scheduler.advance(at)
            if self._folding.policy.retention is not None:
                self._rules.forget_before(self._clock.now() - self._folding.policy.retention)
        self._folding.step()
        return at

    @exclusive
    def refresh(self, view: str) -> int:
        """Bring one stored view up to the present, and say which instant that is."""
        found = self._views.stored(view)
        at = self._present(found.plan)
        self._scheduler.refresh(found, at)
        return at

    @reading
    def status(self) -> Status:
        """How the stored views stand and how rows are held: position, lag, length of logs, and what went wrong."""
        return status(self._relations, self.time, self._folding.status())

    # upkeep

    @exclusive
    def reload(self) -> int:
        """Take in what the writer has committed, where this database was opened for reading; when that was.

        Every question does so by itself.
        """
        if is_behind(self._storage):
            time, redefined = catch_up(self._storage, self._views.binder.view, self._views.binder.stored)
            self._timeline.reach(time)
            if redefined:
                self._compiled.forget()
            self._rules.reload()
        return self.time

    @exclusive
    def fold(self) -> int:
        """Fold the logs of all tables and stored views into their bases now; how many there were.

        This happens by itself, in the background, when a log has grown long.
        """
        self._storage.require_writer()
        return self._folding.fold()

    @exclusive
    def vacuum(self, grace: timedelta = GRACE) -> Vacuumed:
        """Remove files that nobody names and that no reader opened within the last while can be reading."""
        self._folding.step()
        return vacuum(self._storage, grace, self._folding.running)

    @reading
    def explain(self, text: str, since: Instant | None = None, until: Instant | None = None) -> str:
        """How a query or view is maintained, as text for a terminal.

        The strategy is the one for the changes in ``(since, until]``, by default those of the last transaction.
        """
        start = self._timeline.before if since is None else _time(since)
        end = max(start, self.time) if until is None else _time(until)
        plan, definitions, how = self._answers.strategy(text, self._plan(text), start, end)
        return explanation.explain(self._plans.relation_name(text), plan, definitions, self._backend.dialect, how)

    @exclusive
    def waves(self) -> list[WaveRecord]:
        """What the last waves did, up to a thousand: where each ran and why, what it read and how long it took."""
        return list(self._scheduler.executor.records)

    def close(self) -> None:
        """Let go of the engine's resources and of the folder; a fold that is under way is waited for."""
        with self._news:
            self._closed = True
            self._news.notify_all()
        if self._deliveries is not None:
            self._deliveries.close()
        with self._news:
            self._folding.close()
            self._storage.close()
            self._scheduler.close()
            self._backend.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _time(instant: Instant) -> int:
    return instant if isinstance(instant, int) else micros(instant)
