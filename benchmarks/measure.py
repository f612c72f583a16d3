"""Measuring, the same way for every workload: medians of runs taken in turns, and the memory they took."""

from __future__ import annotations

import math
import os
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from tidings.errors import TidingsError

Work: TypeAlias = tuple[Callable[[], object], Callable[[], object]]
"""What to do before the clock starts, and what to time."""

RESULTS = Path(__file__).parent / "results"

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Figure:
    """The times of one thing measured, in seconds."""

    name: str
    times: tuple[float, ...]

    @property
    def median(self) -> float:
        return math.inf if math.inf in self.times else statistics.median(self.times)

    @property
    def low(self) -> float:
        return min(self.times)

    @property
    def high(self) -> float:
        return max(self.times)

    def __str__(self) -> str:
        low, high = self.low * 1000, self.high * 1000
        return f"{self.name:<58} {self.median * 1000:9.1f} ms   [{low:.1f} to {high:.1f}]"


def progress(text: str) -> None:
    """Say on standard error what is being done."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def timed(work: Callable[[], object]) -> float:
    """How long one run of some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(name: str, work: Callable[[], object], *, runs: int = 15, warm: int = 5) -> Figure:
    """Time a piece of work, after some runs that do not count."""
    return measure_in_turns({name: (nothing, work)}, runs=runs, warm=warm)[name]


@dataclass(frozen=True, slots=True)
class Limit:
    """How long work may take, and how to stop it then, from another thread; work that is stopped fails."""

    seconds: float
    stop: Callable[[], object]

    def timed(self, work: Callable[[], object]) -> float:
        """How long one run of some work takes; infinitely long if it had to be stopped."""
        done, stopped = threading.Event(), threading.Event()

        def watch() -> None:
            pause = self.seconds
            while not done.wait(pause):
                stopped.set()
                self.stop()
                pause = 1.0

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            return timed(work)
        except TidingsError:
            if not stopped.is_set():
                raise
            return math.inf
        finally:
            done.set()
            watcher.join()


def measure_in_turns(
    works: Mapping[str, Work], *, runs: int = 15, warm: int = 5, limit: Limit | None = None
) -> dict[str, Figure]:
    """Time several pieces of work in turns, so that all meet the same weather; preparing does not count.

    Work that goes over the limit is not tried again.
    """
    times: dict[str, list[float]] = {name: [] for name in works}
    for n in range(warm + runs):
        for name, (prepare, work) in works.items():
            if math.inf in times[name]:
                continue
            prepare()
            took = timed(work) if limit is None else limit.timed(work)
            if n >= warm or took == math.inf:
                times[name].append(took)
    return {name: Figure(name, tuple(found)) for name, found in times.items()}


def nothing() -> None:
    """No preparation."""


def percentile(times: list[float], share: float) -> float:
    """The time that a share of all times do not exceed.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 0.5)
    2.0
    """
    ordered = sorted(times)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def facts() -> str:
    """The machine and the versions behind a report's figures."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    packages = ", ".join(f"{p} {version(p)}" for p in ("pyspark", "duckdb", "sqlglot", "pyarrow"))
    machine = f"{os.cpu_count()} cores, {pages * page / 2**30:.0f} GiB, {platform.system()}"
    return f"{machine}, Python {platform.python_version()}, {packages}"


def memory() -> str:
    """The peak memory so far of this process and of the JVM below it; where there is no /proc, nothing is known."""
    own, jvm = peaks()
    if not own:
        return "peak memory: not known on this system"
    return f"peak memory: Python process {own:.1f} GiB" + (f", JVM {jvm:.1f} GiB" if jvm else "")


def peaks() -> tuple[float, float]:
    """The peak memory so far of this process and of the JVM below it, in GiB; 0 for what is not known."""
    below = [_peak(pid) or 0.0 for pid in _descendants(os.getpid()) if _name(pid) == "java"]
    return _peak(os.getpid()) or 0.0, sum(below)


def _peak(pid: int) -> float | None:
    """The high-water mark of a process's resident memory, in GiB."""
    try:
        lines = (_PROC / str(pid) / "status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    found = next((line.split() for line in lines if line.startswith("VmHWM:")), None)
    return None if found is None else int(found[1]) / 2**20


def _name(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _descendants(pid: int) -> Iterator[int]:
    """All processes below one."""
    below: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        below.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    rest = [pid]
    while rest:
        for child in below.get(rest.pop(), []):
            yield child
            rest.append(child)


def report(name: str, lines: list[str]) -> None:
    """Print a report and keep it under ``benchmarks/results``."""
    text = "\n".join([f"{name}: {facts()}", "", *lines, ""])
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.txt").write_text(text, encoding="utf-8")
