"""Progress of long work on a terminal; where standard error is none, nothing is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter
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


@contextmanager
def rounds(what: str, after: float = 2.0) -> Iterator[Callable[[int], None]]:
    """A function to call after every round of some work, with the number of rows that it found.

    It shows the rounds of work that takes longer than some seconds.
    """
    begun, number = perf_counter(), 0
    bar: Progress | None = None
    with ExitStack() as shown:

        def done(rows: int) -> None:
            nonlocal bar, number
            number += 1
            if bar is None and sys.stderr.isatty() and perf_counter() - begun >= after:
                columns = TextColumn("{task.description}"), TimeElapsedColumn()
                bar = shown.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
                bar.add_task(what)
            if bar is not None:
                bar.update(bar.task_ids[0], description=f"{what}: round {number:,}, {rows:,} new rows", refresh=True)

        yield done
