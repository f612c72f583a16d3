"""Numbers that tell how a database is doing: what it has done since it was opened, how far behind it is, what it holds.

Each number is counted where it happens, by the part that does it; here they get names, units and labels.
:mod:`tidings.front.prometheus` prints them, :mod:`tidings.front.opentelemetry` offers them to OpenTelemetry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tidings.front.assembly import Parts
from tidings.store.rules.messages import MessageState
from tidings.store.rules.outbox import Outbox
from tidings.store.snapshots import FileSnapshots
from tidings.waves.record import WaveTotal
from tidings.waves.status import Status

Kind = Literal["counter", "gauge"]


class Sample(NamedTuple):
    """One number, and what it is about."""

    value: float
    labels: Mapping[str, str] = {}


@dataclass(slots=True)
class Readings:
    """What metrics are read from."""

    parts: Parts
    _status: Status | None = None

    @property
    def status(self) -> Status:
        """How views and tables stand; found out once."""
        if self._status is None:
            self._status = self.parts.maintenance.status(self.parts.background.status())
        return self._status


@dataclass(frozen=True, slots=True)
class Metric:
    """A number with a name, in the words of OpenTelemetry: a counter only grows, a gauge goes up and down."""

    name: str
    kind: Kind
    unit: str
    """``s`` for seconds, ``By`` for bytes, or what is counted, in braces."""
    description: str
    read: Callable[[Readings], Iterable[Sample]]


def _number(of: Callable[[Parts], float]) -> Callable[[Readings], Iterable[Sample]]:
    return lambda readings: [Sample(of(readings.parts))]


def _waves(of: Callable[[WaveTotal], float]) -> Callable[[Readings], Iterable[Sample]]:
    def read(readings: Readings) -> Iterator[Sample]:
        for (strategy, execution), total in sorted(readings.parts.scheduler.executor.totals.items()):
            yield Sample(of(total), {"strategy": strategy, "execution": execution})

    return read


def _refusals(readings: Readings) -> Iterator[Sample]:
    for condition, number in sorted(readings.parts.signals.mutex.refused.items()):
        yield Sample(number, {"condition": condition})


def _lag(readings: Readings) -> Iterator[Sample]:
    return (Sample(view.lag / 1e6, {"view": view.name}) for view in readings.status.views)


def _pending(readings: Readings) -> Iterator[Sample]:
    views = readings.status.views
    return (Sample(view.pending, {"view": view.name}) for view in views if view.pending is not None)


def _failed_views(readings: Readings) -> Iterator[Sample]:
    return (Sample(float(view.failed), {"view": view.name}) for view in readings.status.views)


def _rows(readings: Readings) -> Iterator[Sample]:
    return (Sample(table.rows, {"relation": table.name}) for table in readings.status.tables)


def _logged(readings: Readings) -> Iterator[Sample]:
    return (Sample(table.logged, {"relation": table.name}) for table in readings.status.tables)


def _outbox(readings: Readings) -> Iterator[Sample]:
    journal = readings.parts.storage.journal
    counts = Outbox(journal.rule_tables).counts() if journal.has_rule_tables else dict.fromkeys(MessageState, 0)
    return (Sample(number, {"state": str(state)}) for state, number in counts.items())


def _cache_bytes(readings: Readings) -> Iterator[Sample]:
    snapshots, in_process = readings.parts.storage.snapshots, readings.parts.scheduler.engines.in_process
    if isinstance(snapshots, FileSnapshots):
        yield Sample(snapshots.decoded.bytes, {"cache": "lookups"})
    if in_process is not None:
        yield Sample(in_process.cached_bytes, {"cache": "snapshots"})


def _cache(readings: Readings, *, hits: bool) -> Iterator[Sample]:
    snapshots = readings.parts.storage.snapshots
    if isinstance(snapshots, FileSnapshots):
        yield Sample(snapshots.decoded.hits if hits else snapshots.decoded.misses, {"cache": "lookups"})


METRICS: tuple[Metric, ...] = (
    Metric("commits", "counter", "{commit}", "Transactions and loads", _number(lambda p: p.commits.number)),
    Metric("commit.changes", "counter", "{row}", "Rows they inserted or deleted", _number(lambda p: p.commits.changes)),
    Metric("commit.time", "counter", "s", "What they took, from the log on", _number(lambda p: p.commits.seconds)),
    Metric(
        "last_commit.timestamp",
        "gauge",
        "s",
        "When the last one was, since 1970",
        _number(lambda p: p.timeline.time / 1e6),
    ),
    Metric("waves", "counter", "{wave}", "Waves", _waves(lambda total: total.waves)),
    Metric("wave.time", "counter", "s", "What waves took", _waves(lambda total: total.seconds)),
    Metric(
        "wave.changes", "counter", "{row}", "Changed rows that went into waves", _waves(lambda total: total.changes)
    ),
    Metric("wave.reads", "counter", "{row}", "Rows of states that waves read", _waves(lambda total: total.rows_read)),
    Metric("folds", "counter", "{fold}", "Logs folded into their bases", _number(lambda p: p.folding.number)),
    Metric("folds.failed", "counter", "{fold}", "Folds that failed", _number(lambda p: p.folding.failed)),
    Metric("refusals", "counter", "{call}", "Calls that ended with an error", _refusals),
    Metric("view.lag", "gauge", "s", "From what a stored view has taken in to the last commit", _lag),
    Metric("view.pending", "gauge", "{row}", "Changed rows a stored view has not taken in", _pending),
    Metric("view.failed", "gauge", "{view}", "1 for a stored view that fails, else 0", _failed_views),
    Metric("rules.failing", "gauge", "{rule}", "Rules that fail", lambda r: [Sample(len(r.status.failing_rules))]),
    Metric("rows", "gauge", "{row}", "Rows of tables and stored views", _rows),
    Metric("rows.logged", "gauge", "{row}", "Changed rows since the base was written", _logged),
    Metric("outbox.messages", "gauge", "{message}", "Messages of rules, by what became of them", _outbox),
    Metric("cache.size", "gauge", "By", "Bytes that caches hold", _cache_bytes),
    Metric("cache.hits", "counter", "{column}", "Columns found in a cache", lambda r: _cache(r, hits=True)),
    Metric("cache.misses", "counter", "{column}", "Columns not found there", lambda r: _cache(r, hits=False)),
)
"""All there are; each name has ``tidings`` before it."""
