"""What keeps a database going between transactions: advancing, refreshing, taking in what the writer did, folding."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tidings.compiled import CompiledPlans
from tidings.continuous.runs import ContinuousRuns
from tidings.continuous.upkeep import is_failing, next_run
from tidings.define.views import Views
from tidings.errors import BackupRefused
from tidings.rules.context import RuleContext
from tidings.rules.detached.advance import DetachedRules
from tidings.rules.detached.deadlines import earliest, is_retried, next_deadline
from tidings.rules.system_tables import errors_by_rule
from tidings.store.catalog.backup import Backup, begin, folder_of
from tidings.store.catalog.catalog_journal import CatalogJournal
from tidings.store.catch_up import catch_up, is_behind
from tidings.store.fold import Folding
from tidings.store.relation.view import Refresh
from tidings.store.restore import restore
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.store.vacuum import Vacuumed, vacuum
from tidings.waves.scheduler import Scheduler
from tidings.waves.status import RuleFailure, Status, status
from tidings.worker_thread import WorkerStatus


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Maintains one database."""

    storage: Storage
    views: Views
    rules: RuleContext
    detached: DetachedRules
    continuous: ContinuousRuns
    folding: Folding
    compiled: CompiledPlans
    backups: list[Backup] = field(init=False, default_factory=list)
    """Those that are being made."""

    @property
    def timeline(self) -> Timeline:
        return self.views.timeline

    @property
    def scheduler(self) -> Scheduler:
        return self.views.scheduler

    def restore(self) -> None:
        """Read what the catalog has into memory, when a database is opened."""
        self.timeline.begin()
        restore(self.storage, self.views.binder.view, self.views.binder.stored)
        self.timeline.remember()
        self.timeline.know(max((rule.until for rule in self.rules.registry.records), default=0))
        queries = self.continuous.registry.records
        self.timeline.know(max((q.log_needed_from for q in queries), default=0))
        self.timeline.has_subscribers |= bool(queries)

    def advance(self) -> int:
        """Bring stored views, detached rules and continuous queries up to the present; returns the instant."""
        present = (self.timeline.present(view.plan) for view in self.storage.relations.stored())
        at = max([self.timeline.time, *present])
        self.scheduler.advance(at)
        if not self.storage.is_reader:
            self._advance_rules()
            if self.continuous.registry.records and self.continuous.advance():
                self._advance_rules()
            at = max(at, self.timeline.time)
            self.scheduler.advance(at)
            if self.views.store_by_cost():
                self.compiled.forget()
        self.folding.step()
        return at

    def _advance_rules(self) -> None:
        """Judge detached conditions, run detached actions, and forget what is old."""
        if self.rules.registry.records:
            self.detached.advance()
            if self.folding.policy.retention is not None:
                self.rules.forget_before(self.timeline.clock.now() - self.folding.policy.retention)

    def next_due(self, after: int, tick: int) -> int | None:
        """The first instant after another at which :meth:`advance` has something to do although nothing is committed.

        What reads the clock is taken to have something to do every ``tick`` microseconds.  For a reader time passes as
        far as the writer has recorded it.
        """
        if self.storage.is_reader:
            return None
        views = (v for v in self.storage.relations.stored() if v.refresh is not Refresh.MANUAL)
        tick_due = after + tick if any(self.timeline.reads_clock(view.plan) for view in views) else None
        return earliest(tick_due, next_deadline(self.rules, after, tick), next_run(self.continuous, after, tick))

    @property
    def is_behind(self) -> bool:
        """Whether another process, the writer, has recorded anything that is not known here."""
        return is_behind(self.storage)

    @property
    def is_unsettled(self) -> bool:
        """Whether a stored view, a condition or a continuous query fails and is tried again by every advance."""
        views = (v for v in self.storage.relations.stored() if v.refresh is not Refresh.MANUAL)
        if any(v.error is not None for v in views):
            return True
        return not self.storage.is_reader and (is_retried(self.rules) or is_failing(self.continuous))

    def refresh(self, name: str) -> int:
        """Bring one stored view up to the present; returns the instant."""
        view = self.views.stored(name)
        at = self.timeline.present(view.plan)
        self.scheduler.refresh(view, at)
        return at

    def reload(self) -> int:
        """Take in what the writer has committed, where this process only reads; returns the time of the last commit."""
        if is_behind(self.storage):
            time, redefined = catch_up(self.storage, self.views.binder.view, self.views.binder.stored)
            self.timeline.reach(time)
            if redefined:
                self.compiled.forget()
            self.rules.reload()
            self.continuous.registry.reload()
        return self.timeline.time

    def fold(self) -> int:
        """Fold the logs of all tables and stored views into their snapshots; returns how many there were."""
        self.storage.require_writer()
        self.rules.registry.rules()  # what they have still to read is kept
        return self.folding.fold()

    def vacuum(self, grace: timedelta) -> Vacuumed:
        """Remove files that the catalog does not name and that no reader can be reading."""
        self.rules.registry.rules()
        self.folding.step()
        in_backups = frozenset(name for backup in self.backups for name in backup.named)
        return vacuum(self.storage, grace, self.folding.running, in_backups)

    def begin_backup(self, path: str | Path) -> Backup:
        """Copy the catalog as it is now into a folder; until the backup ends, a vacuum leaves its files alone."""
        journal = self.storage.journal
        if not isinstance(journal, CatalogJournal):
            raise BackupRefused(path=str(path), reason="the database is in memory")
        backup = begin(journal, folder_of(path))
        self.backups.append(backup)
        return backup

    def end_backup(self, backup: Backup) -> None:
        """Let a vacuum have the files of a backup that was made, or failed."""
        self.backups.remove(backup)

    def status(self, runner: WorkerStatus | None = None) -> Status:
        """How the stored views stand, how rows are held, and what goes wrong."""
        failing = tuple(RuleFailure(rule, error) for rule, error in errors_by_rule(self.rules.registry).items())
        timeline, tables = self.timeline, self.folding.status()
        return status(self.storage.relations, timeline.time, tables, failing, runner, timeline.began)
