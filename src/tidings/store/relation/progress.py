"""A progress bar on a terminal, for what takes more than a while.

Nothing is shown where nobody looks: the bar goes to the error output, and only if that is a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

WAIT = 2.0
"""After so many seconds a bar is shown."""

Seen: TypeAlias = Callable[[int, "int | None"], None]
"""Is told how much is done, and of how much if that is known."""


def nobody(done: int, total: int | None) -> None:
    """Nobody is told."""


@contextmanager
def progress(description: str, console: Console | None = None, wait: float = WAIT) -> Iterator[Seen]:
    """Tell how far something is, once it has taken a while; the bar goes when it is done."""
    console = Console(file=sys.stderr) if console is None else console
    if not console.is_terminal:
        yield nobody
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(description, total=None)
    timer = Timer(wait, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
