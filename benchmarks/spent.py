"""What waves were occupied with, from the records that a database keeps of them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

import tidings
from benchmarks.report import Table, ms
from tidings.waves.record import WaveRecord


def last(db: tidings.Database) -> WaveRecord | None:
    """The record of the last wave, if there was one."""
    records = db.waves()
    return records[-1] if records else None


def table(title: str, records: Mapping[str, Sequence[WaveRecord]]) -> Table:
    """One line per name: where its waves ran, and medians of what they read and of the time of each stage."""
    header = ("", "ran on", "jobs", "changes in", "rows read", "rows out", "time by stage")
    return Table(title, header, tuple(_line(name, found) for name, found in records.items() if found))


def total(title: str, records: Mapping[str, Sequence[WaveRecord]]) -> Table:
    """One line per name: all its waves together."""
    header = ("", "waves", "in-process", "jobs", "rows read", "rows out", "time by stage")
    lines = []
    for name, found in records.items():
        stages = dict.fromkeys(stage for r in found for stage in r.seconds)
        cells = (
            len(found),
            sum(r.execution == "in-process" for r in found),
            sum(r.jobs or 0 for r in found),
            sum(r.rows_read for r in found),
            sum(r.rows for r in found),
        )
        times = (f"{s} {ms(sum(r.seconds.get(s, 0.0) for r in found))}" for s in stages)
        lines.append((name, *(f"{n:,}" for n in cells), ", ".join(times)))
    return Table(title, header, tuple(lines))


def _line(name: str, found: Sequence[WaveRecord]) -> tuple[str, ...]:
    where = Counter(r.execution for r in found).most_common(1)[0][0]
    jobs = [r.jobs for r in found if r.jobs is not None]
    stages = dict.fromkeys(stage for r in found for stage in r.seconds)
    times = (f"{s} {ms(statistics.median([r.seconds.get(s, 0.0) for r in found]))}" for s in stages)
    return (
        name,
        where,
        f"{statistics.median(jobs):g}" if jobs else "",
        f"{statistics.median([r.changes for r in found]):,.0f}",
        f"{statistics.median([r.rows_read for r in found]):,.0f}",
        f"{statistics.median([r.rows for r in found]):,.0f}",
        ", ".join(times),
    )
