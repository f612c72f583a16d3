"""Plots of reports as PNG images, in ``docs/images``."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

from benchmarks.report import Plot

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def draw(plot: Plot) -> Path:
    """Draw a plot; where its image is.  Without a time of writing in it: the same points give the same bytes."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    IMAGES.mkdir(parents=True, exist_ok=True)
    path = IMAGES / f"{plot.name}.png"
    figure, axes = pyplot.subplots(figsize=(7.2, 4.2), dpi=110, layout="constrained")
    for label, given in plot.lines.items():
        points = [(x, y) for x, y in given if y < math.inf]
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=4, linewidth=1.4, label=label)
    axes.set_title(plot.title, fontsize=11)
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    if plot.log_x:
        axes.set_xscale("log")
    if plot.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(visible=True, which="major", alpha=0.3)
    if len(plot.lines) > 1:
        axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)
    return path
