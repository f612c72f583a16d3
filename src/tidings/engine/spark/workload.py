"""Settings of a session for small and for large work, the number of jobs that work starts, and a way to stop them.

Small waves and large ones want different settings.  A small wave reads a few rows by literal keys, or rows that were
looked up before: generating and compiling Java for it costs more than it saves, and so does re-planning at run time;
both are switched off for it, and nothing is broadcast, so that it is one job.  A scan goes through many rows for the
few that have some keys: it has no exchange that could be planned anew.  A sort is cut into many parts, each of which
fits in memory; at run time Spark puts small ones together again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from tidings.engine.backend import Jobs
from tidings.engine.spark.lazy_session import LazySession
from tidings.errors import SparkStopped
from tidings.running_statements import is_statement, stopped_by

_JOB_GROUP = "spark.jobGroup.id"
"""What tells the jobs of a wave from others."""


class Work(Enum):
    """Kinds of work."""

    LARGE = "large"
    SMALL = "small"
    SCAN = "scan"
    SORT = "sort"


_SETTINGS = {
    Work.LARGE: {},
    Work.SMALL: {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.sql.maxSinglePartitionBytes": f"{2**63 - 1}b",
        "spark.sql.shuffle.partitions": "1",
    },
    Work.SCAN: {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.constraintPropagation.enabled": "false",
    },
    Work.SORT: {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": "64",
    },
}
"""What differs from the session's own settings."""


@dataclass(slots=True)
class _JobCount:
    """Counts the jobs of a group, which begins with the first one: Spark is not asked where it has nothing to do."""

    begun: bool = False
    _group: str = field(default_factory=lambda: f"tidings-{uuid.uuid4().hex}")
    _before: str | None = None

    def begin(self, session: SparkSession) -> None:
        self.begun, self._before = True, session.sparkContext.getLocalProperty(_JOB_GROUP)
        session.sparkContext.setLocalProperty(_JOB_GROUP, self._group)

    def end(self, session: SparkSession) -> int:
        session.sparkContext.setLocalProperty(_JOB_GROUP, self._before)  # type: ignore[arg-type]  # None takes it away
        return len(session.sparkContext.statusTracker().getJobIdsForGroup(self._group))


@dataclass(slots=True)
class _JobTag:
    """A tag of jobs by which they can be stopped; it is set with the first one.

    Tags of a classic session are known to the thread that set them alone, so there those of the Spark context are used.
    """

    session: SparkSession | None = None
    """The one whose jobs have the tag, once there are any."""
    _name: str = field(default_factory=lambda: f"tidings-{uuid.uuid4().hex}")

    def begin(self, session: SparkSession) -> None:
        self.session = session
        if is_remote():
            session.addTag(self._name)
        else:
            session.sparkContext.addJobTag(self._name)

    def end(self) -> None:
        if self.session is None:
            return
        if is_remote():
            self.session.removeTag(self._name)
        else:
            self.session.sparkContext.removeJobTag(self._name)

    def stop(self) -> None:
        """Stop the jobs that have the tag."""
        if self.session is None:
            return
        if is_remote():
            self.session.interruptTag(self._name)
        else:
            self.session.sparkContext.cancelJobsWithTag(self._name)


class Workload:
    """The kind of work a session is set up for; it is not asked for before there is work."""

    def __init__(self, session: LazySession) -> None:
        self._session = session
        self._own: dict[str, str | None] | None = None
        """The session's own settings, once they are known."""
        self._present: dict[str, str | None] = {}
        self._count: _JobCount | None = None
        self._tags: tuple[_JobTag, ...] = ()

    def begin(self, work: Work) -> None:
        """Set the session up for work that begins now."""
        session = self._session()
        if self._own is None:
            self._own = {key: session.conf.get(key) for settings in _SETTINGS.values() for key in settings}
            self._present = dict(self._own)
        if self._count is not None and not self._count.begun:
            self._count.begin(session)
        for tag in self._tags:
            if tag.session is None:
                tag.begin(session)
        wanted = self._own | _SETTINGS[work]
        for key, value in wanted.items():
            if value != self._present[key]:
                session.conf.set(key, value or "")
        self._present = wanted

    @contextmanager
    def counted(self) -> Iterator[Jobs]:
        """Count the jobs that are started inside."""
        if is_remote():
            yield Jobs(None)
            return
        jobs, self._count = Jobs(), _JobCount()
        try:
            yield jobs
        finally:
            count, self._count = self._count, None
            if count.begun:
                with self._unless_stopped():
                    jobs.number = count.end(self._session())

    @contextmanager
    def stoppable(self) -> Iterator[Callable[[], None]]:
        """A function that stops the jobs that this thread starts inside."""
        before, tag = self._tags, _JobTag()
        self._tags = (*before, tag)
        try:
            yield tag.stop
        finally:
            self._tags = before
            with self._unless_stopped():
                tag.end()

    @contextmanager
    def _unless_stopped(self) -> Iterator[None]:
        """Tidy up; a Spark that was stopped meanwhile has nothing to be tidied."""
        with suppress(SparkStopped), self._session.failures_named():
            yield

    @contextmanager
    def cancellable(self) -> Iterator[None]:
        """Stop the jobs that this thread starts inside if the statement they are for is cancelled."""
        if not is_statement():
            yield
            return
        with self.stoppable() as stop, stopped_by(stop):
            yield
