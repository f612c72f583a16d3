"""The composition root: builds the parts of a database, each from finished parts.

Nothing is set on a part after it was made, and no part knows the database.  Reading :func:`assemble` from top to bottom
tells who works with whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from threading import Condition, Event

from tidings.clock import BoundedClock, Clock
from tidings.compiled import CompiledPlans
from tidings.constraints.enforce import Enforcer
from tidings.constraints.evaluate import Evaluator
from tidings.continuous.dependencies import QueryDependencies
from tidings.continuous.descriptions import QueryDescriptions
from tidings.continuous.registry import QueryRegistry
from tidings.continuous.runs import ContinuousRuns
from tidings.continuous.statements import ContinuousStatements
from tidings.define.statements import DefinitionStatements
from tidings.define.tables import Tables
from tidings.define.views import Views
from tidings.deliver.deliveries import DeliverySettings
from tidings.engine.backend import Backend
from tidings.engine.backends import in_process_duckdb
from tidings.engine.location import Location
from tidings.engine.memory import MemoryBudget
from tidings.engine.run import Runner
from tidings.exclusive import Mutex
from tidings.front.amosql.session import AmosqlSession
from tidings.front.background_runner import BackgroundRunner
from tidings.front.functions import Functions
from tidings.front.loads import Loads
from tidings.front.maintenance import Maintenance
from tidings.front.show_statements import ShowStatements
from tidings.front.statement_runner import StatementRunner
from tidings.front.system_tables import COLUMNS, SystemTables
from tidings.read.answers import Answers
from tidings.read.bound_plans import BoundPlans
from tidings.read.descriptions import Descriptions
from tidings.read.one_time_queries import OneTimeQueries
from tidings.read.rewritings import Rewritings
from tidings.read.subscribe import Subscriptions
from tidings.rules.action.run import Actions
from tidings.rules.binding import RuleBinder
from tidings.rules.context import RuleContext, RuleLimits
from tidings.rules.dependencies import RuleDependencies
from tidings.rules.descriptions import RuleDescriptions
from tidings.rules.detached.advance import DetachedRules
from tidings.rules.event.detection import EventDetection
from tidings.rules.explain.explanation import RuleExplanations
from tidings.rules.rebinding import RuleRebinding
from tidings.rules.registry import RuleRegistry
from tidings.rules.silence import Silences
from tidings.rules.silence_statements import SilenceStatements
from tidings.rules.statements import RuleStatements
from tidings.rules.system_tables import RuleSystemTables
from tidings.rules.transactions import RuleTransactions
from tidings.store.filesystem import SCRATCH
from tidings.store.fold import Folding, FoldPolicy
from tidings.store.key_lookup import KeyLookup
from tidings.store.open import open_folder, open_in_memory
from tidings.store.relation.relations import Relations
from tidings.store.rules.continuous_queries import QueryStore
from tidings.store.rules.rule_store import RuleStore
from tidings.store.rules.silences import SilenceStore
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.calibration import Calibration
from tidings.waves.engines import Engines
from tidings.waves.estimates import Estimator
from tidings.waves.in_process.runner import InProcessRunner
from tidings.waves.on_engine.runner import EngineRunner
from tidings.waves.planner import Planner
from tidings.waves.scheduler import Scheduler
from tidings.waves.strategy import Strategy
from tidings.write.commit import Commits
from tidings.write.load import Loader
from tidings.write.workspace import WriteParts


@dataclass(frozen=True, slots=True)
class Settings:
    """What a database is opened with, apart from its engine and its place; see :func:`tidings.open`."""

    clock: Clock
    strategy: Strategy | None
    """The only strategy that waves may use; None lets each choose."""
    in_process: bool
    """Whether small waves run in this process."""
    retention: timedelta | None
    deliveries: DeliverySettings
    cascade: int
    rounds: int
    """The most rounds of a recursion."""
    memory: MemoryBudget
    """What the second engine and the caches of this process may hold."""
    timeout: float | None = None
    """How many seconds statements may take that do not say it themselves."""
    max_clock_step: timedelta | None = None
    """How far a reading of the clock may lie after all that is known; None sets no limit."""
    usual_speeds: bool = False
    """Whether strategies are chosen by the usual speeds of engines, not by those on this machine."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What threads of one database wait for."""

    mutex: Mutex
    """Lets one thread in at a time."""
    news: Condition
    """Wakes those who wait for commits; its lock is ``mutex``."""
    closed: Event
    """Is set when the database is closed."""
    outbox_filled: Event
    """Is set when there may be something to deliver."""
    advance_wanted: Event
    """Is set when an advance may have something to do."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one open database: those that its methods call, and below them what these are made of."""

    settings: Settings
    signals: Signals
    scheduler: Scheduler
    transactions: RuleTransactions
    answers: Answers
    subscriptions: Subscriptions
    statements: StatementRunner
    maintenance: Maintenance
    background: BackgroundRunner
    functions: Functions
    amosql: AmosqlSession

    @property
    def storage(self) -> Storage:
        return self.maintenance.storage

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    @property
    def backend(self) -> Backend:
        return self.storage.backend

    @property
    def clock(self) -> Clock:
        return self.settings.clock

    @property
    def timeline(self) -> Timeline:
        return self.maintenance.timeline

    @property
    def folding(self) -> Folding:
        return self.maintenance.folding

    @property
    def compiled(self) -> CompiledPlans:
        return self.maintenance.compiled

    @property
    def runner(self) -> Runner:
        return self.scheduler.engines.runner

    @property
    def plans(self) -> BoundPlans:
        return self.transactions.write_parts.plans

    @property
    def commits(self) -> Commits:
        return self.transactions.write_parts.commits

    @property
    def loader(self) -> Loader:
        return Loader(self.commits)

    @property
    def loads(self) -> Loads:
        return Loads(self.loader, self.transactions, self.detached, self.statements.continuous)

    @property
    def shows(self) -> ShowStatements:
        return self.statements.shows

    @property
    def rules(self) -> RuleContext:
        return self.transactions.context

    @property
    def registry(self) -> RuleRegistry:
        return self.rules.registry

    @property
    def detached(self) -> DetachedRules:
        return self.maintenance.detached

    @property
    def continuous(self) -> ContinuousRuns:
        return self.maintenance.continuous


