"""A bound rule: its record in the catalog, its statement, and its condition with all names resolved."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tidings.analysis.influents import CLOCK
from tidings.clock import micros
from tidings.ir.relation import Column, Relation
from tidings.lang.sql.rules.condition import CHANGE, BoundCondition
from tidings.lang.sql.statements.action import Action
from tidings.lang.sql.statements.event import Event
from tidings.lang.sql.statements.rule import CreateRule, When
from tidings.lang.sql.statements.rule_options import Coupling, Options
from tidings.rules.event.check import is_temporal
from tidings.rules.event.detector import Detector
from tidings.store.rules.rule_store import RuleRecord

TIMES = (Column("began", "timestamp"), Column("ended", "timestamp"), Column("seconds", "double"))
"""The columns that are added to the rows of instances that are gone, where instances have a lifecycle."""

DETACHED: tuple[Coupling, ...] = ("detached", "detached independent")
"""The couplings of actions that run after the commit."""


@dataclass(slots=True)
class Rule:
    """A rule that is ready to be judged.  Only its record changes, when it is judged, enabled or disabled."""

    record: RuleRecord
    statement: CreateRule
    condition: BoundCondition
    instances: Relation
    """The instances of the condition: its query as a set of rows, or of one row per key."""
    dependencies: frozenset[str]
    """The tables the condition depends on, also those whose changes it reads, and perhaps the clock."""
    event_tables: frozenset[str]
    """The tables and events that its ON clause names, as they are declared."""
    evaluates_on_event: bool
    """Whether it fires for all that holds when its event happens, instead of for what begins to hold.

    This is so with ``when = 'state'``, and if it waits for signals or the clock alone and its condition does not read
    these signals.
    """
    influents: frozenset[str] = field(init=False)
    """The tables the condition depends on."""
    condition_coupling: Coupling = field(init=False)
    """When the condition is judged; one that waits for the clock is judged after commits."""

    def __post_init__(self) -> None:
        self.influents = self.dependencies - {CLOCK}
        self.condition_coupling = "detached" if self.depends_on_time else self.options.condition

    # from the record

    @property
    def id(self) -> int:
        return self.record.id

    @property
    def cursor(self) -> int:
        """The instant up to which it has been judged, if it is judged after commits."""
        return self.record.until

    # from the condition

    @property
    def reads_clock(self) -> bool:
        """Whether the condition reads the clock."""
        return CLOCK in self.dependencies

    # from the statement

    @property
    def name(self) -> str:
        return self.statement.name

    @property
    def event(self) -> Event | None:
        return self.statement.event

    @property
    def when(self) -> When:
        return self.statement.when

    @property
    def action(self) -> Action:
        return self.statement.action

    @property
    def options(self) -> Options:
        return self.statement.options

    # what follows from these

    @property
    def order(self) -> tuple[int, int]:
        """Rules are chosen in this order: by priority, the greatest first, then the oldest first."""
        return -self.options.priority, self.id

    @property
    def action_coupling(self) -> Coupling:
        """When the action runs."""
        return self.options.action

    @property
    def has_lifecycle(self) -> bool:
        """Whether its instances have a lifecycle: options ``for``, ``keep_alive`` or ``resolved``."""
        return bool(self.options.hold or self.options.keep_alive or self.options.resolved)

    @property
    def depends_on_time(self) -> bool:
        """Whether it may fire at instants at which nothing is committed."""
        return self.reads_clock or self.has_lifecycle or is_temporal(self.event)

    @property
    def is_nervous(self) -> bool:
        """Whether it also fires for instances that were true before and are touched."""
        return self.options.nervous and self.when == "begins"

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify an instance, as the condition calls them; none if the whole row does."""
        return instance_key(self.statement, self.condition)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the rows it fires for; of changes by key also the values before."""
        columns = self.condition.columns
        if self.when != "changed":
            return columns if self.when == "begins" or not self.has_lifecycle else (*columns, *TIMES)
        old = tuple(Column(f"old_{c.name}", c.type) for c in columns if self.key and c.name not in self.key)
        return (*columns, Column(CHANGE, "string"), *old)

    def new_detector(self) -> Detector:
        """What detects its event, before anything has happened."""
        assert self.event is not None
        return Detector(self.event, self.options.context)

    def is_active(self, now: int) -> bool:
        """Whether it is judged at an instant: it is enabled, effective and not expired."""
        return self.record.enabled and self.is_effective(now)

    def is_effective(self, instant: int) -> bool:
        """Whether an instant lies between the options ``effective`` and ``expires``."""
        effective, expires = self.options.effective, self.options.expires
        if effective is not None and instant < micros(datetime.fromisoformat(effective)):
            return False
        return expires is None or instant < micros(datetime.fromisoformat(expires))


def instance_key(statement: CreateRule, condition: BoundCondition) -> tuple[str, ...]:
    """The columns that identify an instance, as the condition calls them; each activation has instances of its own."""
    if not statement.options.key:
        return ()
    names = {f.name.lower(): f.name for f in condition.plan.fields}
    written = dict.fromkeys(n.lower() for n in (*statement.options.key, *(p.name for p in statement.parameters)))
    return tuple(names[name] for name in written if name in names)
