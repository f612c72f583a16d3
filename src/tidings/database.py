"""The front door: open a database, define tables and views, change rows, ask what changed.

A thin front: ``store`` keeps rows and definitions, ``network`` finds what changed, ``write`` runs what changes rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Condition, RLock
from types import TracebackType
from typing import Any, assert_never

import pyarrow as pa

from tidings import explain as explanation
from tidings.analysis.influents import CLOCK, influents
from tidings.clock import Clock, SystemClock, micros
from tidings.engine.backend import Backend
from tidings.engine.run import Runner
from tidings.errors import (
    InvalidExpression,
    InvalidInterval,
    InvalidRow,
    UnknownColumn,
    UnknownEngine,
    UnknownRelation,
    UnknownStrategy,
    closest,
)
from tidings.exclusive import exclusive, reading
from tidings.ir.expression import Expression
from tidings.ir.relation import Relation, Scan
from tidings.lang.sql import statement
from tidings.lang.sql.bind import bind
from tidings.network import within
from tidings.network.status import Status, status
from tidings.network.strategy import Strategy
from tidings.network.subscribe import Feed, Subscription, named_position
from tidings.network.tables import Tables
from tidings.network.views import Views, as_table
from tidings.network.waves import Waves
from tidings.result import Delta, Result
from tidings.store.enforce import Enforcer
from tidings.store.evaluate import Evaluator
from tidings.store.find import Finder
from tidings.store.fold import Folding, Policy
from tidings.store.following import follow, has_news
from tidings.store.history import entries
from tidings.store.storage import Storage, in_memory, opened
from tidings.store.table import Table, span
from tidings.store.vacuum import GRACE, Vacuumed, vacuum
from tidings.store.view import StoredView, View
from tidings.write import statements
from tidings.write.transaction import Access, NetChange, Transaction

Instant = int | datetime
"""Microseconds since the epoch, or a datetime (UTC where it has no time zone)."""


def open(
    path: str | Path | None = None,
    *,
    engine: str = "spark",
    spark: Any = None,
    clock: Clock | None = None,
    strategy: str = "auto",
    catalog: str | None = None,
    read_only: bool = False,
    retention: timedelta | None = timedelta(days=7),
) -> Database:
    """Open a database in a folder, made if it is not there; without a path, a new one in memory.

    ``catalog`` is the URL of a PostgreSQL database to hold the catalog, which otherwise is a SQLite file in the folder.
    A folder has one writer at a time and any number of readers (``read_only``).

    ``engine`` is ``"spark"`` or ``"duckdb"``.  ``spark`` is a session to work in; without one Tidings starts Spark in
    local mode.  ``clock`` gives commit times; :class:`tidings.ManualClock` is one that is driven by hand.  ``strategy``
    says how changes are found: ``"auto"`` chooses per view and batch, ``"differential"`` never recomputes,
    ``"recompute"`` always does, to compare.

    ``retention`` says for how long changes are kept: that far back reach ``query(as_of=…)`` and ``changes(since=…)``.
    None keeps them all.
    """
    if strategy not in _STRATEGIES:
        raise UnknownStrategy(name=strategy)
    backend = _backend(engine, spark)
    storage = in_memory(backend) if path is None else opened(backend, Path(path), catalog, read_only=read_only)
    kept = None if retention is None else retention // timedelta(microseconds=1)
    return Database(storage, clock or SystemClock(), _STRATEGIES[strategy], Policy(retention=kept))


_STRATEGIES = {"auto": None, "differential": Strategy.DIFFERENTIAL, "recompute": Strategy.RECOMPUTE}


def _backend(engine: str, session: Any) -> Backend:
    if engine == "spark":
        from tidings.engine.spark import Spark

        return Spark(session)
    if engine == "duckdb":
        from tidings.engine.duckdb import DuckDB

        return DuckDB()
    raise UnknownEngine(name=engine)


class Database:
    """Tables, views and their history."""

    def __init__(
        self, storage: Storage, clock: Clock, only: Strategy | None = None, policy: Policy | None = None
    ) -> None:
        self._mutex = RLock()
        self._news = Condition(self._mutex)
        self._closed = False
        self._has_subscribers = False
        self._storage = storage
        self._folding = Folding(storage, clock, policy or Policy())
        self._backend = storage.backend
        self._runner = Runner(storage.backend)
        self._clock = clock
        self._catalog = storage.catalog
        self._waves = Waves(storage, self._runner, self._settled, only)
        self._views = Views(storage, self._waves, lambda: self._time, self._present, self._own_instant)
        enforcer = Enforcer(Finder(storage, self._runner), Evaluator(self._runner))
        self._tables = Tables(storage, enforcer.evaluator, self._views, self._now)
        self._access = Access(
            self._catalog, enforcer, self._plan, self._bind, self._answer_within, self._now, self._commit
        )
        self._plans: dict[str, Relation] = {}
        self._time = 0
        self._before = 0
        self._told = 0
        if storage.journal is not None:
            self._time = self._before = storage.journal.last_commit()
            storage.restore(self._views.bound, self._views.kept)
            ends = (v.until for v in self._catalog.stored())
            self._told = max([0, *ends, *storage.began.values()])

    @property
    def time(self) -> int:
        """The time of the last commit; 0 before the first."""
        return self._time

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
                case statement.CreateTable() | statement.CreateView() if read.if_absent and self._catalog.find(
                    read.name
                ):
                    pass
                case statement.CreateTable():
                    self._tables.create(read)
                    self._forget_plans()
                case statement.AddColumns() | statement.RenameColumn() | statement.RenameTable():
                    self._begin_anew(read.table)
                    if isinstance(read, statement.RenameTable):
                        self._begin_anew(read.new)
                    self._tables.alter(read)
                    self._forget_plans()
                case statement.CreateView():
                    result = self._create_view(read)
                case statement.RefreshView():
                    self.refresh(read.name)
                case statement.Drop():
                    self._drop(read)
                case statement.Insert() | statement.Update() | statement.Delete() | statement.Merge():
                    with self.transaction() as tx:
                        statements.run(tx, read)
                case statement.Vacuum():
                    result = Result(self.vacuum().to_arrow())
                case statement.Query():
                    plan = self._bind(read.query, read.text, own=read.own)
                    result = self._answer(plan, self._present(plan))
                case _:
                    assert_never(read)
        return result

    def _forget_plans(self) -> None:
        self._plans.clear()
        self._waves.forget()

    def _create_view(self, read: statement.CreateView) -> Result | None:
        """Make a view; what became of one that it replaces."""
        outcomes = self._views.create(read)
        self._forget_plans()
        return Result(as_table(outcomes)) if outcomes else None

    def _drop(self, read: statement.Drop) -> None:
        for name in read.names:
            if read.if_exists and self._catalog.find(name) is None:
                continue
            dropped = self._tables.to_drop(name, read.kind, cascade=read.cascade)
            for relation in dropped:
                self._begin_anew(relation.name)
            self._tables.drop(dropped)
            self._forget_plans()

    # changes

    def transaction(self) -> Transaction:
        """Begin a transaction; use it in a ``with`` block."""
        return Transaction(self._access)

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
        """
        if not isinstance(table, str) or self._catalog.table(table).constraints.time_column is not None:
            self._load_history({table: data} if isinstance(table, str) else table, late)
            return
        target = self._catalog.table(table)
        if target.base is not None or target.times(-1, self._time):
            raise InvalidRow(row=1, table=target.name, reason="only a table without rows can be loaded")
        names = [c.name for c in target.columns]
        key = next((n for n in names if n.lower() == (sorted_by or target.key_column).lower()), None)
        if key is None:
            raise UnknownColumn(None, closest(str(sorted_by), names), name=sorted_by)
        definitions = self._catalog.definitions()
        readers = [v for v in self._catalog.stored() if target.name in influents(v.plan, definitions)]
        if self._time or self._has_subscribers:
            self._begin_anew(target.name)
        self._storage.load(target, data, key, readers, lambda: self._access.enforcer.check_base(target))

    def _load_history(self, data: Mapping[str, Any], late: str) -> None:
        after = max(self._time, self._told)
        given = [(self._catalog.table(name), rows) for name, rows in data.items()]
        changes = entries(given, after=after, present=max(after + 1, self._clock.now()), late=late)
        for table, entry in changes:
            self._access.enforcer.check_history(table, entry)
        if changes:
            last = max(span(entry)[1] for _, entry in changes)
            with self._at(last):
                self._storage.record(changes, lambda: self._waves.follow(last))
            self._folding.step()

    @exclusive
    def _commit(self, changes: list[NetChange]) -> int:
        """Check all changes, then log them all at one instant."""
        for change in changes:
            self._access.enforcer.check(change)
        time = max(self._time + 1, self._told + 1, self._clock.now())
        if not changes:
            self._before, self._time = self._time, time
            return time
        logged = [(c.table, c.table.entry(time, c.rows, c.weights)) for c in changes]
        with self._at(time):
            self._storage.commit(time, logged, lambda: self._waves.follow(time))
        self._folding.step()
        return time

    @contextmanager
    def _at(self, time: int) -> Iterator[None]:
        """Let an instant be the last one, once what is done inside is done; those who wait for news wake up."""
        before = self._before, self._time
        self._before, self._time = self._time, time
        try:
            yield
        except BaseException:
            self._before, self._time = before
            raise
        with self._news:
            self._news.notify_all()

    # answers

    @reading
    def query(self, text: str, as_of: Instant | None = None) -> Result:
        """The rows of a query or view, now or as they were at an earlier instant."""
        self._folding.step()
        plan = self._plan(text)
        present = self._present(plan)
        at = present if as_of is None else _time(as_of)
        if at > present and self._reads_clock(plan):
            raise InvalidInterval(since=at, until=at, reason="it lies in the future")
        return self._answer(plan, at)

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
        start = 0 if since is None else _time(since)
        present = self._present(self._plan(text))
        end = max(start, present) if until is None else _time(until)
        if start > end:
            raise InvalidInterval(since=start, until=end, reason="it ends before it begins")
        plan = self._plan(text)
        if until is not None and end > present and self._reads_clock(plan):
            raise InvalidInterval(since=start, until=end, reason="it ends in the future")
        rows = self._waves.delta(self._named(text), plan, start, end, net=not per_commit, strict=strict)
        return Delta(rows) if per_commit else Delta(rows).net()

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
        self._has_subscribers = True
        position = None if since is None else _time(since)
        keep = None
        if name is not None:
            self._storage.require_writer()
            position = named_position(self._storage, name, text, position)
            keep = partial(self._storage.move_subscription, name)
        feed = Feed(
            text,
            partial(self._subscribed, text, self._catalog.find(text) is not None),
            self._waves,
            self._storage,
            lambda plan: self._settled() if self._storage.is_reader else self._present(plan),
            lambda plan, at: self._answer(plan, at).to_arrow(),
            self.reload,
        )
        return Subscription(feed, position, self._news, lambda: self._closed, follow, timeout, keep)

    def _subscribed(self, text: str, is_name: bool) -> Relation:
        """What a subscription reads; refused if it was dropped."""
        if is_name and self._catalog.find(text) is None:
            raise UnknownRelation(name=text)
        return self._plan(text)

    @exclusive
    def unsubscribe(self, name: str) -> None:
        """End a named subscription: its position is forgotten."""
        self._storage.subscribe(name, None)

    @exclusive
    def advance(self) -> int:
        """Bring stored views up to the present, all in one batch, and say which instant that is.

        Those with ``refresh = 'manual'`` stay where they are.  One that fails is marked so, see :meth:`status`, and
        does not hold up the others.
        """
        at = max([self._time, *(self._present(v.plan) for v in self._catalog.stored())])
        self._waves.advance(at)
        self._folding.step()
        return at

    @exclusive
    def refresh(self, view: str) -> int:
        """Bring one stored view up to the present, and say which instant that is."""
        found = self._views.stored(view)
        at = self._present(found.plan)
        self._waves.refresh(found, at)
        return at

    @reading
    def status(self) -> Status:
        """How the stored views stand and how rows are held: position, lag, length of logs, and what went wrong."""
        return status(self._waves, self._time, self._folding.status())

    # upkeep

    @exclusive
    def reload(self) -> int:
        """Take in what the writer has committed, where this database was opened for reading; when that was.

        Every question does so by itself.
        """
        if has_news(self._storage):
            self._before = self._time
            self._time, redefined = follow(self._storage, self._views.bound, self._views.kept)
            if redefined:
                self._forget_plans()
        return self._time

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
        found, plan, definitions = self._catalog.find(text), self._plan(text), self._catalog.definitions()
        start = self._before if since is None else _time(since)
        end = max(start, self._time) if until is None else _time(until)
        if isinstance(found, StoredView):
            plan = found.over
            wave = self._waves.plan(found.name, plan, start, end, net=False, groupings=found.groupings)
            definitions = self._catalog.definitions(found.since) | found.groupings
        else:
            wave = self._waves.plan(self._named(text), plan, start, end, net=True)
        return explanation.explain(self._named(text), plan, definitions, self._backend.dialect, str(wave.choice))

    def _answer(self, plan: Relation, at: int) -> Result:
        """The rows of a plan at an instant."""
        return Result(within.answer(self._waves, plan, at, {}))

    @exclusive
    def _answer_within(self, plan: Relation, now: int, changes: Mapping[str, pa.Table]) -> pa.Table:
        """The rows of a plan inside a transaction that has made some changes."""
        if not self._reads_clock(plan):
            return within.answer(self._waves, plan, self._time, changes)
        self._told = max(self._told, now)
        return within.answer(self._waves, plan, now, changes)

    def _now(self) -> int:
        """The instant of a statement that changes rows; the transaction's own time is not before it."""
        return max(self._time, self._told, self._clock.now())

    def _present(self, plan: Relation) -> int:
        """The instant an answer is about: the last commit, or now for what reads the clock.

        What was said of an instant stays true: later transactions get later times.
        """
        if not self._reads_clock(plan):
            return self._time
        self._told = max(self._time, self._told, self._clock.now())
        return self._told

    def _settled(self) -> int:
        """The instant up to which nothing more can be committed; a reader knows only what the writer has recorded."""
        if self._storage.is_reader:
            return max([self._time, *(v.until for v in self._catalog.stored())])
        return max(self._time, self._told)

    def _own_instant(self) -> int:
        """An instant at which nothing is committed, after all others."""
        self._told = max(self._time, self._told) + 1
        return self._told

    def _begin_anew(self, name: str) -> None:
        """Note that a name comes to mean something else: positions in its changes are of no use any more."""
        self._storage.begin(name, self._own_instant())

    def _reads_clock(self, plan: Relation) -> bool:
        return CLOCK in influents(plan, self._catalog.definitions())

    # plans

    @exclusive
    def _plan(self, text: str) -> Relation:
        """The bound plan of a query or of a relation's name."""
        if text not in self._plans:
            match self._catalog.find(text):
                case View(plan=plan):
                    self._plans[text] = plan
                case Table() | StoredView() as kept:
                    self._plans[text] = Scan(kept.name, kept.name, kept.columns)
                case None:
                    self._plans[text] = self._bind_text(text)
        return self._plans[text]

    def _bind_text(self, text: str) -> Relation:
        read = statement.read(text)
        if len(read) != 1 or not isinstance(read[0], statement.Query):
            raise InvalidExpression(reason="one query is expected here, or the name of a table or view")
        return self._bind(read[0].query, text, own=read[0].own)

    @exclusive
    def _bind(self, query: Expression, text: str, name: str = "result", own: str | None = None) -> Relation:
        return bind(query, text, self._catalog, self._backend, name, own)

    def _named(self, text: str) -> str:
        found = self._catalog.find(text)
        return "result" if found is None else found.name

    def close(self) -> None:
        """Let go of the engine's resources and of the folder; a fold that is under way is waited for."""
        with self._news:
            self._closed = True
            self._news.notify_all()
            self._folding.close()
            self._storage.close()
            self._backend.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _time(instant: Instant) -> int:
    return instant if isinstance(instant, int) else micros(instant)
