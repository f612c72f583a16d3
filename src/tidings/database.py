"""The front door: define tables and views, change rows, ask what changed.

A thin front: each method hands on to a part that :mod:`tidings.front.assembly` has built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from tidings import explain as explanation
from tidings.algebra import AlgebraExpression, from_plan
from tidings.clock import instant_of
from tidings.deductive import Deductive
from tidings.deliver.deliveries import Deliveries
from tidings.engine.stepping_out import AskedAgain
from tidings.errors import DatabaseClosed
from tidings.exclusive import exclusive, limited, reading, running
from tidings.front.assembly import Parts
from tidings.front.background_runner import POLL
from tidings.front.choices import Instant, Late
from tidings.front.extensible import Extensible
from tidings.front.maintainable import Maintainable
from tidings.front.observable import Observable
from tidings.front.scripts import Script
from tidings.isolation import Isolation, read_isolation
from tidings.lang.sql.parameters import Params
from tidings.read.position import Position
from tidings.read.subscriptions import Subscription
from tidings.result import AffectedRows, Delta, Result
from tidings.rules.detached.backtest import Backtested, backtest
from tidings.waves.status import Status
from tidings.write.transaction import Transaction

F = TypeVar("F", bound=Callable[..., object])

_TAKE_TX = "give the procedure a parameter tx, which is the transaction it runs in, and use"


class Database(Deductive, Extensible, Observable, Maintainable):
    """Tables, views and their history; :func:`tidings.open` opens one."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._mutex = parts.signals.mutex
        self._deliveries: Deliveries | None = None

    @property
    def time(self) -> int:
        """The time of the last commit; 0 before the first."""
        self._mutex.check()
        return self._parts.timeline.time

    # definitions and statements

    @limited
    @running
    def sql(self, text: str, params: Params | None = None, *, timeout: float | None = None) -> Result | None:
        """Run statements; what the last one gives: the rows of a query, or how many rows were touched.

        Those between ``BEGIN`` and ``COMMIT`` are one transaction.  ``params`` has the values of ``:name`` by name, or
        those of ``?`` in order.  After ``timeout`` seconds the statement that runs then is ended.
        """
        self._require_no_procedure("sql", f"{_TAKE_TX} tx.sql(…)")
        self.reload()
        script = Script(self._parts.statements, self._mutex.stepping_out())
        try:
            return script.run(text, params)
        except AskedAgain:
            self.reload()
            return Script(self._parts.statements).run(text, params)

    def interrupt(self) -> int:
        """End the statements that other threads are running, each with ``StatementInterrupted``; how many these were.

        What is done in the background goes on.
        """
        return self._mutex.statements.interrupt()

    @running
    def amosql(self, text: str) -> Result | None:
        """Run statements of AMOSQL in the session of this database; the rows of the last one if it is a query."""
        self._require_no_procedure("amosql", f"{_TAKE_TX} tx.sql(…)")
        self.reload()
        return self._parts.amosql.run(text)

    def foreign(self, name: str) -> Callable[[F], F]:
        """Register a function under the name by which ``as foreign 'name'`` of AMOSQL finds it."""

        def registered(function: F) -> F:
            with self._mutex:
                self._parts.amosql.definitions.register(name, function)
            return function

        return registered

    # what is defined

    @reading
    def functions(self) -> Result:
        """The functions and operators that SQL can call: types, whether their code is registered here, and its text."""
        return self._parts.functions.describe()

    @reading
    def tables(self) -> Result:
        """The tables: name, primary key, whether they only grow, and the column that has their instants."""
        return self._parts.shows.relations.tables()

    @reading
    def views(self) -> Result:
        """The views: name, whether they are stored, when they are refreshed, and what is wrong with them."""
        return self._parts.shows.relations.views()

    @reading
    def rules(self) -> Result:
        """The rules: name, whether they are enabled, their coupling, what they do, and what is wrong with them."""
        return self._parts.shows.rules.rules()

    @reading
    def schema(self, name: str) -> Result:
        """The columns of a table or view: name, type, whether they may be NULL, and what else is declared of them."""
        return self._parts.shows.relations.schema(name)

    # rules

    def procedure(self, name: str, *, each: bool = False) -> Callable[[F], F]:
        """Register a function under the name by which ``CALL`` finds it.

        It is given a list of rows; with ``each`` one row at a time.  A parameter named ``tx``, or annotated as
        :class:`tidings.Transaction`, is given the transaction it runs in, in which it may change rows.
        """

        def registered(function: F) -> F:
            self._parts.rules.actions.procedures.register(name, function, each=each)
            self._parts.signals.advance_wanted.set()
            return function

        return registered

    @property
    def deliveries(self) -> Deliveries:
        """What rules send: delivered by ``step()``, or in a thread after ``start()``; listened to by ``listen()``."""
        self._mutex.check()
        if self._deliveries is None:
            parts, signals = self._parts, self._parts.signals
            tables, settings = parts.storage.rule_tables, parts.settings.deliveries
            wakers, folder = (signals.outbox_filled, signals.advance_wanted), parts.storage.local_folder
            self._deliveries = Deliveries(tables, parts.timeline.clock, settings, *wakers, folder)
        return self._deliveries

    @reading
    def backtest(self, rule: str, since: Instant | None = None) -> list[Backtested]:
        """For what a rule would have fired since an instant, over retained history; no action runs.

        ``rule`` is a name, or a ``CREATE RULE`` that has not been run.  Without ``since`` it is all that is retained.
        """
        rules = self._parts.rules
        return backtest(rules, rules.registry.find_or_propose(rule), None if since is None else instant_of(since))

    @running
    def signal(self, event: str, rows: Any) -> int:
        """Let an event happen, with rows of its own, in a transaction that does nothing else; when that was."""
        self._require_no_procedure("signal", f"{_TAKE_TX} tx.signal(event, rows)")
        self._parts.storage.require_writer()
        with self.transaction() as tx:
            tx.signal(event, rows)
        assert tx.time is not None
        return tx.time

    # changes

    def _require_no_procedure(self, method: str, hint: str) -> None:
        """Refuse what would commit on its own while a procedure runs in a transaction, on this thread."""
        self._parts.rules.actions.procedures.require_none_running(f"db.{method}", hint)

    def transaction(self, id: str | None = None, *, isolation: str = Isolation.READ_COMMITTED) -> Transaction:
        """Begin a transaction; use it in a ``with`` block.

        One with an ``id`` counts once: if one of this id was committed within the last 90 days, nothing is changed.

        With ``isolation="serializable"`` its commit is refused (``SerializationConflict``) if what it has read was
        changed by others meanwhile: what is committed is as if each transaction had run alone.
        """
        level = read_isolation(isolation)
        self._mutex.check()
        self._require_no_procedure("transaction", f"{_TAKE_TX} its methods")
        if id is None:
            return Transaction(self._parts.transactions.begin(isolation=level))
        return Transaction(*self._parts.transactions.begin_once(id, level))

    @running
    def load(
        self, table: str | Mapping[str, Any], data: Any = None, *, sorted_by: str | None = None, late: Late = "refuse"
    ) -> AffectedRows:
        """Give a table many rows at once, in all the forms that ``tx.insert`` takes.

        The first rows of a table count as having been there before the first transaction.  They are stored in the order
        of one column, the first unless told otherwise; choose the one by which views look rows up.  Further rows are
        inserted by one transaction.

        The rows of a table made ``WITH (append_only, time = column)`` take their instants from that column and count as
        the transactions they were.  They must be later than anything that is settled; earlier ones are refused or, with
        ``late="present"``, take the present.  Histories that overlap are loaded together, as a mapping from tables to
        rows.

        Rules fire for what is loaded, and may refuse it.
        """
        self._require_no_procedure("load", f"{_TAKE_TX} tx.insert(table, rows)")
        return self._parts.loads.load(table, data, sorted_by, late)

    # answers

    @limited
    @reading
    def query(
        self, text: str, as_of: Instant | None = None, *, params: Params | None = None, timeout: float | None = None
    ) -> Result:
        """The rows of a query or view, now or as they were at an earlier instant; in its order, if it says one.

        ``params`` has the values of ``:name`` by name, or those of ``?`` in order.  It is ended after ``timeout``
        seconds.
        """
        self._parts.folding.step()
        at = None if as_of is None else instant_of(as_of)
        try:
            return self._parts.statements.queries.answer(text, at, params, self._mutex.stepping_out())
        except AskedAgain:
            self.reload()
            return self._parts.statements.queries.answer(text, at, params)

    @limited
    @reading
    def changes(
        self,
        text: str,
        since: Instant | None = None,
        until: Instant | None = None,
        *,
        per_commit: bool = False,
        strict: bool = False,
        params: Params | None = None,
        timeout: float | None = None,
    ) -> Delta:
        """How the answer of a query or view changed over ``(since, until]``.

        Without ``since`` it is since the first commit or load.  By default it is what lies between the two states; with
        ``per_commit`` every change at its own instant.  ``strict`` refuses to recompute where that would read fewer
        rows.  It is ended after ``timeout`` seconds.
        """
        self._parts.folding.step()
        start, end = None if since is None else instant_of(since), None if until is None else instant_of(until)
        plans = self._parts.plans
        name, plan = plans.relation_name(text), plans.plan(text) if params is None else plans.parse(text, params)
        return self._parts.answers.changes(name, plan, start, end, per_commit=per_commit, strict=strict)

    @running
    def subscribe(
        self,
        text: str,
        since: Instant | None = None,
        *,
        follow: bool = False,
        timeout: float | None = None,
        name: str | None = None,
        stored: bool = True,
    ) -> Subscription:
        """The rows of a table, view or query, and then every change of them, batch by batch, one per instant.

        ``since`` is the position of a reader who has everything up to then: the time of the last batch it had, or its
        ``token``, by which a history that was lost is noticed.  Without it the first batch is a snapshot.

        The iterator ends at the present; with ``follow`` it waits for commits of this process, and ends after
        ``timeout`` seconds without any.

        With a ``name`` the catalog has the position.  A batch is acknowledged by its ``ack()``, or by asking for the
        next one; after a crash the subscription goes on behind the last one that was.

        With ``stored=False`` the reader holds the rows itself: no snapshot is made, only what changes from now on is
        told, and of a view that is not stored nothing but its definition is kept.
        """
        position = Position.of(since) if since is not None else None if stored else self.time
        return self._parts.subscriptions.subscribe(text, position, follow=follow, timeout=timeout, name=name)

    @exclusive
    def unsubscribe(self, name: str) -> None:
        """End a named subscription: its position is forgotten."""
        self._parts.subscriptions.unsubscribe(name)

    @running
    def advance(self) -> int:
        """Bring stored views up to the present, all in one batch, and say which instant that is.

        Rules that are judged after commits are judged, and actions that run after them run.

        Those with ``refresh = 'manual'`` stay where they are.  One that fails is marked so, see :meth:`status`, and
        does not hold up the others.
        """
        self._require_no_procedure("advance", "what is detached runs after the commit, by the next advance()")
        return self._parts.maintenance.advance()

    def start(self, poll: float = POLL) -> None:
        """Advance in a thread from now on: when something is committed, and when something is due.

        An error does not end it: :meth:`status` shows the error, and the thread tries again after a while.

        :param poll: How many seconds the thread sleeps at most.  So soon are commits of another process noticed, and
            so often is what reads the clock brought up to date.
        """
        self._parts.background.start(poll)

    def stop(self) -> None:
        """End the thread that :meth:`start` started; an advance that is under way is waited for."""
        self._parts.background.stop()

    @running
    def refresh(self, view: str) -> int:
        """Bring one stored view up to the present, and say which instant that is."""
        return self._parts.maintenance.refresh(view)

    @reading
    def status(self) -> Status:
        """How the database is doing: stored views, logs, rules that fail, and the thread that :meth:`start` starts."""
        status = self._parts.maintenance.status(self._parts.background.status())
        return status if self._deliveries is None else replace(status, deliveries=self._deliveries.status())

    @reading
    def expression(self, text: str) -> AlgebraExpression:
        """A query or view as an expression of :mod:`tidings.algebra`, over the tables of this database."""
        return from_plan(self._parts.plans.plan(text), self)

    @reading
    def explain(self, text: str, since: Instant | None = None, until: Instant | None = None) -> str:
        """How a query or view is maintained, as text for a terminal.

        The strategy is the one for the changes in ``(since, until]``, by default those of the last transaction.
        """
        parts = self._parts
        start = parts.timeline.before if since is None else instant_of(since)
        end = max(start, self.time) if until is None else instant_of(until)
        plan, definitions, how = parts.answers.strategy(text, parts.plans.plan(text), start, end)
        fragments, name = parts.storage.relations.fragmented(), parts.plans.relation_name(text)
        return explanation.explain(name, plan, definitions, parts.backend.dialect, how, fragments)

    @reading
    def explain_rule(self, rule: str) -> str:
        """What wakes a rule, how it is judged and when it acts, as text for a terminal.

        The rule is one that is there, by its name, or a ``CREATE RULE`` that has not been run.
        """
        return self._parts.shows.explanations.explain(rule)

    def close(self) -> None:
        """Let go of the engine's resources and of the folder; advances and folds that are under way are waited for."""
        parts, mutex = self._parts, self._mutex
        if parts.signals.closed.is_set() or mutex.is_forked:
            return
        parts.background.stop()
        with mutex.held():
            parts.signals.closed.set()
            parts.signals.news.notify_all()
        if self._deliveries is not None:
            self._deliveries.close()
        with mutex.held(), ExitStack() as ending:
            mutex.wait_for_all()
            for end in (parts.backend.close, parts.scheduler.close, parts.storage.close):
                ending.callback(end)
            parts.folding.close(adopting=mutex.refusal is None)
            parts.timeline.end()
            mutex.refusal = DatabaseClosed()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
