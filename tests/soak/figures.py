"""What is measured of each life, minute by minute, as text and as an image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

from tests.soak.life import Life

Kind: TypeAlias = tuple[str, Callable[["Sample"], float]]
"""What is measured, and where it is."""

WARM, LAST = 10, 10
"""The minutes after which memory is warm, and those at the end that are compared with them."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A minute of a life."""

    life: str
    minute: int
    memory: int
    files: int
    bytes: int
    transactions: int
    p50: float
    p99: float
    cpu: float
    """The 99th percentile of what the committing thread computed, which a busy machine does not change as much."""
    counts: Counter[str]

    @staticmethod
    def of(life: Life, minute: int) -> Sample:
        """How a life is doing; what was measured begins anew."""
        seconds = sorted(s for s, _ in life.latencies)
        cpu = sorted(c for _, c in life.latencies)
        files, size = life.files()
        memory = life.memory()
        life.latencies = []
        return Sample(
            life.name, minute, memory, files, size, len(seconds),
            share(seconds, 0.5), share(seconds, 0.99), share(cpu, 0.99), Counter(life.counts),
        )  # fmt: skip

    def __str__(self) -> str:
        return (
            f"{self.life:9} minute {self.minute:3}: {self.memory / 2**20:6.1f} MiB, {self.files:4} files "
            f"{self.bytes / 2**20:6.2f} MiB, {self.transactions:5} transactions, half in {self.p50 * 1000:.1f} ms, "
            f"99% in {self.p99 * 1000:.1f} ms ({self.cpu * 1000:.1f} ms computed), "
            f"{self.counts['kills']} kills, {self.counts['answers compared']} answers compared"
        )


def share(values: list[float], part: float) -> float:
    """The value that a part of all do not exceed."""
    return values[min(len(values) - 1, int(part * len(values)))] if values else 0.0


def write(samples: list[Sample], results: Path | None, seed: int) -> str:
    """All figures as text; also into a folder, with an image, if one is given."""
    lives: dict[str, list[Sample]] = {}
    for sample in samples:
        lives.setdefault(sample.life, []).append(sample)
    lines = [f"Seed {seed}."]
    for name, of in lives.items():
        lines += ["", name, *map(str, of), *_compared(of)]
        lines += [f"  {what}: {number:,}" for what, number in sorted(of[-1].counts.items())]
    text = "\n".join(lines) + "\n"
    if results is not None:
        results.mkdir(parents=True, exist_ok=True)
        (results / "soak.txt").write_text(text)
        _draw(lives, results / "soak.png")
    return text


def _compared(samples: list[Sample]) -> list[str]:
    """The last minutes beside those after the warm-up, where there are enough."""
    if len(samples) < WARM + 2 * LAST:
        return []
    warm, last = samples[WARM : WARM + LAST], samples[-LAST:]
    kinds: list[Kind] = [
        ("memory", lambda s: s.memory),
        ("files", lambda s: s.files),
        ("bytes of files", lambda s: s.bytes),
        ("99th percentile", lambda s: s.p99),
        ("99th percentile, computed", lambda s: s.cpu),
    ]
    return [
        f"  {what}: {median(of(s) for s in last) / max(1e-9, median(of(s) for s in warm)):.2f} times what it was"
        f" in minutes {WARM + 1} to {WARM + LAST}"
        for what, of in kinds
    ]


def _draw(lives: dict[str, list[Sample]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    kinds: list[Kind] = [
        ("memory, MiB", lambda s: s.memory / 2**20),
        ("files, MiB", lambda s: s.bytes / 2**20),
        ("99th percentile, ms", lambda s: s.p99 * 1000),
        ("99th percentile, ms computed", lambda s: s.cpu * 1000),
    ]
    figure, axes = pyplot.subplots(len(kinds), 1, figsize=(9, 11), sharex=True)
    for axis, (label, of) in zip(axes, kinds, strict=True):
        for name, samples in lives.items():
            axis.plot([s.minute for s in samples], [of(s) for s in samples], label=name)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].legend(loc="lower right")
    axes[-1].set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
