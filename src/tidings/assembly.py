"""The composition root: builds the parts of a database, each from finished parts.

Nothing is set on a part after it was made, and no part knows the database.  Reading :func:`assemble` from top to bottom
tells who works with whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Condition, Event, RLock

from tidings.clock import Clock
from tidings.compiled import CompiledPlans
from tidings.constraints.enforce import Enforcer
from tidings.constraints.evaluate import Evaluator
from tidings.define.statements import DefinitionStatements
from tidings.define.tables import Tables
from tidings.define.views import Views
from tidings.deliver.deliveries import DeliverySettings
from tidings.engine.backend import Backend
from tidings.engine.backends import in_process_duckdb
from tidings.engine.run import Runner
from tidings.maintenance import Maintenance
from tidings.read.answers import Answers
from tidings.read.bound_plans import BoundPlans
from tidings.read.descriptions import Descriptions
from tidings.read.subscribe import Subscriptions
from tidings.rules.action.run import Actions
from tidings.rules.binding import RuleBinder
from tidings.rules.context import RuleContext, RuleLimits
from tidings.rules.dependencies import RuleDependencies
from tidings.rules.descriptions import RuleDescriptions
from tidings.rules.detached.advance import DetachedRules
from tidings.rules.registry import RuleRegistry
from tidings.rules.silence import Silences
from tidings.rules.silence_statements import SilenceStatements
from tidings.rules.statements import RuleStatements
from tidings.rules.system_tables import RuleSystemTables
from tidings.rules.transactions import RuleTransactions
from tidings.show_statements import ShowStatements
from tidings.statement_runner import StatementRunner
from tidings.store.fold import Folding, FoldPolicy
from tidings.store.key_lookup import KeyLookup
from tidings.store.open import open_folder, open_in_memory
from tidings.store.relation.relations import Relations
from tidings.store.rules.rule_store import RuleStore
from tidings.store.rules.silences import SilenceStore
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.system_tables import COLUMNS, SystemTables
from tidings.waves.engines import Engines
from tidings.waves.in_process.runner import InProcessRunner
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


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one open database."""

    settings: Settings
    storage: Storage
    timeline: Timeline
    runner: Runner
    scheduler: Scheduler
    plans: BoundPlans
    answers: Answers
    subscriptions: Subscriptions
    rules: RuleContext
    transactions: RuleTransactions
    detached: DetachedRules
    loader: Loader
    statements: StatementRunner
    shows: ShowStatements
    folding: Folding
    maintenance: Maintenance
    mutex: RLock
    """Lets one thread in at a time."""
    news: Condition
    """Wakes those who wait for commits; its lock is ``mutex``."""
    closed: Event
    """Is set when the database is closed."""
    outbox_filled: Event
    """Is set when there may be something to deliver."""

    @property
    def compiled(self) -> CompiledPlans:
        return self.maintenance.compiled

    @property
    def registry(self) -> RuleRegistry:
        return self.rules.registry

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    @property
    def backend(self) -> Backend:
        return self.storage.backend

    @property
    def clock(self) -> Clock:
        return self.settings.clock


def open_storage(backend: Backend, path: str | Path | None, catalog: str | None, *, read_only: bool) -> Storage:
    """The storage of a database in a folder, or of a new one in memory, with the system tables known by name."""
    relations = Relations(system_tables=dict(COLUMNS))
    if path is None:
        return open_in_memory(backend, relations)
    return open_folder(backend, Path(path), catalog, read_only=read_only, relations=relations)


def assemble(storage: Storage, settings: Settings) -> Parts:
    """Build the parts of a database over its storage, and restore what the catalog has."""
    mutex, closed, outbox_filled = RLock(), Event(), Event()
    news = Condition(mutex)
    compiled = CompiledPlans()
    timeline = Timeline(storage, settings.clock, news)
    retention = None if settings.retention is None else settings.retention // timedelta(microseconds=1)
    folding = Folding(storage, settings.clock, FoldPolicy(retention=retention))

    # reading and waves
    runner = Runner(storage.backend, compiled)
    in_process = None
    if settings.in_process:
        in_process = InProcessRunner(storage, Runner(storage.backend, compiled), in_process_duckdb(), compiled)
    scheduler = Scheduler(Planner(storage, Engines(runner, in_process), compiled, settings.strategy), timeline)
    plans = BoundPlans(storage.relations, storage.backend, mutex, compiled)

    # writing
    evaluator = Evaluator(runner)
    enforcer = Enforcer(KeyLookup(storage, runner), evaluator)
    commits = Commits(storage, enforcer, scheduler, timeline, folding, mutex)
    write = WriteParts(storage.relations, plans, enforcer, scheduler, timeline, commits, mutex)

    # rules
    registry = RuleRegistry(RuleStore(storage), RuleBinder(storage.relations, storage.backend), compiled)
    silences = Silences(SilenceStore(storage), evaluator)
    rules = RuleContext(
        registry=registry,
        scheduler=scheduler,
        timeline=timeline,
        silences=silences,
        actions=Actions(storage.backend),
        limits=RuleLimits(settings.cascade, settings.deliveries.policy),
        wake_deliveries=outbox_filled.set,
    )
    transactions = RuleTransactions(rules, write)
    detached = DetachedRules(transactions)

    # what questions and statements go through
    rule_tables = RuleSystemTables(registry, silences.store, timeline)
    answers = Answers(scheduler, timeline, SystemTables(rule_tables, storage))
    shows = ShowStatements(Descriptions(storage.relations), RuleDescriptions(registry, rule_tables))
    views = Views(storage, scheduler, timeline)
    maintenance = Maintenance(storage, views, rules, detached, folding, compiled)
    tables = Tables(storage, evaluator, views.binder, timeline)
    dependencies = RuleDependencies(registry, storage.relations)
    statements = StatementRunner(
        answers=answers,
        transactions=transactions,
        definitions=DefinitionStatements(storage.relations, tables, views, timeline, compiled),
        dependencies=dependencies,
        rules=RuleStatements(transactions, dependencies, evaluator),
        silences=SilenceStatements(registry, silences, timeline),
        shows=shows,
        maintenance=maintenance,
    )

    maintenance.restore()
    return Parts(
        settings=settings,
        storage=storage,
        timeline=timeline,
        runner=runner,
        scheduler=scheduler,
        plans=plans,
        answers=answers,
        subscriptions=Subscriptions(plans, answers, maintenance.reload, news, closed),
        rules=rules,
        transactions=transactions,
        detached=detached,
        loader=Loader(commits),
        statements=statements,
        shows=shows,
        folding=folding,
        maintenance=maintenance,
        mutex=mutex,
        news=news,
        closed=closed,
        outbox_filled=outbox_filled,
    )
