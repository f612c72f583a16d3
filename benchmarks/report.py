"""What a workload reports: tables, bars that were set, lines to plot, peak memory.

A report is kept three times: as text for people, as JSON for :mod:`benchmarks.page`, and its plots as images.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import measure


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a header; numbers are written where it is made."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self) -> list[str]:
        """The table in columns: the first to the left, the others to the right."""
        widths = [max(len(row[n]) for row in (self.header, *self.rows)) for n in range(len(self.header))]

        def line(row: tuple[str, ...]) -> str:
            return "  ".join(
                c.ljust(w) if n == 0 else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths, strict=True))
            )

        return [self.title, line(self.header), *map(line, self.rows)]


@dataclass(frozen=True, slots=True)
class Bar:
    """A claim with a number, and the number it was to reach.

    >>> print(Bar("wave / trivial query", 5.2, 6, at_most=True))
    wave / trivial query: 5.20, at most 6: met
    >>> print(Bar("recompute / wave", 6.0, 7.5, at_most=False))
    recompute / wave: 6.00, at least 7.5: missed by 1.25 times
    """

    claim: str
    value: float
    limit: float
    at_most: bool

    @property
    def met(self) -> bool:
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    @property
    def outcome(self) -> str:
        if self.met:
            return "met"
        if self.value in (0, math.inf):
            return "missed: it took too long"
        by = self.value / self.limit if self.at_most else self.limit / self.value
        return f"missed by {by:.2f} times"

    def __str__(self) -> str:
        return (
            f"{self.claim}: {self.value:.2f}, at {'most' if self.at_most else 'least'} {self.limit:g}: {self.outcome}"
        )


@dataclass(frozen=True, slots=True)
class Plot:
    """Named lines through points; both axes may be logarithmic."""

    name: str
    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    log_x: bool = True
    log_y: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run of a workload found."""

    name: str
    about: str
    tables: tuple[Table, ...]
    bars: tuple[Bar, ...] = ()
    plots: tuple[Plot, ...] = ()
    notes: tuple[str, ...] = ()
    memory: str = ""
    facts: str = ""

    def text(self) -> str:
        """The report for people."""
        lines = [f"{self.name}: {self.facts}", "", self.about]
        for table in self.tables:
            lines += ["", *table.lines()]
        if self.bars:
            lines += ["", "bars", *map(str, self.bars)]
        if self.notes:
            lines += ["", *self.notes]
        return "\n".join([*lines, "", self.memory, ""])

    @staticmethod
    def read(name: str) -> Report | None:
        """The report of the last run, if there was one."""
        path = measure.RESULTS / f"{name}.json"
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        tables = tuple(Table(t["title"], tuple(t["header"]), tuple(map(tuple, t["rows"]))) for t in found["tables"])
        return Report(
            found["name"],
            found["about"],
            tables,
            tuple(Bar(**b) for b in found["bars"]),
            tuple(Plot(**p) for p in found["plots"]),
            tuple(found["notes"]),
            found["memory"],
            found["facts"],
        )

    def publish(self) -> None:
        """Print the report and keep it."""
        from benchmarks.draw import draw

        print(self.text())
        measure.RESULTS.mkdir(exist_ok=True)
        (measure.RESULTS / f"{self.name}.txt").write_text(self.text(), encoding="utf-8")
        kept = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        (measure.RESULTS / f"{self.name}.json").write_text(kept + "\n", encoding="utf-8")
        for plot in self.plots:
            draw(plot)


def finished(
    name: str,
    about: str,
    tables: Sequence[Table],
    bars: Sequence[Bar] = (),
    plots: Sequence[Plot] = (),
    notes: Sequence[str] = (),
) -> Report:
    """A report with the facts of this machine and the memory taken so far."""
    facts, memory = measure.facts(), measure.memory()
    return Report(name, about, tuple(tables), tuple(bars), tuple(plots), tuple(notes), memory, facts)


def ms(seconds: float) -> str:
    """Seconds as milliseconds.

    >>> ms(0.0123), ms(1.5)
    ('12.3 ms', '1,500 ms')
    >>> ms(math.inf)
    'too long'
    """
    if seconds == math.inf:
        return "too long"
    return f"{seconds * 1000:,.1f} ms" if seconds < 0.1 else f"{seconds * 1000:,.0f} ms"


def times(value: float) -> str:
    """A ratio; of what took too long there is none.

    >>> times(0.347), times(12.34), times(1234.5)
    ('0.35x', '12.3x', '1,234x')
    """
    if not 0 < value < math.inf:
        return ""
    return f"{value:.2f}x" if value < 10 else f"{value:.1f}x" if value < 100 else f"{value:,.0f}x"