def open_storage(
    backend: Backend, folder: Location | None, catalog: str | None, memory: MemoryBudget, *, read_only: bool
) -> Storage:
    """The storage of a database in a folder, or of a new one in memory, with the system tables known by name."""
    relations = Relations(system_tables=dict(COLUMNS))
    if folder is None:
        return open_in_memory(backend, relations)
    return open_folder(backend, folder, catalog, read_only=read_only, relations=relations, memory=memory)


def assemble(storage: Storage, settings: Settings) -> Parts:
    """Build the parts of a database over its storage, and restore what the catalog has."""
    mutex, compiled = Mutex(storage.journal.settlement, settings.timeout), CompiledPlans()
    news = Condition(mutex)  # type: ignore[arg-type]  # it asks no more of a lock than a Mutex has
    signals = Signals(mutex, news, closed=Event(), outbox_filled=Event(), advance_wanted=Event())
    clock = BoundedClock(settings.clock, settings.max_clock_step)
    timeline = Timeline(storage, clock, signals.news, committed=signals.advance_wanted)
    scheduler = _scheduler(storage, settings, timeline, compiled)
    folding = _folding(storage, settings, clock)
    write = _write_parts(scheduler, timeline, folding, compiled, mutex)
    transactions = RuleTransactions(_rules(settings, write, compiled, signals), write)

    rules = transactions.context
    dependencies = RuleDependencies(rules.registry, storage.relations)
    runs = ContinuousRuns(QueryRegistry(QueryStore(storage), compiled), transactions)
    continuous = ContinuousStatements(runs, QueryDependencies(runs.registry), dependencies, timeline)
    rebinding = RuleRebinding(dependencies, transactions)
    views = Views(storage, scheduler, timeline, (rebinding.check, continuous.dependencies.check_change))
    rule_tables = RuleSystemTables(rules.registry, rules.silences.store, timeline)
    queries = QueryDescriptions(runs, timeline)
    system_tables = SystemTables(Descriptions(storage.relations), rule_tables, queries, storage)
    storage.relations.system_rows = system_tables.changes
    answers = Answers(scheduler, timeline, system_tables)
    maintenance = Maintenance(storage, views, rules, DetachedRules(transactions), runs, folding, compiled)
    maintenance.restore()
    statements = _statements(answers, transactions, continuous, maintenance, rule_tables, queries)
    compiled.definitions = lambda: storage.relations.count + rules.registry.count
    functions = Functions(storage, compiled, lambda: _texts(rules.registry, runs.registry))
    amosql = AmosqlSession(statements, functions)
    amosql.definitions.load()
    return Parts(
        settings=settings,
        signals=signals,
        scheduler=scheduler,
        transactions=transactions,
        answers=answers,
        subscriptions=Subscriptions(write.plans, answers, maintenance.reload, signals.news, signals.closed),
        statements=statements,
        maintenance=maintenance,
        background=BackgroundRunner(maintenance, mutex, signals.advance_wanted, signals.closed),
        functions=functions,
        amosql=amosql,
    )


