"""Measuring and reporting, the same way for every workload."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

Work: TypeAlias = tuple[Callable[[], object], Callable[[], object]]
"""What to do before the clock starts, and what to time."""

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """The times of one thing measured, in seconds."""

    name: str
    times: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def __str__(self) -> str:
        low, high = min(self.times) * 1000, max(self.times) * 1000
        return f"{self.name:<58} {self.median * 1000:9.1f} ms   [{low:.1f} to {high:.1f}]"


def measure(name: str, work: Callable[[], object], *, runs: int = 15, warm: int = 5) -> Figure:
    """Time a piece of work, after some runs that do not count."""
    times = []
    for n in range(warm + runs):
        start = time.perf_counter()
        work()
        if n >= warm:
            times.append(time.perf_counter() - start)
    return Figure(name, tuple(times))


def measure_in_turns(works: dict[str, Work], *, runs: int = 15, warm: int = 5) -> dict[str, Figure]:
    """Time several pieces of work in turns, so that all meet the same weather; preparing does not count."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for n in range(warm + runs):
        for name, (prepare, work) in works.items():
            prepare()
            start = time.perf_counter()
            work()
            if n >= warm:
                times[name].append(time.perf_counter() - start)
    return {name: Figure(name, tuple(found)) for name, found in times.items()}


def nothing() -> None:
    """No preparation."""


def facts() -> str:
    """The machine and the versions behind a report's figures."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    packages = ", ".join(f"{p} {version(p)}" for p in ("pyspark", "duckdb", "sqlglot", "pyarrow"))
    machine = f"{os.cpu_count()} cores, {pages * page / 2**30:.0f} GiB, {platform.system()}"
    return f"{machine}, Python {platform.python_version()}, {packages}"


def report(name: str, lines: list[str]) -> None:
    """Print a report and keep it under ``benchmarks/results``."""
    text = "\n".join([f"{name}: {facts()}", "", *lines, ""])
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.txt").write_text(text, encoding="utf-8")
