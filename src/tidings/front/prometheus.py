"""Prints metrics in the text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidings.front.metrics import METRICS, Metric, Readings

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_UNITS = {"s": "_seconds", "By": "_bytes"}


def exposition(readings: Readings) -> str:
    """All metrics, with help and type; those without a number yet are there by these alone."""
    return "".join(line + "\n" for metric in METRICS for line in _lines(metric, readings))


def name_of(metric: Metric) -> str:
    """The name of a metric: with its unit, and with ``_total`` if it only grows.

    >>> name_of(Metric("commit.time", "counter", "s", "", lambda _: []))
    'tidings_commit_time_seconds_total'
    """
    name = "tidings_" + metric.name.replace(".", "_") + _UNITS.get(metric.unit, "")
    return name + "_total" if metric.kind == "counter" else name


def _lines(metric: Metric, readings: Readings) -> Iterator[str]:
    name = name_of(metric)
    yield f"# HELP {name} {metric.description}"
    yield f"# TYPE {name} {metric.kind}"
    for sample in metric.read(readings):
        yield f"{name}{_labels(sample.labels)} {sample.value:.17g}"


def _labels(labels: Mapping[str, str]) -> str:
    r"""Labels in braces.

    >>> print(_labels({"view": 'a "b"\n\\'}))
    {view="a \"b\"\n\\"}
    """
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