def _texts(rules: RuleRegistry, queries: QueryRegistry) -> dict[str, str]:
    """What rules and continuous queries say, by their kinds and names."""
    texts = {f"rule {record.name}": record.text for record in rules.records}
    return texts | {f"query {record.name}": record.text for record in queries.records}


def _folding(storage: Storage, settings: Settings, clock: Clock) -> Folding:
    retention = None if settings.retention is None else settings.retention // timedelta(microseconds=1)
    return Folding(storage, clock, FoldPolicy(retention=retention))


def _scheduler(storage: Storage, settings: Settings, timeline: Timeline, compiled: CompiledPlans) -> Scheduler:
    """What plans and runs waves: on the engine, and in this process if that is wanted."""
    in_memory = settings.in_process or not storage.backend.looks_up_first
    runner = Runner(storage.backend, compiled, max_rounds=settings.rounds, rules_in_memory=in_memory)
    on_engine = EngineRunner(storage, runner, compiled, settings.memory)
    in_process = None
    if settings.in_process:
        share = settings.memory.engine(2 if storage.backend.name == "duckdb" else 1)
        folder = storage.journal.folder
        scratch = None if folder is None or storage.is_reader else folder / SCRATCH
        second = in_process_duckdb(share, folder, scratch)
        in_process = InProcessRunner(storage, on_engine, second, compiled)
    engines = Engines(on_engine, in_process)
    estimator = Estimator(engines, Calibration(storage, engines, settings.usual_speeds), compiled)
    return Scheduler(Planner(storage, estimator, compiled, settings.strategy), timeline)


def _write_parts(
    scheduler: Scheduler, timeline: Timeline, folding: Folding, compiled: CompiledPlans, mutex: Mutex
) -> WriteParts:
    """What transactions work with."""
    storage, runner = scheduler.storage, scheduler.engines.runner
    plans = BoundPlans(storage.relations, storage.backend, mutex, compiled)
    enforcer = Enforcer(KeyLookup(storage, runner), Evaluator(runner))
    commits = Commits(storage, enforcer, scheduler, timeline, folding, mutex)
    return WriteParts(storage.relations, plans, enforcer, scheduler, timeline, commits, mutex)


def _rules(settings: Settings, write: WriteParts, compiled: CompiledPlans, signals: Signals) -> RuleContext:
    """What rules work with."""
    storage = write.scheduler.storage
    return RuleContext(
        registry=RuleRegistry(RuleStore(storage), RuleBinder(storage.relations, storage.backend), compiled),
        scheduler=write.scheduler,
        timeline=write.timeline,
        detection=EventDetection(write.scheduler),
        silences=Silences(SilenceStore(storage), write.enforcer.evaluator),
        actions=Actions(storage.backend),
        limits=RuleLimits(settings.cascade, settings.deliveries.policy),
        wake_deliveries=signals.outbox_filled.set,
        wake_runner=signals.advance_wanted.set,
    )


def _statements(
    answers: Answers,
    transactions: RuleTransactions,
    continuous: ContinuousStatements,
    maintenance: Maintenance,
    rule_tables: RuleSystemTables,
    queries: QueryDescriptions,
) -> StatementRunner:
    """Those who run each kind of statement."""
    rules, views, evaluator = transactions.context, maintenance.views, transactions.write_parts.enforcer.evaluator
    storage, timeline, relations = maintenance.storage, maintenance.timeline, maintenance.storage.relations
    tables, dependencies = Tables(storage, evaluator, views.binder, timeline), continuous.rule_dependencies
    return StatementRunner(
        queries=OneTimeQueries(transactions.write_parts.plans, answers),
        transactions=transactions,
        definitions=DefinitionStatements(relations, tables, views, timeline, maintenance.compiled),
        dependencies=dependencies,
        rules=RuleStatements(transactions, dependencies, evaluator),
        silences=SilenceStatements(rules.registry, rules.silences, timeline),
        continuous=continuous,
        shows=ShowStatements(
            Descriptions(relations), RuleDescriptions(rules.registry, rule_tables), RuleExplanations(rules), queries
        ),
        rewritings=Rewritings(transactions.write_parts.plans),
        maintenance=maintenance,
    )
