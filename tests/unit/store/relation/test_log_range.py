"""Changes between two places of a log, of which some lie inside a block."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidings.store.relation.log import EntryFacts, Log
from tidings.store.relation.log_range import LogRange


def block(*changes: tuple[int, int]) -> pa.Table:
    """Changes from instants and weights; the values are the instants."""
    times, weights = zip(*changes, strict=True)
    return pa.table({"x": times, "__t": pa.array(times, pa.int64()), "__w": pa.array(weights, pa.int64())})


BLOCKS = [block((1, 1)), block((2, 1), (3, -1), (4, 2)), block((5, 1))]


@pytest.fixture
def log() -> Log:
    log = Log()
    for rows in BLOCKS:
        times = rows.column("__t").to_pylist()
        log.add(EntryFacts.of(rows, times[0], times[-1]), rows)
    return log


def between(log: Log, since: int, until: int) -> LogRange:
    return LogRange(log, log.place(since), log.place(until))


def test_a_range_that_cuts_a_block(log: Log) -> None:
    part = between(log, 2, 4)
    assert [t.column("x").to_pylist() for t in part.rows()] == [[3, 4]]
    assert (part.count(), part.growth(), part.instants().to_pylist()) == (2, 1, [3, 4])


def test_a_range_over_several_blocks(log: Log) -> None:
    part = between(log, 0, 3)
    assert [t.column("x").to_pylist() for t in part.rows()] == [[1], [2, 3]]
    assert (part.count(), part.growth(), part.instants().to_pylist()) == (3, 1, [1, 2, 3])


def test_a_block_that_loses_rows_grows_where_it_does_not(log: Log) -> None:
    ranges = [(0, 2), (0, 3), (2, 3), (3, 5), (0, 5)]
    assert [between(log, *ends).only_grows() for ends in ranges] == [True, False, False, True, False]


def test_a_range_that_ends_before_it_begins(log: Log) -> None:
    back = between(log, 4, 1)
    assert (back.rows(), back.count(), back.instants().to_pylist(), back.only_grows()) == ([], 0, [], True)
    assert back.growth() == -2


def test_whether_all_rows_are_in_memory(log: Log) -> None:
    whole = LogRange(log, (0, 0), log.end)
    assert whole.rows_in_memory() == BLOCKS
    log.rows[1] = None
    assert whole.rows_in_memory() is None
    assert LogRange(log, (2, 0), log.end).rows_in_memory() == BLOCKS[2:]
