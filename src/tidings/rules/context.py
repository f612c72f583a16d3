"""The parts of a database that judging rules and running their actions needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidings.retry_policy import RetryPolicy
from tidings.rules.action.run import Actions
from tidings.rules.event.detection import EventDetection
from tidings.rules.registry import RuleRegistry
from tidings.rules.silence import Silences
from tidings.store.rules.rule_store import RuleStore
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class RuleLimits:
    """When rules are stopped, and when they try again."""

    cascade: int = 64
    """So many actions may follow each other from one transaction."""
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    """How often, and when, an action that failed after the commit is tried again."""


def _nobody_waits() -> None:
    """There is nobody to wake."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """A plain record: the registry of rules, what finds changes, and what runs actions."""

    registry: RuleRegistry
    scheduler: Scheduler
    timeline: Timeline
    silences: Silences
    detection: EventDetection
    actions: Actions
    limits: RuleLimits = field(default_factory=RuleLimits)
    wake_deliveries: Callable[[], None] = _nobody_waits
    """Is called when something may have been put into the outbox."""
    wake_runner: Callable[[], None] = _nobody_waits
    """Is called when rules may have something to do without a commit."""

    @property
    def store(self) -> RuleStore:
        return self.registry.store

    @property
    def storage(self) -> Storage:
        return self.registry.store.storage

    def reload(self) -> None:
        """Read rules and silences from the catalog when they are next needed."""
        self.registry.reload()
        self.silences.store.reload()

    def forget_before(self, instant: int) -> None:
        """Delete the records of what rules did, and of silences, before an instant."""
        self.store.forget(instant)
        self.silences.store.forget(instant)
