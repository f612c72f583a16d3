"""Progress of long work on a terminal; where standard error is none, nothing is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

T = TypeVar("T")


def steps(what: str, parts: Sequence[T]) -> Iterator[T]:
    """Go through the parts of a piece of work, with a bar that shows how many are done.

    >>> list(steps("filling low_stock", ["groups", "rows"]))
    ['groups', 'rows']
    """
    if not sys.stderr.isatty():
        yield from parts
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=len(parts))
        for part in parts:
            yield part
            bar.advance(task)
