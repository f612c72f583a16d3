"""The calls of a database by which users watch it at work."""

from __future__ import annotations

from typing import Any

from tidings.exclusive import Mutex, exclusive
from tidings.front import opentelemetry, prometheus
from tidings.front.assembly import Parts
from tidings.front.metrics import Readings
from tidings.waves.record import WaveRecord


class Observable:
    """What a database tells of itself; see :class:`tidings.database.Database`."""

    _parts: Parts
    _mutex: Mutex

    @exclusive
    def waves(self) -> list[WaveRecord]:
        """What the last waves did, up to a thousand: where each ran and why, what it read and how long it took.

        Conditions of rules that were judged inside transactions are among them.
        """
        return list(self._parts.scheduler.executor.records)

    @exclusive
    def metrics(self) -> str:
        """Counters and gauges in the text format of Prometheus: commits, waves, lag, outbox, caches, rows.

        Counters begin at 0 when the database is opened.
        """
        return prometheus.exposition(Readings(self._parts))

    @exclusive
    def export_metrics(self, meter_provider: Any = None) -> None:
        """Offer the same to OpenTelemetry, as observable instruments; ``tidings[opentelemetry]`` has to be installed.

        :param meter_provider: The ``MeterProvider`` to register them with, by default the one of the process.
        """
        opentelemetry.export(lambda: Readings(self._parts), lambda: self._mutex, meter_provider)
