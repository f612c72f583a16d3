"""Offers metrics to OpenTelemetry, where it is installed: whoever collects asks for the numbers of that moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidings.errors import DatabaseClosed, MissingPackage
from tidings.errors.arguments import refuse
from tidings.front.metrics import METRICS, Metric, Readings


def export(readings: Callable[[], Readings], guard: Callable[[], Any], provider: Any) -> None:
    """Register an instrument per metric with a meter provider, by default the one of the process.

    ``guard`` gives the lock that is held while numbers are read.
    """
    try:
        from opentelemetry import metrics
    except ImportError:
        raise MissingPackage(package="opentelemetry-api") from None
    if provider is not None and not hasattr(provider, "get_meter"):
        refuse("meter_provider of export_metrics()", ["a MeterProvider"], provider)
    meter = (provider or metrics.get_meter_provider()).get_meter("tidings")
    kinds = {"counter": meter.create_observable_counter, "gauge": meter.create_observable_gauge}
    for metric in METRICS:
        callback = _callback(metric, readings, guard, metrics.Observation)
        kinds[metric.kind](f"tidings.{metric.name}", [callback], unit=metric.unit, description=metric.description)


def _callback(metric: Metric, readings: Callable[[], Readings], guard: Callable[[], Any], observation: Any) -> Any:
    def observe(_options: object) -> Iterable[Any]:
        try:
            with guard():
                return [observation(sample.value, dict(sample.labels)) for sample in metric.read(readings())]
        except DatabaseClosed:
            return []

    return observe
